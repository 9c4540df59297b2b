// How a native function tells a script where the parts of a URL lie. Owning isolate only.
#pragma once

#include "weft/api/url/url.h"
#include "weft/js/binding.h"

namespace weft::api {

// Into the Uint32Array of eight numbers that the script passes at `at`, in the order of UrlOffsets.
void write_offsets(js::Call& call, int at, const UrlOffsets& offsets);

}  // namespace weft::api
