// Breaks a rule of the library: its message says in which file, as that is called in its tree.
#include <weft/sync/mutex.h>

#include <optional>

int main() {
    std::optional<weft::Mutex> mutex(std::in_place);
    mutex->lock();
    mutex.reset();
}
