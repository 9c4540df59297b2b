"""What is counted, with the targets, and the runs that it is counted in."""

from dataclasses import dataclass, field

FIGURES = {  # by their names in the tables and in the baseline
    "instructions": "instructions",
    "locked": "locked",
    "system calls": "system_calls",
    "allocations": "allocations",
    "clock reads": "clock_reads",
}
GROWTH_MAX = 1.03
# What rounding and a late timer make of a figure that is near zero.
SLACK = 0.05


@dataclass(frozen=True)
class Row:
    """An operation. It is counted in two runs that differ in `few` and `many` of it alone; one that
    has to warm up, in a single run, from when that is done."""

    name: str
    what: str
    few: int
    many: int
    workload: str = ""  # of weft_bench
    mode: str = ""      # of cost_waves; then few and many are waves
    connections: int = 1
    server: str = ""    # of weft-bench-http
    handler: str = ""   # of bench/peers/js; then weft serves it
    over: str = ""      # the figures are what this row has beyond that one
    workers: int = 1
    warm: int = 0       # waves until the compilers are done; `few` are then not counted, `many` are
    slowness: int = 50  # of the clock
    tries: int = 1  # the least counts: what chance adds is more looks at the reactor
    ours_only: bool = False  # the instructions in libweft: the program's own work is not the point
    locks_of: str = ""  # only the locked instructions in functions with this in their names
    targets: dict[str, float] = field(default_factory=dict)
    # What may not grow. What another thread makes of it by chance is shown and not judged.
    judged: tuple[str, ...] = tuple(FIGURES)

    def operations(self) -> int:
        counted = self.many if self.warm else self.many - self.few
        return counted * (self.connections if self.mode else 1)


ROWS = [
    Row("plaintext", "an HTTP request of 13 bytes", few=20, many=120, mode="http", connections=64,
        targets={"instructions": 3500, "locked": 8, "allocations": 0, "clock reads": 0.1}),
    Row("loop", "the same, answered in the loop", few=20, many=120, mode="http", connections=64,
        server="loop",
        targets={"instructions": 3000, "locked": 6, "allocations": 0, "clock reads": 0.1}),
    Row("js-plaintext", "the same by a handler in JavaScript: over plaintext", warm=400, few=5,
        many=40, mode="http", connections=64, handler="plaintext", over="plaintext",
        targets={"instructions": 4500, "locked": 15}, judged=()),
    Row("js-await", "the same after ten awaits: over plaintext", warm=400, few=5, many=40,
        mode="http", connections=64, handler="chain", over="plaintext", judged=()),
    Row("js-fetch", "a proxy by `return fetch(…)`: over plaintext", warm=200, few=5, many=20,
        mode="http", connections=64, handler="proxy", over="plaintext", judged=()),
    Row("echo", "a message of 64 bytes and back", few=20, many=220, mode="echo", connections=64,
        targets={"instructions": 800, "locked": 6}),
    Row("sse", "an event to one client, in libweft", few=5, many=20, mode="events",
        connections=200, slowness=1, tries=3, ours_only=True,
        targets={"instructions": 700, "locked": 4},
        judged=("instructions", "locked", "allocations")),
    Row("pool", "a job of a pool at two workers; its lock", few=20_000, many=80_000,
        workload="pool", workers=2, locks_of="PoolCore", targets={"locked": 1},
        judged=("locked", "allocations")),
    Row("channel", "an item through a buffered channel", few=100_000, many=300_000,
        workload="chan128", targets={"instructions": 55, "locked": 2}),
]


def shown(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"


def grown(row: Row, values: dict[str, float], before: dict[str, float]) -> list[str]:
    """What has become worse, for people."""
    return [f"{row.name}: {name} {shown(before[name])} -> {shown(values[name])}"
            for name in row.judged
            if name in before and values[name] > before[name] * GROWTH_MAX + SLACK]
