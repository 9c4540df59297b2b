#include "weft/app/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::app {
namespace {

using ::testing::HasSubstr;

TEST(Evaluation, JS_12_a_text_is_evaluated_and_a_module_stays_as_it_is) {
    for (const char* module :
         {"import x from \"y\"", "  import {a} from 'b'; a()", "let a = 1;\nexport default a",
          "a(); import 'x'", "import * as a from 'b'"}) {
        EXPECT_EQ(evaluation_of(module), module);
    }
    for (const char* text :
         {"1 + 1", "await import('x')", "import.meta.url", "importance = 1", "exports.a = 1", ""}) {
        EXPECT_THAT(evaluation_of(text), HasSubstr("const source = \"")) << text;
    }
    EXPECT_THAT(evaluation_of("\"\\\n`${x}\xff"),
                HasSubstr("const source = \"\\\"\\\\\\n`${x}\xef\xbf\xbd\";"));
}

}  // namespace
}  // namespace weft::app
