"""The figures so far, in bench/results.json.

The file is committed, beside the table that is made from it: a run of a few metrics then renews
just those rows, also in a fresh clone, and every table can be checked against the single rounds.
"""

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from .building import BENCH

RESULTS_FILE = BENCH / "results.json"


@dataclass
class Results:
    machine: dict[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    runs: list[dict] = field(default_factory=list)  # id, date, command, rounds, load
    # row → peer → {"run": id, "values": [...]} or {"run": id, "unavailable": reason}
    rows: dict[str, dict[str, dict]] = field(default_factory=dict)

    def median(self, row: str, peer: str) -> float | None:
        values = self.values(row, peer)
        return statistics.median(values) if values else None

    def values(self, row: str, peer: str) -> list[float]:
        return self.rows.get(row, {}).get(peer, {}).get("values", [])

    def reason(self, row: str, peer: str) -> str | None:
        return self.rows.get(row, {}).get(peer, {}).get("unavailable")

    def run_of(self, row: str, peer: str) -> int | None:
        return self.rows.get(row, {}).get(peer, {}).get("run")

    def record(self, run: int, row: str, peer: str, values: list[float]) -> None:
        self.rows.setdefault(row, {})[peer] = {"run": run, "values": values}

    def record_failure(self, run: int, row: str, peer: str, reason: str) -> None:
        self.rows.setdefault(row, {})[peer] = {"run": run, "unavailable": reason}

    def begin_run(self, date: str, command: str, rounds: int, load: float) -> int:
        number = max((run["id"] for run in self.runs), default=0) + 1
        self.runs.append({"id": number, "date": date, "command": command, "rounds": rounds,
                          "load": round(load, 2)})
        return number

    def drop_unused_runs(self) -> None:
        used = {entry["run"] for peers in self.rows.values() for entry in peers.values()}
        self.runs = [run for run in self.runs if run["id"] in used]


def load(machine: dict[str, str], say, path: Path = RESULTS_FILE) -> Results:
    """Figures of another machine are not kept: a ratio across machines means nothing."""
    if not path.exists():
        return Results(machine)
    stored = Results(**json.loads(path.read_text()))
    if stored.machine != machine:
        say(f"{path.name} is of another machine or kernel: starting a new table")
        return Results(machine)
    return stored


def save(results: Results, path: Path = RESULTS_FILE) -> None:
    results.drop_unused_runs()
    whole = json.dumps(vars(results), indent=1, ensure_ascii=False)
    path.write_text(whole + "\n")
