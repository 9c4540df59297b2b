"""What is measured, and with whom: the metrics, their sizes, and the peers.

Every size stands here once: the driver passes it to each program, so that all do equal work.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    count: int
    what: str
    kind: str = "program"  # program, echo, idle, sim, http…: how measuring.py runs it
    also: tuple[str, ...] = ()  # further rows that the same run prints
    timeout_seconds: int = 60
    messages_each: int = 0  # echo: `count` is the connections
    warm_memory: bool = False  # see measuring.warm_memory
    load: dict[str, str | float] = field(default_factory=dict)  # http: options of http_load
    upstream: bool = False  # http: a server stands behind the one that is measured
    workload: str = ""  # js: the handler; a server has one
    columns: tuple[str, ...] = ()  # further figures of the same run, beside the row's own

    def rows(self) -> tuple[str, ...]:
        return (self.name, *self.also)

    def column_rows(self) -> tuple[str, ...]:
        return tuple(column_row(self.name, column) for column in self.columns)


def column_row(row: str, column: str) -> str:
    return f"{row}.{column}"


METRICS = [
    Metric("yield", "ns/switch", 10_000_000,
           "two fibers for each worker yield in turn; wall time over all switches"),
    Metric("spawn", "ns/fiber", 1_000_000,
           "1 M fibers that end at once are queued, then all have run", warm_memory=True),
    Metric("spawnjoin", "ns/fiber", 1_000_000, "spawn one fiber, join it, repeat"),
    Metric("fib", "ns/fiber", 100_000,
           "100k fibers compute fib(20) and yield 10 times; only the scaling from 1 to 2 workers "
           "compares, the languages compile fib differently"),
    Metric("chan0", "ns/item", 3_000_000, "one sender streams to one receiver, unbuffered"),
    Metric("chan128", "ns/item", 5_000_000, "the same through a buffer of 128"),
    Metric("ping0", "ns/rtt", 2_000_000, "round trip between two fibers, two unbuffered channels"),
    Metric("ping128", "ns/rtt", 2_000_000, "the same through buffers of 128"),
    Metric("mpmc", "ns/item", 5_000_000, "4 senders, 4 receivers, one channel of 128"),
    Metric("mutex", "ns/lock", 5_000_000, "100 fibers × 10,000 lock + unlock of one mutex"),
    Metric("sleep", "ms", 1_000_000, "1 M fibers sleep 1 to 1000 ms each: wall time until all woke",
           also=("sleep_cpu", "sleep_rss"), timeout_seconds=120, warm_memory=True),
    Metric("timer", "ns/timer", 1_000_000, "set a timer of an hour and cancel it"),
    Metric("skynet", "ms", 1_000_000,
           "a tree of fibers, 10 children a node, down to 1 M leaves; sums come back up",
           timeout_seconds=120, warm_memory=True),
    Metric("park", "B/fiber", 1_000_000,
           "memory of 1 M parked fibers: pages and page tables, each", timeout_seconds=120),
    Metric("park20k", "B/fiber", 20_000, "the same with 20k parked fibers"),
    Metric("group", "ns/group", 100_000,
           "a group of 16 jobs that end at once: made, started, waited for"),
    Metric("task", "ns/task", 500_000, "start one task with a value, wait for it, repeat"),
    Metric("pool", "ns/job", 2_000_000,
           "jobs that end at once through a pool of 4 workers and a queue of 128"),
    Metric("timeout", "ns/call", 500_000,
           "one job with a timeout of an hour, which ends at once, repeat"),
    Metric("context", "ns/context", 2_000_000,
           "derive a context from one that can be cancelled, cancel it, ask it why"),
    Metric("contexts", "B/context", 100_000,
           "memory of 100k live contexts below one, each; without the array that holds them"),
    Metric("echo1k", "us/msg", 1_000,
           "TCP echo of 64 B, 1,000 connections, one message in flight each: server CPU a message",
           kind="echo", messages_each=300),
    Metric("echo10k", "us/msg", 10_000, "the same with 10,000 connections",
           kind="echo", messages_each=50),
    Metric("idle", "wakeups/s", 10_000,
           "context switches of all threads while 10k fibers are parked, over 5 s", kind="idle"),
    Metric("sim", "steps/s", 1_000,
           "scheduling steps of the simulation on one core, over 1,000 seeds of all scenarios",
           kind="sim", timeout_seconds=120),
]

# The same runs print these; they are tables of their own in the report.
EXTRA_ROWS = {
    "sleep_cpu": ("ms", "CPU time of the sleep run"),
    "sleep_rss": ("MB", "peak resident memory of the sleep run"),
}


@dataclass(frozen=True)
class Peer:
    family: str
    workers: int
    workers_variable: str
    lacks: dict[str, str] = field(default_factory=dict)  # metric → why this peer has no figure
    only: tuple[str, ...] = ()  # not empty: it has these metrics and no other
    notes: dict[str, str] = field(default_factory=dict)  # metric → how its work differs
    program: str = ""  # of building.py; empty: named like the family
    is_floor: bool = False  # no peer, but what the kernel or a library leaves
    label: str = ""  # its name; empty: the family and the workers

    @property
    def built_as(self) -> str:
        return self.program or self.family

    @property
    def name(self) -> str:
        return self.label or f"{self.family}{self.workers}"

    def is_ours(self) -> bool:
        return self.family == "weft"

    def why_not(self, metric: str) -> str | None:
        """None when the peer has this metric; the reason otherwise ("" = of no interest here)."""
        if self.only:
            return None if metric in self.only else ""
        return self.lacks.get(metric)


OURS_ONLY = {"idle": "", "sim": ""}
# Beside Go alone: the others have no contexts.
STRUCTURED = dict.fromkeys(("group", "task", "pool", "timeout", "context", "contexts"), "")
ECHOES = ("echo1k", "echo10k")

STACKS_AT_SPAWN = "takes a stack at spawn; 1 M would need 9 GB (park20k has the figure)"
BOOST_LACKS = OURS_ONLY | STRUCTURED | {
    "sleep": STACKS_AT_SPAWN,
    "skynet": STACKS_AT_SPAWN,
    "park": STACKS_AT_SPAWN,
    "timer": "Boost.Fiber has no timer that can be set and cancelled",
    "echo1k": "Boost.Fiber has no I/O",
    "echo10k": "Boost.Fiber has no I/O",
}
BOOST_NOTES = {"spawn": "at most 10k alive at a time, in its favour: 1 M stacks would need 9 GB"}

NO_CHANNEL = "Asio of Boost 1.74 has no channel"
ASIO_LACKS = OURS_ONLY | STRUCTURED | {
    "chan0": NO_CHANNEL,
    "chan128": NO_CHANNEL,
    "ping0": NO_CHANNEL,
    "ping128": NO_CHANNEL,
    "mpmc": NO_CHANNEL,
    "mutex": "Asio has no asynchronous mutex",
    "skynet": "Asio of Boost 1.74 cannot join many coroutines",
    "park20k": "",
}
STACKLESS = {"park": "stackless: no stack of its own", "sleep_rss": "stackless"}

TOKIO_LACKS = OURS_ONLY | STRUCTURED | {"park20k": ""}
TOKIO_NOTES = STACKLESS | {
    "yield": "yield_now defers the task past a poll of the driver: more than a switch",
    "chan0": "capacity 1: Tokio has no rendezvous channel",
    "ping0": "capacity 1: Tokio has no rendezvous channel",
    "mpmc": "async-channel crate: Tokio's own channel has one receiver",
    "mutex": "fair: once one task waits, the lock is handed on in turn",
    "skynet": "join handles instead of channels",
}


def make_peers() -> list[Peer]:
    """Ours first; the order is the order of the round robin and of the tables."""
    peers = [Peer("weft", workers, "WEFT_WORKERS") for workers in (1, 2)]
    peers += [Peer("go", workers, "GOMAXPROCS", lacks=OURS_ONLY) for workers in (1, 2)]
    peers += [Peer("boost", workers, "WORKERS", lacks=BOOST_LACKS, notes=BOOST_NOTES)
              for workers in (1, 2)]
    peers += [Peer("asio", 1, "WORKERS", lacks=ASIO_LACKS, notes=STACKLESS)]
    peers += [Peer("tokio", workers, "WORKERS", lacks=TOKIO_LACKS, notes=TOKIO_NOTES)
              for workers in (1, 2)]
    peers += [Peer("epoll", 1, "WORKERS", only=ECHOES), Peer("uring", 1, "WORKERS", only=ECHOES)]
    peers += [Peer("floor", 1, "WORKERS", only=("sleep", "sleep_cpu", "sleep_rss"),
                   label="floor")]
    return peers


PEERS = make_peers()

# Named in the targets, but without a package to build from.
NEVER_AVAILABLE = {"photon": "PhotonLibOS has no Debian package; its column was for orientation"}


def peers_of(metric: Metric, peers: list[Peer]) -> list[Peer]:
    if metric.kind == "sim":
        return [peer for peer in peers if peer.name == "weft1"]
    return [peer for peer in peers if peer.why_not(metric.name) is None]


# Figures that stand beside those of a row.
COLUMN_UNITS = {"rate": "1/s", "p50": "us", "p99": "us", "cpu": "us"}


@dataclass(frozen=True)
class Suite:
    """What one make target measures; all suites share one report."""

    name: str
    command: str
    metrics: list[Metric]
    peers: list[Peer]
    workers: tuple[int, ...]  # of ours, for the summary
    extra_rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    prefix: str = ""  # of its rows in the tables, where another suite has the same names
    folder: str = ""  # of its results, below those of the others

    def plain(self, row: str) -> str:
        """A row's name as it is asked for and printed."""
        return row.removeprefix(self.prefix)

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    def unit_and_text(self, row: str) -> tuple[str, str]:
        if row in self.extra_rows:
            return self.extra_rows[row]
        metric = self.metric(row)
        return metric.unit, metric.what

    def unit(self, row: str) -> str:
        """Of a row or of one of its columns."""
        _, dot, column = row.partition(".")
        return COLUMN_UNITS[column] if dot else self.unit_and_text(row)[0]

    def rows(self) -> list[str]:
        return [row for metric in self.metrics for row in metric.rows()]

    def columns(self, row: str) -> tuple[str, ...]:
        return () if row in self.extra_rows else self.metric(row).columns


FIBERS = Suite("fibers", "make bench", METRICS, PEERS, (1, 2), EXTRA_ROWS)
