"""What we want to reach, row by row: targets that judge the medians."""

from dataclasses import dataclass
from typing import Callable

# Gives the median of (row, peer), or None when it was not measured.
Lookup = Callable[[str, str], float | None]


@dataclass(frozen=True)
class AtMost:
    row: str
    ours: str
    limit: float

    def text(self) -> str:
        return f"{self.ours} ≤ {self.limit:g}"

    def value(self, median: Lookup) -> float | None:
        return median(self.row, self.ours)

    def met(self, value: float) -> bool:
        return value <= self.limit

    def shown(self, value: float) -> str:
        return f"{value:.4g}"


@dataclass(frozen=True)
class AtLeast(AtMost):
    def text(self) -> str:
        return f"{self.ours} ≥ {self.limit:g}"

    def met(self, value: float) -> bool:
        return value >= self.limit


@dataclass(frozen=True)
class Ahead:
    """The peer's figure is at least `factor` times ours."""

    row: str
    ours: str
    peer: str
    factor: float

    def text(self) -> str:
        return f"{self.ours} ≥ {self.factor:g}× faster than {self.peer}"

    def value(self, median: Lookup) -> float | None:
        return ratio(median(self.row, self.peer), median(self.row, self.ours))

    def met(self, value: float) -> bool:
        return value >= self.factor

    def shown(self, value: float) -> str:
        return f"{value:.2f}×"


@dataclass(frozen=True)
class Within:
    """Ours is at most `factor` times the peer's figure."""

    row: str
    ours: str
    peer: str
    factor: float

    def text(self) -> str:
        return f"{self.ours} ≤ {self.factor:g}× {self.peer}"

    def value(self, median: Lookup) -> float | None:
        return ratio(median(self.row, self.ours), median(self.row, self.peer))

    def met(self, value: float) -> bool:
        return value <= self.factor

    def shown(self, value: float) -> str:
        return f"{value:.2f}×"


@dataclass(frozen=True)
class Scaling:
    """Two workers are at least `factor` times as fast as one."""

    row: str
    family: str
    factor: float

    def text(self) -> str:
        return f"{self.family}2 ≥ {self.factor:g}× as fast as {self.family}1"

    def value(self, median: Lookup) -> float | None:
        return ratio(median(self.row, f"{self.family}1"), median(self.row, f"{self.family}2"))

    def met(self, value: float) -> bool:
        return value >= self.factor

    def shown(self, value: float) -> str:
        return f"{value:.2f}×"


Target = AtMost | Ahead | Within | Scaling


def ratio(above: float | None, below: float | None) -> float | None:
    if above is None or not below:
        return None
    return above / below


def both(row: str, one_worker: float, two_workers: float) -> list[Target]:
    return [AtMost(row, "weft1", one_worker), AtMost(row, "weft2", two_workers)]


def ahead_of(row: str, family: str, factor: float) -> list[Target]:
    return [Ahead(row, f"weft{n}", f"{family}{n}", factor) for n in (1, 2)]


def ahead_of_servers(row: str, **factors: float) -> list[Target]:
    return [Ahead(row, "weft1", f"{family}1", factor) for family, factor in factors.items()]


def js_targets(row: str, limit: float | None, **factors: float) -> list[Target]:
    limits = [] if limit is None else [AtMost(row, "weft1", limit)]
    return [*limits, *(Ahead(row, "weft1", peer, factor) for peer, factor in factors.items())]


def from_js(row: str, **factors: float) -> list[Target]:
    return [Ahead(row, "weft-js", peer, factor) for peer, factor in factors.items()]


def echo_targets(row: str) -> list[Target]:
    return [
        Within(row, "weft1", "epoll1", 1.05),
        Ahead(row, "weft1", "go1", 1.4),
        Within(row, "weft1", "tokio1", 1.0),
        Within(row, "weft2", "tokio2", 1.0),
    ]


TARGETS: list[Target] = [
    *both("yield", 6, 8), *ahead_of("yield", "go", 5),
    *both("spawnjoin", 35, 60), *ahead_of("spawnjoin", "go", 6),
    AtMost("spawn", "weft1", 100), Ahead("spawn", "weft2", "go2", 1.6),
    Scaling("fib", "weft", 1.9),
    *both("chan0", 22, 35), *ahead_of("chan0", "go", 4),
    *both("chan128", 7, 12), *ahead_of("chan128", "boost", 3),
    *both("ping0", 45, 70), *ahead_of("ping0", "go", 4), *ahead_of("ping0", "tokio", 3),
    *both("mpmc", 10, 20),
    *both("mutex", 5, 10),
    Within("sleep", "weft1", "floor", 1.15), *ahead_of("sleep", "go", 1.5),
    *both("timer", 20, 20), *ahead_of("timer", "go", 4),
    *both("skynet", 120, 90), *ahead_of("skynet", "go", 5.5),
    *both("park", 4600, 4600),
    *ahead_of("group", "go", 2), *ahead_of("task", "go", 2), *ahead_of("pool", "go", 2),
    *ahead_of("timeout", "go", 3), *ahead_of("context", "go", 3),
    *both("contexts", 200, 200),
    *echo_targets("echo1k"), *echo_targets("echo10k"),
    *both("idle", 0, 0),
    AtLeast("sim", "weft1", 1_000_000),
    AtMost("plaintext", "weft1", 6.6),
    *ahead_of_servers("plaintext", nginx=1.15, go=1.75, hyper=1.1),
    Within("plaintext", "weft1", "epoll1", 1.15),
    *ahead_of_servers("pipelined", nginx=2, hyper=1.1),
    AtMost("file10k", "weft1", 9), *ahead_of_servers("file10k", nginx=1.15),
    AtMost("body1m", "weft1", 190),
    AtMost("proxy", "weft1", 14), *ahead_of_servers("proxy", haproxy=1.25),
    AtMost("load80", "weft1", 2),
    AtMost("sse", "weft1", 6.5), Within("sse", "weft1", "epoll1", 1.4),
    AtMost("idle10k", "weft1", 512),
    *ahead_of_servers("handshake", nginx=0.95), *ahead_of_servers("tls", nginx=1.1),
    *js_targets("js-plaintext", 6.8, bun=1.15, deno=1.03, node24=2.2),
    Within("js-plaintext", "weft1", "epoll1", 1.2),
    *js_targets("js-pipelined", None, bun=1.5),
    *js_targets("js-json", 17, deno=1.7),
    *js_targets("js-headers", 9, bun=1.5),
    *js_targets("js-sleep5", 8), *js_targets("js-chain", 7.4),
    *js_targets("js-fanout", 42, deno=3, bun=3.5, go=2),
    *js_targets("js-stream", 330), *js_targets("js-file", 11),
    *js_targets("js-proxy", 16, bun=1.5),
    *js_targets("js-coldstart", 29), *js_targets("js-rss_idle", 34),
    *js_targets("js-rss_load", 50),
    *js_targets("js-isolate_ms", 3.3), *js_targets("js-isolate_mib", 1.6),
    Within("data-pg_select", "weft1", "libpq", 1 / 0.97),
    *from_js("data-pg_select", bun=1, postgresjs=2.5),
    Within("data-pg_batch20", "weft1", "libpq", 1 / 0.9), *from_js("data-pg_batch20", bun=3),
    *from_js("data-pg_tx3", bun=2.5), *from_js("data-pg_rows10k", bun=1),
    *from_js("data-pg_stream1m", bun=1.3), AtMost("data-cursor_ndjson", "weft-js", 400),
    *from_js("data-sqlite_select", bun=0.8), *from_js("data-sqlite_scan", node=3),
    Within("data-sqlite_insert", "weft1", "c", 1 / 0.9),
    AtMost("data-cancel_ms", "weft1", 3), AtMost("data-cancel_ms", "weft-js", 3),
]


def targets_of(row: str) -> list[Target]:
    return [target for target in TARGETS if target.row == row]


def verdict(target: Target, median: Lookup) -> str:
    value = target.value(median)
    if value is None:
        return "not measured"
    word = "met" if target.met(value) else "MISSED"
    return f"{word} ({target.shown(value)})"
