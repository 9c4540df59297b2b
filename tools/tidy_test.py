#!/usr/bin/env python3
"""Tests of tools/tidy: each rule is shown a tree that breaks it and one that does not."""
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

from rules import (  # noqa: E402
    ALL, bans, contract, folders, layers, orders, orphans, planted, sizes, words)
from rules.source import Tree, judge  # noqa: E402


def broken(rule, **texts):
    """The breaches of one rule, as 'path:line rule'."""
    findings = judge(Tree(texts), [rule])
    return [f"{finding.path}:{finding.line} {finding.rule}" for finding in findings]


def header(text):
    return "#pragma once\n" + text


class Source(unittest.TestCase):
    def code(self, text):
        return Tree({"a.cpp": text}).files["a.cpp"].code

    def test_comments_and_literals_are_no_code(self):
        self.assertNotIn("throw", self.code('// throw\n/* throw\n throw */ f("throw", \'"\');'))
        self.assertNotIn("throw", self.code('R"(throw " throw)"; R"x(throw)" throw)x";'))

    def test_lines_stay_where_they_are(self):
        self.assertEqual(self.code("/* 1\n2 */ x\n").count("\n"), 2)

    def test_digit_separators_are_no_literals(self):
        self.assertIn("throw", self.code("f(1'000); throw 2'000;"))


class Exceptions(unittest.TestCase):
    def judge(self, text):
        return broken(bans, **{"weft/base/a.cpp": f"void f() {{{text}}}"})

    def test_a_remark_on_the_line_or_beside_it_allows(self):
        self.assertEqual(self.judge("throw 1;  // tidy: allow throw: a test\n"), [])
        self.assertEqual(self.judge("// tidy: allow throw: a test\nthrow 1;\n"), [])

    def test_a_remark_allows_only_its_own_rule_and_place(self):
        self.assertIn("weft/base/a.cpp:1 throw", self.judge("throw 1;  // tidy: allow new: why\n"))
        self.assertIn("weft/base/a.cpp:4 throw",
                      self.judge("throw 1;  // tidy: allow throw: why\n\n\nthrow 2;\n"))

    def test_a_file_may_be_allowed_as_a_whole(self):
        self.assertEqual(self.judge("// tidy: allow-file throw: why\n\n\n\nthrow 2;\n"), [])

    def test_a_remark_without_a_reason_is_a_breach(self):
        self.assertEqual(self.judge("throw 1;  // tidy: allow throw\n"),
                         ["weft/base/a.cpp:1 allow"])

    def test_a_remark_that_allows_nothing_is_a_breach(self):
        self.assertEqual(self.judge("f();  // tidy: allow throw: why\n"),
                         ["weft/base/a.cpp:1 allow"])


class Layers(unittest.TestCase):
    def includes(self, path, include, **others):
        return broken(layers, **{path: f"#include {include}\n", "weft/base/b.h": "",
                                 "weft/fiber/f.h": "", "weft/fiber/internal/i.h": "",
                                 "weft/testing/t.h": "", **others})

    def test_a_folder_may_include_itself_and_what_is_below(self):
        self.assertEqual(self.includes("weft/sync/a.cpp", '"weft/base/b.h"'), [])
        self.assertEqual(self.includes("weft/fiber/a.cpp", '"weft/fiber/f.h"'), [])

    def test_a_folder_may_not_include_what_is_above(self):
        self.assertEqual(self.includes("weft/base/a.cpp", '"weft/fiber/f.h"'),
                         ["weft/base/a.cpp:1 layers"])

    def test_tests_may_not_include_what_is_above_either(self):
        self.assertEqual(self.includes("weft/base/a_test.cpp", '"weft/fiber/f.h"'),
                         ["weft/base/a_test.cpp:1 layers"])

    def test_internal_headers_are_for_their_folder_alone(self):
        self.assertEqual(self.includes("weft/fiber/a.cpp", '"weft/fiber/internal/i.h"'), [])
        self.assertEqual(self.includes("weft/sync/a.cpp", '"weft/fiber/internal/i.h"'),
                         ["weft/sync/a.cpp:1 layers"])
        self.assertEqual(self.includes("examples/a.cpp", '"weft/fiber/internal/i.h"'),
                         ["examples/a.cpp:1 layers"])

    def test_a_room_may_include_itself_the_folder_and_what_is_below(self):
        rooms = {"weft/fiber/wait/w.h": "", "weft/fiber/os/o.h": ""}
        self.assertEqual(self.includes("weft/fiber/os/a.h", '"weft/fiber/wait/w.h"', **rooms), [])
        self.assertEqual(self.includes("weft/fiber/os/a.h", '"weft/fiber/os/o.h"', **rooms), [])
        self.assertEqual(self.includes("weft/fiber/os/a.h", '"weft/fiber/f.h"', **rooms), [])
        self.assertEqual(self.includes("weft/fiber/a.h", '"weft/fiber/os/o.h"', **rooms), [])
        self.assertEqual(self.includes("weft/fiber/wait/a.h", '"weft/fiber/os/o.h"', **rooms),
                         ["weft/fiber/wait/a.h:1 layers"])
        self.assertEqual(self.includes("weft/fiber/wait/a_test.cpp", '"weft/fiber/os/o.h"',
                                       **rooms), [])

    def test_a_source_of_a_room_may_ask_the_scheduler_above_it(self):
        rooms = {"weft/fiber/schedule/s.h": ""}
        include = '"weft/fiber/schedule/s.h"'
        self.assertEqual(self.includes("weft/fiber/io/a.cpp", include, **rooms), [])
        self.assertEqual(self.includes("weft/fiber/io/a.h", include, **rooms),
                         ["weft/fiber/io/a.h:1 layers"])

    def test_a_room_that_nobody_knows(self):
        self.assertEqual(self.includes("weft/fiber/attic/a.h", '"weft/fiber/os/o.h"',
                                       **{"weft/fiber/os/o.h": ""}),
                         ["weft/fiber/attic/a.h:1 layers"])

    def test_of_a_room_others_may_include_what_weft_h_names(self):
        rooms = {"weft/fiber/os/o.h": "", "weft/fiber/os/p.h": "",
                 "weft/weft.h": '#include "weft/fiber/os/o.h"\n'}
        self.assertEqual(self.includes("weft/sync/a.cpp", '"weft/fiber/os/o.h"', **rooms), [])
        self.assertEqual(self.includes("weft/sync/a.cpp", '"weft/fiber/os/p.h"', **rooms),
                         ["weft/sync/a.cpp:1 layers"])

    def test_testing_is_for_tests_only(self):
        self.assertEqual(self.includes("weft/base/a_test.cpp", '"weft/testing/t.h"'), [])
        self.assertEqual(self.includes("weft/base/a.cpp", '"weft/testing/t.h"'),
                         ["weft/base/a.cpp:1 layers"])

    def test_an_include_of_nothing_is_a_breach(self):
        self.assertEqual(self.includes("weft/base/a.cpp", '"b.h"'), ["weft/base/a.cpp:1 layers"])

    def test_an_include_in_a_comment_is_none(self):
        self.assertEqual(broken(layers, **{"weft/base/a.cpp": '// #include "nothing.h"\n'}), [])


class Foreign(unittest.TestCase):
    def includes(self, path, include):
        return broken(layers, **{path: f"#include <{include}>\n"})

    def test_standard_headers_are_at_home_everywhere(self):
        self.assertEqual(self.includes("weft/base/a.h", "vector"), [])

    def test_foreign_headers_stand_only_in_their_places(self):
        for include, home, elsewhere in [
            ("fmt/format.h", "weft/base/log.h", "weft/sync/channel.h"),
            ("liburing.h", "weft/fiber/io/uring.cpp", "weft/base/a.cpp"),
            ("libunwind.h", "weft/fiber/report/dump.cpp", "weft/sync/a.cpp"),
            ("sys/epoll.h", "weft/fiber/io/epoll.cpp", "weft/sim/a.cpp"),
            ("pthread.h", "weft/fiber/schedule/worker.cpp", "weft/sync/mutex.cpp"),
            ("gtest/gtest.h", "weft/base/error_test.cpp", "weft/base/error.cpp"),
            ("openssl/ssl.h", "weft/net/tls/stream.cpp", "weft/http/server.cpp"),
        ]:
            with self.subTest(include):
                self.assertEqual(self.includes(home, include), [])
                self.assertEqual(self.includes(elsewhere, include), [f"{elsewhere}:1 foreign"])

    def test_tests_may_ask_the_operating_system(self):
        self.assertEqual(self.includes("weft/sync/a_test.cpp", "unistd.h"), [])

    def test_an_unknown_header_needs_a_home(self):
        self.assertEqual(self.includes("weft/fiber/a.cpp", "curl/curl.h"),
                         ["weft/fiber/a.cpp:1 foreign"])


class Sizes(unittest.TestCase):
    def test_a_header_has_at_most_400_lines_and_a_source_800(self):
        self.assertEqual(broken(sizes, **{"weft/a.h": "\n" * 400, "weft/a.cpp": "\n" * 800}), [])
        self.assertEqual(broken(sizes, **{"weft/a.h": "\n" * 401, "weft/a.cpp": "\n" * 801}),
                         ["weft/a.cpp:801 size", "weft/a.h:401 size"])

    def test_architecture_has_at_most_400_lines(self):
        self.assertEqual(broken(sizes, **{"ARCHITECTURE.md": "\n" * 401}),
                         ["ARCHITECTURE.md:401 size"])

    def test_a_line_has_at_most_100_columns(self):
        self.assertEqual(broken(sizes, **{"a.cpp": "x" * 100 + "\n" + "x" * 101 + "\n"}),
                         ["a.cpp:2 size"])
        self.assertEqual(broken(sizes, **{"a.py": "x" * 101, "a.md": "x" * 101}), ["a.py:1 size"])

    def test_a_line_does_not_end_in_blanks(self):
        self.assertEqual(broken(sizes, **{"a.cpp": "int a; \n"}), ["a.cpp:1 size"])

    def test_a_function_has_at_most_70_lines(self):
        self.assertEqual(broken(sizes, **{"a.cpp": "void f() {\n" + "g();\n" * 68 + "}\n"}), [])
        self.assertEqual(broken(sizes, **{"a.cpp": "\nvoid f() {\n" + "g();\n" * 69 + "}\n"}),
                         ["a.cpp:2 size"])

    def test_a_long_class_or_namespace_is_no_function(self):
        for begin in ("namespace a {", "class A : public B<int(int)> {", "enum class E {",
                      'extern "C" {', "struct alignas(64) A {"):
            with self.subTest(begin):
                self.assertEqual(broken(sizes, **{"a.cpp": begin + "\n" * 100 + "};\n"}), [])

    def test_functions_are_found_in_every_dress(self):
        body = "{\n" + "g();\n" * 70 + "}\n"
        for begin in ("A::A(int a) : a_{a}, b_(1) ", "auto f(int a = {}) -> int ",
                      "template <class T> requires (C<T>) void f() noexcept ",
                      'extern "C" void f() ', "TEST(Suite, name) ",
                      "#if defined(X)\n#endif\nnamespace n { class A { int b{1}; void f() const "):
            with self.subTest(begin):
                self.assertEqual(len(broken(sizes, **{"a.cpp": begin + body})), 1)


class Bans(unittest.TestCase):
    def in_product(self, text):
        return broken(bans, **{"weft/fiber/a.cpp": text})

    def in_test(self, text):
        return broken(bans, **{"weft/fiber/a_test.cpp": text})

    def test_banned_in_product_code(self):
        for rule, text in [
            ("atomic", "std::atomic<int> a_;"), ("atomic", "__atomic_load_n(&a, 0);"),
            ("fence", "atomic_thread_fence(order);"),
            ("threads", "std::mutex m;"), ("threads", "std::shared_mutex m;"),
            ("threads", "std::condition_variable c;"), ("threads", "std::thread t(f);"),
            ("threads", "std::jthread t(f);"), ("threads", "std::async(f);"),
            ("sleep", "usleep(1);"), ("sleep", "std::this_thread::yield();"),
            ("throw", "throw 1;"),
            ("new", "auto* a = new int;"), ("new", "a = new (std::nothrow) A;"),
            ("delete", "delete a;"), ("delete", "delete[] a;"),
            ("thread_local", "void f() { static thread_local int a; }"),
            ("random", "rand();"), ("random", "std::mt19937_64 engine;"),
            ("clock", "std::chrono::steady_clock::now();"), ("clock", "clock_gettime(id, &now);"),
            ("assert", "assert(a);"),
            ("names", "class ConnectionManager;"), ("names", "struct StringUtil {"),
        ]:
            with self.subTest(text):
                self.assertEqual(self.in_product(f"void f() {{ {text}\n}}"),
                                 [f"weft/fiber/a.cpp:1 {rule}"])

    def test_not_banned(self):
        for text in ("A(const A&) = delete;", "void* operator new(std::size_t);", "new (place) A;",
                     "void operator delete(void*);", "static_assert(true);", "weft::sleep_for(d);",
                     "renew();", "#include <new>", "std::memory_order order;", "env::random(s);",
                     "Clock::now();", "throws();", "class Implement;", "strand(a);"):
            with self.subTest(text):
                self.assertEqual(self.in_product(f"void f() {{\n{text}\n}}"), [])

    def test_tests_do_not_sleep(self):
        for text in ("std::this_thread::sleep_for(1ms);", "sleep_for(1ms);", "usleep(1);",
                     "sleep(1);"):
            with self.subTest(text):
                self.assertEqual(self.in_test(text), ["weft/fiber/a_test.cpp:1 sleep"])
        self.assertEqual(self.in_test("weft::sleep_for(1ms);"), [])
        self.assertEqual(broken(bans, **{"tests/stress/a.cpp": "usleep(1);"}),
                         ["tests/stress/a.cpp:1 sleep"])

    def test_tests_may_throw_and_start_threads_but_not_use_bare_atomics(self):
        self.assertEqual(self.in_test("throw 1; std::thread t(f); std::mutex m; new int;"), [])
        self.assertEqual(self.in_test("std::atomic<int> a;"), ["weft/fiber/a_test.cpp:1 atomic"])

    def test_the_home_of_a_construct_may_use_it(self):
        text = header("class A { std::atomic<T> a; };")
        self.assertEqual(broken(bans, **{"weft/base/atomic.h": text}), [])

    def test_headers_import_no_namespace(self):
        self.assertEqual(broken(bans, **{"weft/base/a.h": header("using namespace std;")}),
                         ["weft/base/a.h:2 using"])
        self.assertEqual(broken(bans, **{"weft/base/a.h":
                                         header("void f() { using namespace std; }")}), [])
        self.assertEqual(self.in_product("using namespace std::chrono_literals;"), [])

    def test_headers_have_pragma_once(self):
        self.assertEqual(broken(bans, **{"weft/base/a.h": "#ifndef A\n#endif\n"}),
                         ["weft/base/a.h:1 pragma"])

    def test_the_message_names_the_replacement(self):
        finding, = judge(Tree({"weft/fiber/a.cpp": "f(std::atomic<int>{});"}), [bans])
        self.assertIn("weft::Atomic", finding.message)

    def test_no_mutable_globals(self):
        for text in ("int a;", "static int a = 1;", "namespace x { constinit Depot depot; }",
                     "std::vector<int> a{1, 2};", "inline Atomic<int> a{0};", "char a[16];",
                     "struct sigaction previous;"):
            with self.subTest(text):
                self.assertEqual(self.in_product(text), ["weft/fiber/a.cpp:1 global"])

    def test_constants_declarations_and_members_are_no_mutable_globals(self):
        for text in ("constexpr int kA = 1;", "const int kA = 1;",
                     "static const char* const kA = 0;", "inline constexpr A kA{1};",
                     "int f();", "class A;", "using A = int;",
                     "struct A { int a; static int b; };", "void f() { static int a; }",
                     "template <class T> class A;", "extern int a;", "A::A() : a_{1} { int b; }",
                     "enum class E { A, B };", "enum class E : int;", "class [[nodiscard]] A;",
                     "static_assert(1 == 1);", "typedef int A;",
                     "friend A operator+(A, A);", "A f(int a = {});", "namespace a = b;"):
            with self.subTest(text):
                self.assertEqual(self.in_product(text), [])


class Orders(unittest.TestCase):
    def in_product(self, text):
        return broken(orders, **{"weft/fiber/a.cpp": text})

    def test_every_access_names_its_order(self):
        for access in ("a.load()", "a_->store(1)", "a.exchange(f(1))", "a.fetch_add(1)",
                       "a.compare_exchange_weak(x, y)", "a.fetch_or(\n1)"):
            with self.subTest(access):
                self.assertEqual(self.in_product(f"{access};"), ["weft/fiber/a.cpp:1 order"])
        self.assertEqual(self.in_product("a.load(std::memory_order_acquire);"), [])
        self.assertEqual(self.in_product("a.store(f(1),\n std::memory_order_release);"), [])
        self.assertEqual(self.in_product("value_.load(order);"), [])

    def test_tests_name_orders_too(self):
        self.assertEqual(broken(orders, **{"weft/fiber/a_test.cpp": "a.load();"}),
                         ["weft/fiber/a_test.cpp:1 order"])

    def test_relaxed_and_seq_cst_say_why(self):
        for order in ("relaxed", "seq_cst"):
            access = f"a.load(std::memory_order_{order});"
            self.assertEqual(self.in_product(access), ["weft/fiber/a.cpp:1 order"])
            self.assertEqual(self.in_product(f"// Statistics only.\n{access}"), [])
            self.assertEqual(self.in_product(f"{access}  // Statistics only."), [])
            self.assertEqual(broken(orders, **{"weft/fiber/a_test.cpp": access}), [])


class Orphans(unittest.TestCase):
    house = {"CMakeLists.txt": "set(WEFT_FOLDERS base fiber)",
             "weft/base/CMakeLists.txt": "weft_folder(base)"}

    def test_sources_that_the_build_reaches(self):
        self.assertEqual(broken(orphans, **self.house, **{
            "weft/base/a.cpp": '#include "weft/base/a.h"\n', "weft/base/a.h": ""}), [])

    def test_a_source_in_a_folder_that_is_not_built(self):
        self.assertEqual(broken(orphans, **self.house, **{"weft/sync/a.cpp": ""}),
                         ["weft/sync/a.cpp:1 orphan"])
        self.assertEqual(broken(orphans, **self.house, **{"weft/fiber/a.S": ""}),
                         ["weft/fiber/a.S:1 orphan"])

    def test_a_header_that_nobody_includes(self):
        self.assertEqual(broken(orphans, **self.house, **{"weft/base/a.h": ""}),
                         ["weft/base/a.h:1 orphan"])

    def test_a_page_that_nobody_links(self):
        pages = {"docs/README.md": "[a](guide/a.md)", "docs/guide/a.md": "",
                 "docs/b.md": "[b](b.md)"}
        self.assertEqual(broken(orphans, **pages), ["docs/b.md:1 orphan"])

    def test_code_in_a_page_has_no_links(self):
        page = "text\n```cpp\n[&](Context&) {}\n```\n[gone](gone.md)\n"
        self.assertEqual(broken(orphans, **self.house, **{"docs/README.md": page}),
                         ["docs/README.md:5 orphan"])

    def test_a_link_to_nothing(self):
        self.assertEqual(broken(orphans, **{"README.md": "[a](docs/none.md) [b](https://go.dev)"}),
                         ["README.md:1 orphan"])


class Folders(unittest.TestCase):
    def test_each_folder_has_a_readme(self):
        self.assertEqual(broken(folders, **{"weft/base/a.h": "", "weft/README.md": ""}),
                         ["weft/base:1 readme"])
        self.assertEqual(broken(folders, **{"weft/base/internal/a.h": "", "weft/README.md": "",
                                            "weft/base/README.md": "", ".ci/run": ""}), [])

    def test_each_room_has_a_readme(self):
        self.assertEqual(broken(folders, **{"weft/fiber/io/a.h": "", "weft/README.md": "",
                                            "weft/fiber/README.md": ""}),
                         ["weft/fiber/io:1 readme"])

    def test_a_readme_has_at_most_40_lines(self):
        self.assertEqual(broken(folders, **{"tools/README.md": "\n" * 40}), [])
        self.assertEqual(broken(folders, **{"tools/README.md": "\n" * 41}),
                         ["tools/README.md:41 readme"])


class Words(unittest.TestCase):
    def test_words_of_the_workplace(self):
        for text in ("see /wo" + "rk/main", "cp /tmp/pl" + "an/core.md .", "in this ses" + "sion",
                     "a helper ag" + "ent", "https://registry.corp/simple"):
            with self.subTest(text):
                self.assertEqual(broken(words, **{"a.md": text}), ["a.md:1 words"])

    def test_words_of_the_product(self):
        for text in ("TLS session resumption", "https://www.rfc-editor.org/rfc/rfc9113",
                     "build/dev/wo" + "rk/", "http://localhost:8080", "the work of a worker"):
            with self.subTest(text):
                self.assertEqual(broken(words, **{"a.md": text}), [])


class Planted(unittest.TestCase):
    def judge(self, product, test='bugs("io.stale", "io.other")'):
        return broken(planted, **{"weft/fiber/io.cpp": product, "tests/sim/a_test.cpp": test})

    def test_a_bug_that_no_test_looks_for(self):
        self.assertEqual(self.judge('f();\nif (WEFT_PLANTED("io.new")) return;'),
                         ["weft/fiber/io.cpp:2 planted"])

    def test_a_bug_that_a_test_looks_for_and_one_in_a_comment(self):
        self.assertEqual(self.judge('if (WEFT_PLANTED("io.stale")) return;'), [])
        self.assertEqual(self.judge('// `if (WEFT_PLANTED("area.name"))`'), [])


class Contract(unittest.TestCase):
    def judge(self, rows, test="TEST(Runtime, FIB_1a_run_returns) {}"):
        return broken(contract, **{"docs/contract.md": rows, "weft/fiber/runtime_test.cpp": test})

    def test_a_row_that_is_done_names_a_test_with_its_id(self):
        self.assertEqual(self.judge("| FIB-1a | runs | `Runtime.FIB_1a_run_returns` | done |"), [])

    def test_a_test_of_the_family_serves_too(self):
        self.assertEqual(self.judge("| FIB-1a | runs | `Runtime.FIB_1_runs` | done |",
                                    "TEST(Runtime, FIB_1_runs) {}"), [])

    def test_a_test_with_another_id_does_not_serve(self):
        rows = "| FIB-1a | . | `Runtime.FIB_2` | done |\n| FIB-2 | . | | open |"
        self.assertEqual(self.judge(rows, "TEST(Runtime, FIB_2) {}"),
                         ["docs/contract.md:1 contract"])

    def test_done_without_a_test(self):
        self.assertEqual(self.judge("| FIB-1a | runs | | done |"), ["docs/contract.md:1 contract"])

    def test_a_test_that_does_not_exist(self):
        self.assertEqual(self.judge("| FIB-1a | runs | `Runtime.FIB_1a_other` | done |"),
                         ["docs/contract.md:1 contract"] * 2)

    def test_a_path_alone_is_no_proof(self):
        row = "| TST-2 | . | `tests/install/run` | done |\n| FIB-1a | . | | open |"
        self.assertEqual(broken(contract, **{"docs/contract.md": row, "tests/install/run": ""}),
                         ["docs/contract.md:1 contract"])

    def test_a_name_may_carry_two_ids(self):
        rows = "".join(f"| {row} | . | `Runtime.FIB_1a_FIB_2_runs` | done |\n"
                       for row in ("FIB-1a", "FIB-2"))
        self.assertEqual(self.judge(rows, "TEST(Runtime, FIB_1a_FIB_2_runs) {}"), [])
        self.assertEqual(self.judge("| FIB-2 | . | | open |", "TEST(Runtime, FIB_2_FIB_9_x) {}"),
                         ["weft/fiber/runtime_test.cpp:1 contract"])

    def test_a_macro_may_give_the_id(self):
        test = "#define SWITCHES(name) TEST(Runtime, FIB_1a_##name)\nSWITCHES(there) {}\n"
        self.assertEqual(self.judge("| FIB-1a | . | `Runtime.FIB_1a_there` | done |", test), [])
        self.assertEqual(self.judge("| FIB-1a | . | `Runtime.FIB_1a_back` | done |", test),
                         ["docs/contract.md:1 contract"] * 2)

    def test_no_rule_takes_over_a_second(self):
        tree = Tree.read(TOOLS.parent)
        for rule in ALL:
            begun = time.process_time()
            list(rule.check(tree))
            self.assertLess(time.process_time() - begun, 1, rule.__name__)

    def test_tests_in_python_count(self):
        row = "| TST-1 | . | `Lanes.TST_1_passes` | done |"
        test = "class Lanes(unittest.TestCase):\n    def test_TST_1_passes(self):\n"
        self.assertEqual(broken(contract, **{"docs/contract.md": row, "scripts/a_test.py": test}),
                         [])

    def test_a_test_names_an_id_that_exists(self):
        self.assertEqual(self.judge("| FIB-2 | runs | | open |"),
                         ["weft/fiber/runtime_test.cpp:1 contract"])

    def test_a_state_is_one_of_three(self):
        self.assertEqual(self.judge("| FIB-1a | runs | | nearly |"),
                         ["docs/contract.md:1 contract"])

    def test_an_id_has_one_row(self):
        self.assertEqual(self.judge("| FIB-1a | a | | open |\n| FIB-1a | b | | open |"),
                         ["docs/contract.md:2 contract"])

    def test_the_contract_exists(self):
        self.assertEqual(broken(contract), ["docs/contract.md:1 contract"])


class Program(unittest.TestCase):
    def test_it_prints_breaches_and_exits_1(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text("int a; \n")
            done = subprocess.run([sys.executable, TOOLS / "tidy", folder], text=True,
                                  capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.cpp:1: size: blanks at the end of the line", done.stdout)


if __name__ == "__main__":
    unittest.main()
