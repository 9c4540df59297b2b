"""The figures so far, in bench/results/: a file for each kind of processor.

The files are committed, beside the tables that are made from them: a run of a few metrics then
renews just those rows, also in a fresh clone, and every table can be checked against the single
rounds.
"""

import json
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from .building import BENCH

RESULTS_FOLDER = BENCH / "results"


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


def name_of(machine: dict[str, str]) -> str:
    """The processor's, as part of a file's name: "intel-xeon-processor"."""
    plain = machine["cpu"].lower().replace("(r)", "").replace("(tm)", "")
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def file_of(machine: dict[str, str], folder: Path = RESULTS_FOLDER) -> Path:
    return folder / f"{name_of(machine)}.json"


def read(path: Path) -> Results:
    return Results(**json.loads(path.read_text()))


def load(machine: dict[str, str], say, folder: Path = RESULTS_FOLDER) -> Results:
    """Figures of another machine are not mixed in: a ratio across machines means nothing."""
    path = file_of(machine, folder)
    if not path.exists():
        return Results(machine)
    stored = read(path)
    if stored.machine != machine:
        say(f"{path.name} is of another machine or kernel: starting a new table")
        return Results(machine)
    return stored


def load_all(folder: Path = RESULTS_FOLDER) -> list[Results]:
    return [read(path) for path in sorted(folder.glob("*.json"))]


def save(results: Results, folder: Path = RESULTS_FOLDER) -> None:
    results.drop_unused_runs()
    whole = json.dumps(vars(results), indent=1, ensure_ascii=False)
    folder.mkdir(parents=True, exist_ok=True)
    file_of(results.machine, folder).write_text(whole + "\n")
