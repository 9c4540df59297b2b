#include "weft/fiber/os/file_name.h"

#include <unistd.h>

#include <array>
#include <climits>

namespace weft {

std::string file_name(int fd) {
    std::string number = std::to_string(fd);
    std::array<char, PATH_MAX> path;
    ssize_t bytes = ::readlink(("/proc/self/fd/" + number).c_str(), path.data(), path.size());
    if (bytes <= 0) return "descriptor " + number;
    return std::string(path.data(), static_cast<std::size_t>(bytes));
}

}  // namespace weft
