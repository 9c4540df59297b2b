// The report that is written to standard error when V8 is about to end the process.
//
//     weft: fatal: V8: invalid array length: Allocation failed - JavaScript heap out of memory
//       weft 0.1.0, V8 10.2.154.26-node.40, build 1f3c...
//       shop: GET /report (request 41d2...)
//       at total (/srv/shop/app.js:7:12)
//       at fetch (/srv/shop/app.js:21:10)
//
// Owning isolate only.
#pragma once

#include <v8.h>

namespace weft::js {

// Installs the handlers that write it, for as long as the isolate lives.
void report_crashes_of(v8::Isolate& isolate);

}  // namespace weft::js
