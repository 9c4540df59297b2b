#include "weft/js/cjs_exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::js {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CjsExports, JS_2_names_are_found_as_Node_finds_them) {
    EXPECT_THAT(find_cjs_exports("exports.a = exports['b c'] = 1; module.exports.d = 2;").names,
                ElementsAre("a", "b c", "d"));
    EXPECT_THAT(find_cjs_exports("module.exports = { a, b: c, 'd': e, f: 'value', g };").names,
                ElementsAre("a", "b", "d"));
    EXPECT_THAT(find_cjs_exports("Object.defineProperty(exports, 'a', { enumerable: true, get: "
                                 "function () { return q.p; } });")
                    .names,
                ElementsAre("a"));
    EXPECT_THAT(
        find_cjs_exports("Object.defineProperty(exports, '__esModule', { value: true })").names,
        ElementsAre("__esModule"));
    EXPECT_THAT(find_cjs_exports("0 && (module.exports = { a, b });").names, ElementsAre("a", "b"));
}

TEST(CjsExports, JS_2_reexports_are_found) {
    EXPECT_THAT(find_cjs_exports("module.exports = require('./x');").reexports, ElementsAre("./x"));
    EXPECT_THAT(find_cjs_exports("__exportStar(require('a'), exports);"
                                 "tslib_1.__exportStar(require('b'), exports);")
                    .reexports,
                ElementsAre("a", "b"));
    EXPECT_THAT(find_cjs_exports("module.exports = { ...require('a'), b };").reexports,
                ElementsAre("a"));
    EXPECT_THAT(find_cjs_exports("var _x = require('x'); Object.keys(_x).forEach(function (k) "
                                 "{ if (k === 'default') return; exports[k] = _x[k]; });")
                    .reexports,
                ElementsAre("x"));
    EXPECT_THAT(find_cjs_exports("Object.keys(list).forEach(print)").reexports, IsEmpty());
}

TEST(CjsExports, JS_2_strings_comments_expressions_and_templates_are_no_code) {
    EXPECT_THAT(find_cjs_exports("// exports.a = 1\n/* exports.b = 1 */ 'exports.c = 1';"
                                 "`exports.d = 1 ${`exports.e`} exports.f = 1`;"
                                 "x = /exports.g = 1/; y = a / exports.h / 2; exports.i = 1;")
                    .names,
                ElementsAre("i"));
    EXPECT_THAT(find_cjs_exports("if (x) /'/.test(y); exports.a = '/';").names, ElementsAre("a"));
    EXPECT_THAT(find_cjs_exports("my.exports.a = 1; exports.b == 1;").names, IsEmpty());
}

TEST(CjsExports, JS_2_a_module_is_known_by_its_statements) {
    EXPECT_TRUE(has_module_syntax("import a from 'a';"));
    EXPECT_TRUE(has_module_syntax("const x = 1;\nexport { x };"));
    EXPECT_TRUE(has_module_syntax("console.log(import.meta.url)"));
    EXPECT_FALSE(has_module_syntax("import('x').then(use); exports.a = 1;"));
    EXPECT_FALSE(has_module_syntax("const a = { import: 1, export: 2 }; a.import();"));
    EXPECT_FALSE(has_module_syntax("'import a from b'; function f() { return `\nexport {}`; }"));
}

}  // namespace
}  // namespace weft::js
