#include <weft/weft.h>

int of_another_file() { return weft::current() == nullptr ? 1 : 0; }
