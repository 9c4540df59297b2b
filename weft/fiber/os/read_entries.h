// Reads the entries of a directory on the calling thread, which it may block.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <string>
#include <vector>

#include "weft/base/env_files.h"
#include "weft/base/result.h"
#include "weft/fiber/os/file.h"

namespace weft {

// Without "." and ".."; at most `entries_max` of them.
Result<std::vector<DirectoryEntry>> read_entries(DIR& directory, std::size_t entries_max);

// The same for a folder of a simulated machine.
Result<std::vector<DirectoryEntry>> read_simulated_entries(EnvFiles& disk, int beneath,
                                                           const std::string& path,
                                                           std::size_t entries_max);

}  // namespace weft
