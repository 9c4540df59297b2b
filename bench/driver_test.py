#!/usr/bin/env python3
"""Tests of the driver: reading output, judging targets, merging runs, telling what is missing."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from driver import measuring, report, results
from driver.building import Unavailable
from driver.catalog import METRICS, PEERS, Peer, all_rows, metric_named, peers_of
from driver.targets import TARGETS, Ahead, AtMost, Scaling, Within, verdict

MACHINE = {"cpu": "test"}


def peer_named(name: str) -> Peer:
    return next(peer for peer in PEERS if peer.name == name)


def quiet(_: str) -> None:
    pass


class Output(unittest.TestCase):
    def test_all_rows_of_a_metric_are_read_and_other_lines_passed_over(self):
        text = "hello\ngo1 sleep 4.5 ms\ngo1 sleep_cpu 3 ms\ngo2 sleep 9 ms\n"
        figures = measuring.parse_lines(text, peer_named("go1"), metric_named("sleep"))
        self.assertEqual(figures, {"sleep": 4.5, "sleep_cpu": 3.0})

    def test_a_missing_line_is_a_failure_with_a_reason(self):
        with self.assertRaisesRegex(measuring.Failed, "no line `go1 yield"):
            measuring.parse_lines("", peer_named("go1"), metric_named("yield"))

    def test_a_program_that_hangs_is_ended(self):
        short = replace(metric_named("yield"), timeout_seconds=0.2)
        with self.assertRaisesRegex(measuring.Failed, "not finished"):
            measuring.output_of(peer_named("go1"), short, ["sleep", "60"])

    def test_a_program_that_fails_says_why(self):
        command = ["sh", "-c", "echo no memory >&2; exit 3"]
        with self.assertRaisesRegex(measuring.Failed, "ended with 3: no memory"):
            measuring.output_of(peer_named("go1"), metric_named("yield"), command)

    def test_a_program_that_cannot_be_built_gives_its_reason(self):
        built = {"go": Unavailable("go is not installed")}
        with self.assertRaisesRegex(measuring.Failed, "go is not installed"):
            measuring.measure(peer_named("go1"), metric_named("yield"), built)

    def test_memory_that_could_not_be_warmed_is_told(self):
        with self.assertRaisesRegex(measuring.Failed, "could not be warmed"):
            measuring.warm_memory(metric_named("spawn"), {"floor": "false"})


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
        names = {peer.name for peer in PEERS}
        for target in TARGETS:
            self.assertIn(target.row, all_rows())
            for peer in (getattr(target, "ours", "weft1"), getattr(target, "peer", "weft1")):
                self.assertIn(peer, names)


class Merging(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name) / "results.json"

    def saved(self, machine=None):
        table = results.load(machine or MACHINE, quiet, self.file)
        run = table.begin_run("a day", "make bench", 3, 0.0)
        return table, run

    def test_a_later_run_renews_its_rows_and_keeps_the_others(self):
        table, run = self.saved()
        table.record(run, "yield", "go1", [1, 2, 3])
        table.record(run, "spawn", "go1", [5])
        results.save(table, self.file)
        table, run = self.saved()
        table.record(run, "yield", "go1", [9])
        results.save(table, self.file)
        table = results.load(MACHINE, quiet, self.file)
        self.assertEqual(table.values("yield", "go1"), [9])
        self.assertEqual(table.median("spawn", "go1"), 5)
        self.assertEqual(len(table.runs), 2)

    def test_a_run_that_no_row_comes_from_is_forgotten(self):
        for value in (1, 2):
            table, run = self.saved()
            table.record(run, "yield", "go1", [value])
            results.save(table, self.file)
        self.assertEqual(len(results.load(MACHINE, quiet, self.file).runs), 1)

    def test_figures_of_another_machine_are_not_mixed_in(self):
        table, run = self.saved()
        table.record(run, "yield", "go1", [1])
        results.save(table, self.file)
        other = results.load({"cpu": "another"}, quiet, self.file)
        self.assertEqual(other.rows, {})


class Report(unittest.TestCase):
    def setUp(self):
        self.table = results.Results(MACHINE)
        self.run_id = self.table.begin_run("a day", "make bench", 3, 0.0)

    def lines(self, row: str) -> str:
        return "\n".join(report.table_of(self.table, row))

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

    def test_every_row_has_a_table(self):
        for row in all_rows():
            self.assertIn(f"## {row}", self.lines(row))


class Catalog(unittest.TestCase):
    def test_ours_answers_every_metric(self):
        for metric in METRICS:
            self.assertEqual(peers_of(metric, PEERS)[0].name, "weft1")


if __name__ == "__main__":
    unittest.main()
