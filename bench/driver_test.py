#!/usr/bin/env python3
"""Tests of the driver: reading output, judging targets, merging runs, telling what is missing."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from cost import profile, rows
from driver import building, http_measuring, js_servers, measuring, report, results, servers
from driver.building import Unavailable
from driver.catalog import FIBERS, PEERS, Peer, peers_of
from driver.http_catalog import HTTP
from driver.js_catalog import JS
from driver.process import expect_word, running, start
from driver.targets import TARGETS, Ahead, AtMost, Scaling, Within, verdict

MACHINE = {"cpu": "test"}
SUITES = report.SUITES.values()


def peer_named(name: str, peers: list[Peer] = PEERS) -> Peer:
    return next(peer for peer in peers if peer.name == name)


def server_named(name: str) -> Peer:
    return peer_named(name, HTTP.peers)


def quiet(_: str) -> None:
    pass


class Output(unittest.TestCase):
    def test_all_rows_of_a_metric_are_read_and_other_lines_passed_over(self):
        text = "hello\ngo1 sleep 4.5 ms\ngo1 sleep_cpu 3 ms\ngo2 sleep 9 ms\n"
        figures = measuring.parse_lines(text, peer_named("go1"), FIBERS.metric("sleep"))
        self.assertEqual(figures, {"sleep": 4.5, "sleep_cpu": 3.0})

    def test_a_missing_line_is_a_failure_with_a_reason(self):
        with self.assertRaisesRegex(measuring.Failed, "no line `go1 yield"):
            measuring.parse_lines("", peer_named("go1"), FIBERS.metric("yield"))

    def test_a_program_that_hangs_is_ended(self):
        short = replace(FIBERS.metric("yield"), timeout_seconds=0.2)
        with self.assertRaisesRegex(measuring.Failed, "not finished"):
            measuring.output_of(peer_named("go1"), short, ["sleep", "60"])

    def test_a_program_that_fails_says_why(self):
        command = ["sh", "-c", "echo no memory >&2; exit 3"]
        with self.assertRaisesRegex(measuring.Failed, "ended with 3: no memory"):
            measuring.output_of(peer_named("go1"), FIBERS.metric("yield"), command)

    def test_a_program_that_cannot_be_built_gives_its_reason(self):
        built = {"go": Unavailable("go is not installed")}
        with self.assertRaisesRegex(measuring.Failed, "go is not installed"):
            measuring.measure(peer_named("go1"), FIBERS.metric("yield"), built)

    def test_memory_that_could_not_be_warmed_is_told(self):
        with self.assertRaisesRegex(measuring.Failed, "could not be warmed"):
            measuring.warm_memory(FIBERS.metric("spawn"), {"floor": "false"})


class Targets(unittest.TestCase):
    def judge(self, target, **medians):
        return verdict(target, lambda row, peer: medians.get(peer))

    def test_a_limit_is_met_or_missed(self):
        self.assertIn("met", self.judge(AtMost("yield", "weft1", 6), weft1=4))
        self.assertIn("MISSED", self.judge(AtMost("yield", "weft1", 6), weft1=7))

    def test_ahead_divides_the_peer_by_ours(self):
        self.assertEqual(self.judge(Ahead("yield", "weft1", "go1", 5), weft1=4, go1=40),
                         "met (10.00×)")

    def test_within_divides_ours_by_the_peer(self):
        self.assertEqual(self.judge(Within("echo1k", "weft1", "epoll1", 1.05), weft1=6, epoll1=5),
                         "MISSED (1.20×)")

    def test_scaling_compares_one_worker_with_two(self):
        self.assertIn("met", self.judge(Scaling("fib", "weft", 1.9), weft1=20, weft2=10))

    def test_without_figures_nothing_is_claimed(self):
        self.assertEqual(self.judge(Ahead("yield", "weft1", "go1", 5), weft1=4), "not measured")

    def test_every_target_names_a_row_and_peers_that_exist(self):
        names = {row: {peer.name for peer in suite.peers}
                 for suite in SUITES for row in suite.rows()}
        for target in TARGETS:
            self.assertIn(target.row, names)
            for peer in (getattr(target, "ours", "weft1"), getattr(target, "peer", "weft1")):
                self.assertIn(peer, names[target.row])


class Merging(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.results = Path(self.folder.name)

    def saved(self, machine=None):
        table = results.load(machine or MACHINE, quiet, self.results)
        run = table.begin_run("a day", "make bench", 3, 0.0)
        return table, run

    def test_a_later_run_renews_its_rows_and_keeps_the_others(self):
        table, run = self.saved()
        table.record(run, "yield", "go1", [1, 2, 3])
        table.record(run, "spawn", "go1", [5])
        results.save(table, self.results)
        table, run = self.saved()
        table.record(run, "yield", "go1", [9])
        results.save(table, self.results)
        table = results.load(MACHINE, quiet, self.results)
        self.assertEqual(table.values("yield", "go1"), [9])
        self.assertEqual(table.median("spawn", "go1"), 5)
        self.assertEqual(len(table.runs), 2)

    def test_a_run_that_no_row_comes_from_is_forgotten(self):
        for value in (1, 2):
            table, run = self.saved()
            table.record(run, "yield", "go1", [value])
            results.save(table, self.results)
        self.assertEqual(len(results.load(MACHINE, quiet, self.results).runs), 1)

    def test_figures_of_another_machine_are_not_mixed_in(self):
        table, run = self.saved()
        table.record(run, "yield", "go1", [1])
        results.save(table, self.results)
        for other in ({**MACHINE, "cpu": "another"}, {**MACHINE, "kernel": "another"}):
            self.assertEqual(results.load(other, quiet, self.results).rows, {})

    def test_each_kind_of_processor_has_its_own_results(self):
        for cpu in ("AMD EPYC", "Intel(R) Xeon(R) Processor"):
            results.save(results.Results({"cpu": cpu}), self.results)
        self.assertEqual([path.name for path in sorted(self.results.iterdir())],
                         ["amd-epyc.json", "intel-xeon-processor.json"])
        self.assertEqual(len(results.load_all(self.results)), 2)


class Report(unittest.TestCase):
    def setUp(self):
        self.table = results.Results(MACHINE)
        self.run_id = self.table.begin_run("a day", "make bench", 3, 0.0)

    def lines(self, row: str, suite=FIBERS) -> str:
        return "\n".join(report.table_of(self.table, suite, row))

    def test_a_ratio_is_the_peer_over_ours_with_as_many_workers(self):
        self.table.record(self.run_id, "yield", "weft2", [5])
        self.table.record(self.run_id, "yield", "go2", [40, 50, 60])
        self.assertIn("| go2 | 50 | 40 … 60 | 10.00× |", self.lines("yield"))

    def test_a_ratio_over_two_runs_is_marked(self):
        self.table.record(self.run_id, "yield", "weft1", [5])
        self.table.record(self.run_id + 1, "yield", "go1", [50])
        self.assertIn("10.00× `*`", self.lines("yield"))

    def test_a_peer_that_cannot_be_had_is_listed_with_the_reason(self):
        self.table.record_failure(self.run_id, "yield", "tokio1", "cargo is not installed")
        self.assertIn("| tokio1 | UNAVAILABLE | | | cargo is not installed |", self.lines("yield"))
        self.assertIn("| boost1 | UNAVAILABLE | | | Boost.Fiber has no I/O |", self.lines("echo1k"))

    def test_further_figures_of_a_run_are_columns_of_its_table(self):
        self.table.record(self.run_id, "plaintext", "nginx1", [8])
        self.table.record(self.run_id, "plaintext.rate", "nginx1", [120_000])
        table = self.lines("plaintext", HTTP)
        self.assertIn("| ratio | rate, 1/s | p50, us | p99, us | remark |", table)
        self.assertIn("| nginx1 | 8 | 8 … 8 | – | 120,000 | – | – |", table)

    def test_a_line_without_figures_has_as_many_cells(self):
        self.table.record_failure(self.run_id, "plaintext", "nginx1", "nginx is not installed")
        self.assertIn("| nginx1 | UNAVAILABLE | | | | | | nginx is not installed |",
                      self.lines("plaintext", HTTP))

    def test_what_the_kernel_leaves_is_no_peer_in_the_summary(self):
        for peer, value in (("weft1", 7), ("epoll1", 6), ("nginx1", 8)):
            self.table.record(self.run_id, "plaintext", peer, [value])
        self.assertIn("| 7 | nginx1 8 | epoll1 6 |",
                      "\n".join(report.summary(self.table, HTTP)))

    def test_every_row_has_a_table(self):
        for suite in SUITES:
            for row in suite.rows():
                self.assertIn(f"## {row}", self.lines(row, suite))


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.ground = servers.Ground(Path(self.folder.name), 8080, 9090)

    def test_a_configuration_has_no_placeholder_left(self):
        for family, (name, _) in servers.CONFIGURED.items():
            for ground in (self.ground, replace(self.ground, tls=True)):
                text = servers.write_configuration(name, ground).read_text()
                self.assertIn("8080", text, family)
                self.assertIn("9090", text, family)
                self.assertNotRegex(text, r"@[A-Z_]+@")

    def test_only_a_tls_server_is_told_of_certificates(self):
        plain = servers.environment_of(server_named("go1"), self.ground)
        secure = servers.environment_of(server_named("go1"), replace(self.ground, tls=True))
        self.assertEqual(plain["TLS"], "")
        self.assertEqual(secure["TLS"], str(servers.TLS))
        self.assertEqual(plain["GOMAXPROCS"], "1")

    def test_the_words_of_the_load_are_read(self):
        self.assertEqual(http_measuring.parse_done("done 300 2.0 51.5 99.0 1.9\n"),
                         http_measuring.Done(300, 2.0, 51.5, 99.0, 1.9))

    def test_anything_else_that_the_load_says_is_a_failure(self):
        with self.assertRaisesRegex(measuring.Failed, "done 300"):
            http_measuring.parse_done("done 300\n")

    def test_a_load_that_fails_says_why(self):
        command = ["sh", "-c", "echo not the expected answer >&2"]
        with running(start(["sleep", "60"]), 5) as server, running(start(command), 5) as client:
            with self.assertRaisesRegex(measuring.Failed, "not the expected answer"):
                expect_word(client, server, "ready")

    def test_a_server_that_is_not_installed_gives_its_reason(self):
        built = {"http.nginx": Unavailable("nginx is not installed")}
        with self.assertRaisesRegex(measuring.Failed, "nginx is not installed"):
            measuring.measure(server_named("nginx1"), HTTP.metric("plaintext"), built)

    def test_the_operations_of_a_handshake_are_added_up(self):
        text = (" 256 bits ecdsa (nistp256)   0.0000s   0.0001s  50000.0  16076.5\n"
                " 253 bits ecdh (X25519)   0.0000s  40000.0\n")
        self.assertAlmostEqual(http_measuring.parse_speed(text), 20 + 2 * 25)

    def test_another_openssl_speed_is_a_failure(self):
        with self.assertRaisesRegex(measuring.Failed, "no such algorithm"):
            http_measuring.parse_speed("no such algorithm\n")


class Runtimes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.ground = servers.Ground(Path(self.folder.name), 8080, 9090, workload="plaintext")

    def test_a_script_has_no_placeholder_left(self):
        for workload in ("plaintext", "file"):
            for command in js_servers.COMMANDS.values():
                command(Path("program"), replace(self.ground, workload=workload))
        js_servers.many_command("js.weft", Path("weft"), self.ground, 2)
        for file in Path(self.folder.name).iterdir():
            self.assertNotRegex(file.read_text(), r"@[A-Z_]+@", file.name)

    def test_every_application_of_many_is_asked(self):
        for name in ("js.weft", "js.workerd"):
            _, targets = js_servers.many_command(name, Path("program"), self.ground, 5)
            self.assertEqual(len(set(targets)), 5)

    def test_the_body_of_a_request_is_as_long_as_it_says(self):
        head, _, body = js_servers.json_request().partition("\n\n")
        self.assertIn(f"Content-Length: {len(body)}", head)
        self.assertGreaterEqual(len(body), js_servers.JSON_BYTES)

    def test_a_row_is_asked_for_without_the_prefix_of_the_tables(self):
        self.assertEqual(JS.plain("js-plaintext.p50"), "plaintext.p50")
        self.assertEqual(HTTP.plain("plaintext"), "plaintext")

    def test_every_runtime_can_be_started(self):
        for peer in JS.peers:
            self.assertTrue(peer.is_floor or peer.built_as in js_servers.COMMANDS, peer.name)

    def test_a_check_downloads_nothing(self):
        built = building.build_all({"js.none"} | set(building.npm_programs()), quiet,
                                   download=False)
        for name, program in building.npm_programs().items():
            if not program.is_fresh():
                self.assertRegex(built[name].reason, "not installed yet")

    def test_another_version_is_not_the_peer(self):
        program = Path(self.folder.name) / "node"
        program.write_text("#!/bin/sh\necho v18.1.0\n")
        program.chmod(0o755)
        self.assertIn("v18.1.0", building.find_version("js.node20", program).reason)


class Catalog(unittest.TestCase):
    def test_ours_answers_every_metric(self):
        for suite in SUITES:
            for metric in suite.metrics:
                self.assertEqual(peers_of(metric, suite.peers)[0].name, "weft1")

    def test_no_row_is_in_two_suites(self):
        rows = [row for suite in SUITES for row in suite.rows()]
        self.assertEqual(len(rows), len(set(rows)))

    def test_every_peer_has_a_program(self):
        programs = {**building.make_programs(), **building.INSTALLED, **building.OURS}
        for suite in SUITES:
            for peer in suite.peers:
                self.assertIn(peer.built_as, programs)


class Cost(unittest.TestCase):
    CALLGRIND = """ob=/lib/libweft.so
fn=weft::work()
0x10 0 5
0x14 0 3
cob=/lib/libc.so
cfn=malloc
calls=2 0x99
0x18 0 100
0x18 0 1
ob=/lib/libslow_clock.so
fn=clock_gettime
0x20 0 50
"""

    def read(self, text: str) -> profile.Profile:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "row-01").write_text(text)
            (Path(folder) / "row-02").write_text(text.replace("weft::work", profile.MONITOR))
            return profile.read_profile(Path(folder) / "row")

    def test_what_is_called_counts_where_it_is_and_the_slow_clock_and_the_monitor_not_at_all(self):
        figures = profile.figures_of(self.read(self.CALLGRIND), operations=1)
        self.assertEqual((figures.instructions, figures.ours, figures.allocations), (9, 9, 2))

    def test_what_two_runs_share_is_taken_away(self):
        few, many = self.read(self.CALLGRIND), self.read(self.CALLGRIND.replace("0 5", "0 105"))
        self.assertEqual(profile.figures_of(many.minus(few), operations=10).instructions, 10)

    def test_only_growth_beyond_three_percent_is_a_failure(self):
        row, before = rows.ROWS[0], {"instructions": 1000.0, "locked": 0.0}
        self.assertEqual(rows.grown(row, {"instructions": 1030.0, "locked": 0.04}, before), [])
        worse = rows.grown(row, {"instructions": 1040.0, "locked": 1.0}, before)
        self.assertEqual(len(worse), 2)

    def test_rows_have_names_of_their_own_and_targets_for_known_figures(self):
        self.assertEqual(len({row.name for row in rows.ROWS}), len(rows.ROWS))
        for row in rows.ROWS:
            self.assertLessEqual(set(row.targets) | set(row.judged), set(rows.FIGURES))


if __name__ == "__main__":
    unittest.main()
