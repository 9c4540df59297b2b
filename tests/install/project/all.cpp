// Everything by one name, in two files: nothing in the headers is defined twice.
#include <weft/weft.h>

int of_another_file();

int main() {
    return weft::run([] { return of_another_file(); }).value_or(1);
}
