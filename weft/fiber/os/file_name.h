// How the text of an error names a descriptor.
#pragma once

#include <string>

namespace weft {

// The path of its file as the kernel knows it now, else "descriptor 7". For the texts of errors
// only: it is a system call, and the file may have been renamed. Any thread.
std::string file_name(int fd);

}  // namespace weft
