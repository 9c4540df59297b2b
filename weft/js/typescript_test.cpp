#include "weft/js/typescript.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::js {
namespace {

// The result with each run of blanks collapsed to one.
std::string stripped(std::string_view source) {
    auto result = strip_types(source);
    if (!result) return "error: " + result.error().message;
    std::string text;
    for (char byte : *result)
        if (byte != ' ' || (!text.empty() && text.back() != ' ')) text += byte;
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.pop_back();
    return text;
}

TEST(TypeScript, JS_2_what_is_left_stays_where_it_was) {
    std::string_view source =
        "interface A {\n  b: string\n}\nconst x: Map<string, A> = y as any;\n"
        "function f<T>(a: T, b?: number): a is string { return a!; }\n";
    std::string result = strip_types(source).value();
    ASSERT_EQ(result.size(), source.size());
    EXPECT_EQ(std::ranges::count(result, '\n'), std::ranges::count(source, '\n'));
    for (std::size_t at = 0; at < source.size(); ++at)
        EXPECT_TRUE(result[at] == source[at] || result[at] == ' ' || result[at] == ';') << at;
    EXPECT_EQ(result.find("y"), source.find("y as"));
    EXPECT_EQ(result.find("return a"), source.find("return a!"));
}

TEST(TypeScript, JS_2_columns_are_kept_behind_types_with_other_letters) {
    std::string result = strip_types("let a: \"\xC3\xA9\xF0\x9F\x98\x80\" = b;").value();
    // V8 counts UTF-16 units: one for the first letter, two for the second.
    EXPECT_EQ(result, "let a" + std::string(7, ' ') + " = b;");
}

TEST(TypeScript, JS_2_expressions_and_types_are_told_apart) {
    EXPECT_EQ(stripped("a < b || c > (d)"), "a < b || c > (d)");
    EXPECT_EQ(stripped("f<A<B<C>>>(x)"), "f (x)");
    EXPECT_EQ(stripped("x = a ? (b) : c => d;"), "x = a ? (b) : c => d;");
    EXPECT_EQ(stripped("x = a ? (b): c => d : e;"), "x = a ? (b) => d : e;");
    EXPECT_EQ(stripped("x = async <T,>(a: T): Promise<T> => a;"), "x = async (a ) => a;");
    EXPECT_EQ(stripped("x = a >> b >>> c; y >>= 1;"), "x = a >> b >>> c; y >>= 1;");
    EXPECT_EQ(stripped("x = /a<b>/g.test(`${c as D}`) / 2"), "x = /a<b>/g.test(`${c }`) / 2");
    EXPECT_EQ(stripped("x = a as number < b;"), "x = a < b;");
    EXPECT_EQ(stripped("x = a as Set<b>;"), "x = a ;");
    EXPECT_EQ(stripped("type = 1; declare(x); module.y"), "type = 1; declare(x); module.y");
    EXPECT_EQ(stripped("type A = B\n(c as D).e()"), "; \n(c ).e()");
}

TEST(TypeScript, JS_2_imports_of_types_are_gone) {
    EXPECT_EQ(stripped("import type { A } from 'a'; b();"), "; b();");
    EXPECT_EQ(stripped("import { A, b } from 'a'; let x: A = b;"),
              "import { b } from 'a'; let x = b;");
    EXPECT_EQ(stripped("import { A } from 'a'; let x: A;"), "; let x ;");
    EXPECT_EQ(stripped("import 'a';"), "import 'a';");
    EXPECT_EQ(stripped("import A, { type B } from 'a'; new A;"), "import A, { } from 'a'; new A;");
    EXPECT_EQ(stripped("interface A {} const b = 1; export { A, b };"),
              "; const b = 1; export { b };");
}

TEST(TypeScript, JS_2_what_TypeScript_adds_is_written_out) {
    EXPECT_EQ(stripped("enum A { B, C = 5, D = 'd', E = B | C }"),
              "var A; (function (A) { A[A[\"B\"] = 0] = \"B\"; A[A[\"C\"] = 5] = \"C\"; "
              "A[\"D\"] = 'd'; A[A[\"E\"] = A.B | A.C] = \"E\" })(A || (A = {}));");
    EXPECT_EQ(stripped("class A { constructor(private b: C) {} }"),
              "class A { constructor( b ) { this.b = b;} }");
    EXPECT_EQ(stripped("class A extends B { constructor(public c: D) { super(1); } }"),
              "class A extends B { constructor( c ) { super(1); this.c = c; } }");
    EXPECT_EQ(stripped("import a = require('b'); a()"), "const a = require('b'); a()");
}

TEST(TypeScript, JS_2_elements_become_calls) {
    auto jsx = [](std::string_view source) {
        std::string text = strip_types(source, {.is_tsx = true, .jsx_module = "preact"}).value();
        return text.substr(0, text.find("\nimport"));
    };
    EXPECT_EQ(jsx("x = <a/>;"), "x = _jsx(\"a\", {});");
    EXPECT_EQ(jsx("x = <A.B c=\"d &amp; e\" f {...g}>h</A.B>;"),
              "x = _jsx(A.B, { \"c\": \"d & e\", \"f\": true,  ...g,children: [\"h\",][0]});");
    EXPECT_EQ(jsx("x = <>\n  a\n  {b as C}{/* none */}\n</>;"),
              "x = _jsxs(_Fragment, {children: [\"a\",\n\n(b     ),            \n]});");
    EXPECT_EQ(jsx("f = <T,>(a: T) => a < b;"), "f =     (a   ) => a < b;");
    std::string text =
        strip_types("/** @jsxImportSource hono/jsx */ <a/>", {.is_tsx = true}).value();
    EXPECT_NE(text.find("from \"hono/jsx/jsx-runtime\""), std::string::npos);
    EXPECT_FALSE(strip_types("x = <a>", {.is_tsx = true}));
    EXPECT_FALSE(strip_types("x = <a></b>", {.is_tsx = true}));
}

TEST(TypeScript, JS_2_classes_lose_what_is_declared_only) {
    EXPECT_EQ(stripped("abstract class A<T> extends B<T> implements C { private readonly d: T = 1; "
                       "declare e: T; [k: string]: T; abstract f(): T; g?(): void; h!: T }"),
              "class A extends B { d = 1; ; ; ; ; h }");
    EXPECT_EQ(stripped("class A { f(a: 1): void; f(a: any) {} static { g<B>(); } get = 1 }"),
              "class A { ; f(a ) {} static { g (); } get = 1 }");
    EXPECT_EQ(stripped("class A { a = 1\n private ['b'] = 2 }"), "class A { a = 1\n ; ['b'] = 2 }");
}

TEST(TypeScript, JS_2_what_cannot_be_stripped_says_where) {
    auto result = strip_types("let a = 1;\n  namespace B { export const c = 1; }");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().line, 2U);
    EXPECT_EQ(result.error().column, 3U);
    EXPECT_NE(result.error().message.find("namespace"), std::string::npos);
    EXPECT_EQ(stripped("namespace A { export type B = 1 }"), ";");
    EXPECT_NE(stripped("let x: = 1"), "let x = 1");
    EXPECT_FALSE(strip_types(std::string(100'000, '[')));
    for (std::string_view torn : {"class A {", "`${", "enum A {", "f(", "import {", "type A = {"})
        EXPECT_FALSE(strip_types(torn)) << torn;
}

TEST(TypeScript, JS_2_import_attributes_without_an_opening_bracket_are_refused) {
    for (std::string_view source :
         {"import 'a' with )", "import 'a' with ) (", "import b from 'a' with }",
          "import type { b } from 'a' with ]", "export * from 'a' with ) ("})
        EXPECT_FALSE(strip_types(source)) << source;
}

TEST(TypeScript, JS_2_a_line_that_goes_on_in_a_member_of_an_enum_stays_one_line_more) {
    EXPECT_EQ(strip_types("enum A { 'B\\\nC', 'D\\\r\nE' = 1, F = BC }\nx;").value(),
              "var A; (function (A) { A[A['BC'] = 0] = 'BC'\n; A[A['DE'] = \n1] = 'DE'; "
              "A[A[\"F\"] = A.BC] = \"F\" })(A || (A = {}));\nx;");
}

TEST(TypeScript, JS_2_members_of_an_enum_may_be_named_in_types_of_its_initializers) {
    EXPECT_FALSE(strip_types("enum A { B, C = async x => { type X = B | B | B | B; @ } }"));
    EXPECT_EQ(stripped("enum A { B, C = b => { type X = B; return B } }"),
              "var A; (function (A) { A[A[\"B\"] = 0] = \"B\"; A[A[\"C\"] = "
              "b => { ; return A.B }] = \"C\" })(A || (A = {}));");
}

}  // namespace
}  // namespace weft::js
