// Native functions: the codecs of CompressionStream and DecompressionStream. Owning isolate only.
#pragma once

#include "weft/js/binding.h"

namespace weft::api {

void compression_create(js::Call& call);  // (format, "compress" | "decompress"): handle
void compression_push(js::Call& call);    // (handle, bytes, outputBytesMax?): ArrayBuffer
void compression_check(js::Call& call);   // (handle); throws if bytes followed the end
void compression_finish(js::Call& call);  // (handle): ArrayBuffer

}  // namespace weft::api
