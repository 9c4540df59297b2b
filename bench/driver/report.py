"""Writes bench/RESULTS.md from the results: what was measured, on what, and what was reached.

The summary of each machine stands there, its single tables in a page beside its results.
"""

from pathlib import Path

from .building import BENCH
from .catalog import COLUMN_UNITS, FIBERS, NEVER_AVAILABLE, Peer, Suite, column_row
from .data_catalog import DATA
from .http_catalog import HTTP
from .js_catalog import JS
from .results import RESULTS_FOLDER, Results, load_all, name_of
from .targets import Target, targets_of, verdict

REPORT_FILE = BENCH / "RESULTS.md"
SUITES = {suite.name: suite for suite in (FIBERS, HTTP, JS, DATA)}
TITLES = {"fibers": "Summary: fibers", "http": "Summary: HTTP servers",
          "js": "Summary: JavaScript", "data": "Summary: databases"}

HEAD = """# Results

Written by `make bench`, `make bench-http`, `make bench-js` and `make bench-data`, for each kind of
processor that they ran on; the single rounds are in [results/](results). Figures are medians. A
row's name leads to its table, with every peer.
"""

TABLES_HEAD = """# Results on {cpu}

Back to the [summary]({up}RESULTS.md). Medians, with the smallest and largest round. *Ratio* is the
peer's figure over ours with as many workers: above 1 we are ahead. `*`: the two figures come from
different runs, so their ratio is only a hint.
"""


def shown(value: float) -> str:
    """Four digits, without exponents."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def ours_beside(peer: Peer) -> str:
    return f"weft{peer.workers}"


def ratio_cell(results: Results, row: str, peer: Peer) -> str:
    ours, theirs = results.median(row, ours_beside(peer)), results.median(row, peer.name)
    if peer.is_ours() or not ours or theirs is None:
        return "–"
    same_run = results.run_of(row, peer.name) == results.run_of(row, ours_beside(peer))
    return f"{theirs / ours:.2f}×" + ("" if same_run else " `*`")


def column_cells(results: Results, row: str, peer: Peer, columns: tuple[str, ...]) -> str:
    medians = [results.median(column_row(row, column), peer.name) for column in columns]
    return "".join(f" {'–' if median is None else shown(median)} |" for median in medians)


def peer_line(results: Results, row: str, peer: Peer, columns: tuple[str, ...] = ()) -> str | None:
    note = peer.notes.get(row, "")
    values = results.values(row, peer.name)
    if values:
        spread = f"{shown(min(values))} … {shown(max(values))}"
        median = shown(results.median(row, peer.name))
        more = column_cells(results, row, peer, columns)
        return (f"| {peer.name} | {median} | {spread} | {ratio_cell(results, row, peer)} |"
                f"{more} {note} |")
    why_not = peer.why_not(row)
    if why_not == "":
        return None
    reason = why_not or results.reason(row, peer.name)
    more = " |" * len(columns)
    if reason is None:
        return f"| {peer.name} | – | | |{more} not measured yet |"
    return f"| {peer.name} | UNAVAILABLE | | |{more} {reason} |"


def target_lines(results: Results, row: str) -> list[str]:
    targets = targets_of(row)
    if not targets:
        return []
    lines = ["", "| target | |", "|---|---|"]
    lines += [f"| {target.text()} | {verdict(target, results.median)} |" for target in targets]
    return lines


def table_of(results: Results, suite: Suite, row: str) -> list[str]:
    unit, what = suite.unit_and_text(row)
    columns = suite.columns(row)
    names = "".join(f" {column}, {COLUMN_UNITS[column]} |" for column in columns)
    lines = [f"## {row}", "", f"{what[0].upper()}{what[1:]}; {unit}.", ""]
    lines += [f"| peer | median | smallest … largest | ratio |{names} remark |",
              f"|---|--:|--:|--:|{'--:|' * len(columns)}---|"]
    lines += filter(None, (peer_line(results, row, peer, columns) for peer in suite.peers))
    return lines + target_lines(results, row) + [""]


def best_peer(results: Results, suite: Suite, row: str, workers: int, floors: bool = False) -> str:
    """The best of the peers, or of what no server can get below."""
    figures = [(results.median(row, peer.name), peer.name) for peer in suite.peers
               if not peer.is_ours() and peer.workers == workers and peer.is_floor == floors]
    figures = [figure for figure in figures if figure[0] is not None]
    if not figures:
        return "–"
    value, name = min(figures)
    return f"{name} {shown(value)}"


def count_met(results: Results, targets: list[Target]) -> str:
    verdicts = [verdict(target, results.median) for target in targets]
    if not verdicts:
        return ""
    met = sum(text.startswith("met") for text in verdicts)
    return f"{met} of {len(verdicts)}"


def summary(results: Results, suite: Suite) -> list[str]:
    has_floors = any(peer.is_floor for peer in suite.peers)
    names = [name for n in suite.workers
             for name in (f"weft{n}", f"best of {n} worker{'s' if n > 1 else ''}")]
    names += ["floor"] if has_floors else []
    lines = [f"### {TITLES[suite.name]}", "",
             f"| row | unit | {' | '.join(names)} | targets met |",
             f"|---|---|{'--:|' * len(names)}--:|"]
    for row in suite.rows():
        cells = []
        for workers in suite.workers:
            ours = results.median(row, f"weft{workers}")
            cells += ["–" if ours is None else shown(ours),
                      best_peer(results, suite, row, workers)]
        cells += [best_peer(results, suite, row, 1, floors=True)] if has_floors else []
        link = f"{page_of(results, suite.folder).relative_to(BENCH)}#{row}"
        lines.append(f"| [{row}]({link}) | {suite.unit(row)} | {' | '.join(cells)} | "
                     f"{count_met(results, targets_of(row))} |")
    return lines + [""]


def machine_lines(results: Results, folder: str) -> list[str]:
    pairs = [*results.machine.items(), *results.versions.items()]
    part = f" ({folder})" if folder else ""
    lines = [f"## {results.machine['cpu']}{part}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in pairs]
    for name, reason in ({} if folder else NEVER_AVAILABLE).items():
        lines.append(f"| {name} | UNAVAILABLE: {reason} |")
    return lines + [""]


def run_lines(results: Results) -> list[str]:
    lines = ["| date | command | rounds | load before |", "|---|---|--:|--:|"]
    lines += [f"| {run['date']} | `{run['command']}` | {run['rounds']} | {run['load']} |"
              for run in results.runs]
    return lines + [""]


def page_of(results: Results, folder: str) -> Path:
    return RESULTS_FOLDER / folder / f"{name_of(results.machine)}.md"


def suites_in(folder: str) -> list[Suite]:
    return [suite for suite in SUITES.values() if suite.folder == folder]


def tables(results: Results, folder: str) -> list[str]:
    up = "../../" if folder else "../"
    lines = [TABLES_HEAD.format(cpu=results.machine["cpu"], up=up)]
    for suite in suites_in(folder):
        for row in suite.rows():
            lines += table_of(results, suite, row)
    return lines


def put(path, lines: list[str]) -> None:
    path.write_text("\n".join(lines).rstrip() + "\n")


def write() -> None:
    lines = [HEAD]
    for folder in dict.fromkeys(suite.folder for suite in SUITES.values()):
        for results in load_all(RESULTS_FOLDER / folder):
            put(page_of(results, folder), tables(results, folder))
            lines += [*machine_lines(results, folder), *run_lines(results)]
            for suite in suites_in(folder):
                lines += summary(results, suite)
    put(REPORT_FILE, lines)
