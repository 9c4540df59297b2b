// FileAnswer: the content of a response that comes from a file, while scripts hold the response.
//
// Scripts hold it as an ArrayBuffer that no application sees; the garbage collector ends it. Owning
// isolate only; the memory may be freed on another thread.
#pragma once

#include <v8.h>

#include <memory>

#include "weft/http/response.h"

namespace weft::api {

struct FileAnswer {
    // Shared with the tasks that read it.
    std::shared_ptr<http::Body> body;

    // [content, status, size, name, value, ...]
    static v8::Local<v8::Value> to_script(v8::Isolate* isolate, http::Response&& response);
    static FileAnswer& of(v8::Local<v8::Value> content);
};

}  // namespace weft::api
