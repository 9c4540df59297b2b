#include "weft/js/import_attributes.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::js {
namespace {

std::string blanked(const std::string& source) {
    auto result = without_import_attributes(source);
    return result ? *result : result.error().message;
}

TEST(ImportAttributes, JS_2_they_become_blanks_and_lines_stay) {
    EXPECT_EQ(blanked("import a from \"./a.json\" with { type: \"json\" };\nb;"),
              "import a from \"./a.json\"                      ;\nb;");
    EXPECT_EQ(blanked("export { a } from './a.json'\nwith {\n'type': 'json',\n}\nb"),
              "export { a } from './a.json'\n      \n               \n \nb");
    EXPECT_EQ(blanked("import './a.json' with {};"), "import './a.json'        ;");
}

TEST(ImportAttributes, JS_2_those_of_import_calls_become_blanks) {
    EXPECT_EQ(blanked("await import(\"./a.json\", { with: { type: \"json\" } });"),
              "await import(\"./a.json\"                            );");
    EXPECT_EQ(blanked("import(`${f(a, b)}.json`, {'with': {},},).then(c, { with: d })"),
              "import(`${f(a, b)}.json`                ).then(c, { with: d })");
    EXPECT_EQ(blanked("import(a, { with: { type: 'css' } })"),
              "there is no type of modules 'css', only 'json'");
    EXPECT_EQ(blanked("import(a, { with: {}, more })"), "'})' was expected");
    EXPECT_EQ(blanked("import(a, options); import(b)"), "import(a, options); import(b)");
}

TEST(ImportAttributes, JS_2_what_looks_alike_stays) {
    for (const std::string source :
         {"const a = [1].with(0, \"x\"); const b = { with: {} };", "x = 'from \"y\" with {}';",
          "// import a from \"b\" with { type: \"css\" }", "'a' /* with { */"}) {
        EXPECT_EQ(blanked(source), source);
    }
}

TEST(ImportAttributes, JS_2_other_types_and_attributes_are_refused_where_they_are) {
    auto css = without_import_attributes("a;\nimport b from \"c\" with { type: \"css\" };");
    ASSERT_FALSE(css);
    EXPECT_EQ(css.error().message, "there is no type of modules 'css', only 'json'");
    EXPECT_EQ(css.error().line, 2u);
    EXPECT_EQ(css.error().column, 32u);
    EXPECT_EQ(blanked("import b from \"c\" with { lazy: \"yes\" };"),
              "there is no import attribute 'lazy', only 'type'");
    for (const std::string source :
         {"import b from \"c\" with { type }", "import b from \"c\" with { type: \"json\"",
          "import b from \"c\" with {", "import b from \"c\" with { type: \"json\" ; }"})
        EXPECT_FALSE(without_import_attributes(source)) << source;
}

TEST(ImportAttributes, JS_2_texts_without_any_are_not_looked_through) {
    EXPECT_FALSE(may_have_import_attributes("import a from \"b\"; c.with(1); d = `with`;"));
    EXPECT_TRUE(may_have_import_attributes("import a from \"b\" with { type: \"json\" };"));
    EXPECT_TRUE(may_have_import_attributes("import a from 'b'\nwith {}"));
    EXPECT_TRUE(may_have_import_attributes("import(a, {with : {}})"));
    EXPECT_FALSE(may_have_import_attributes("f({ a, without: 1 }); with_(x)"));
}

}  // namespace
}  // namespace weft::js
