// FileAnswer: the content of a response out of a file, on its way through script.
//
// Script holds it as an ArrayBuffer that no application sees: the collector ends it. Owner's thread
// only; the memory may be freed by another.
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
