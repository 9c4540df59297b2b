// What a descriptor is called in the text of an error.
#pragma once

#include <string>

namespace weft {

// The path of its file as the kernel knows it now, else "descriptor 7". For the texts of errors
// only: it asks the kernel, and the file may have been renamed.
std::string file_name(int fd);

}  // namespace weft
