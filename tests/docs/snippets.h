// What tests/docs/generate has found in the pages.
#pragma once

#include <vector>

namespace weft_docs {

struct Snippet {
    const char* name;
    const char* place;   // page:line
    const char* serves;  // the path that is asked for; empty: it ends by itself
    bool fails;
    int (*run)();
};

const std::vector<Snippet>& snippets();

// What stands in a snippet where the page says 8080.
int port();

}  // namespace weft_docs
