"""Writes bench/RESULTS.md from the results: what was measured, on what, and what was reached."""

from .building import BENCH
from .catalog import NEVER_AVAILABLE, PEERS, Peer, all_rows, unit_and_text
from .results import Results
from .targets import Target, targets_of, verdict

REPORT_FILE = BENCH / "RESULTS.md"

HEAD = """# Results

Written by `make bench`; the single rounds are in [results.json](results.json). Medians, with the
smallest and largest round. *Ratio* is the peer's figure over ours with as many workers: above 1 we
are ahead. `*`: the two figures come from different runs, so their ratio is only a hint.
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


def peer_line(results: Results, row: str, peer: Peer) -> str | None:
    note = peer.notes.get(row, "")
    values = results.values(row, peer.name)
    if values:
        spread = f"{shown(min(values))} … {shown(max(values))}"
        median = shown(results.median(row, peer.name))
        return f"| {peer.name} | {median} | {spread} | {ratio_cell(results, row, peer)} | {note} |"
    why_not = peer.why_not(row)
    if why_not == "":
        return None
    reason = why_not or results.reason(row, peer.name)
    if reason is None:
        return f"| {peer.name} | – | | | not measured yet |"
    return f"| {peer.name} | UNAVAILABLE | | | {reason} |"


def target_lines(results: Results, row: str) -> list[str]:
    targets = targets_of(row)
    if not targets:
        return []
    lines = ["", "| target | |", "|---|---|"]
    lines += [f"| {target.text()} | {verdict(target, results.median)} |" for target in targets]
    return lines


def table_of(results: Results, row: str) -> list[str]:
    unit, what = unit_and_text(row)
    lines = [f"## {row}", "", f"{what[0].upper()}{what[1:]}; {unit}.", ""]
    lines += ["| peer | median | smallest … largest | ratio | remark |", "|---|--:|--:|--:|---|"]
    lines += filter(None, (peer_line(results, row, peer) for peer in PEERS))
    return lines + target_lines(results, row) + [""]


def best_peer(results: Results, row: str, workers: int) -> str:
    figures = [(results.median(row, peer.name), peer.name) for peer in PEERS
               if not peer.is_ours() and peer.workers == workers]
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


def summary(results: Results) -> list[str]:
    lines = ["## Summary", "",
             "| row | unit | weft1 | best of 1 worker | weft2 | best of 2 workers | targets met |",
             "|---|---|--:|--:|--:|--:|--:|"]
    for row in all_rows():
        ours = [results.median(row, f"weft{n}") for n in (1, 2)]
        cells = ["–" if value is None else shown(value) for value in ours]
        lines.append(f"| [{row}](#{row}) | {unit_and_text(row)[0]} | {cells[0]} | "
                     f"{best_peer(results, row, 1)} | {cells[1]} | {best_peer(results, row, 2)} | "
                     f"{count_met(results, targets_of(row))} |")
    return lines + [""]


def machine_lines(results: Results) -> list[str]:
    pairs = [*results.machine.items(), *results.versions.items()]
    lines = ["## Machine", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in pairs]
    for name, reason in NEVER_AVAILABLE.items():
        lines.append(f"| {name} | UNAVAILABLE: {reason} |")
    return lines + [""]


def run_lines(results: Results) -> list[str]:
    lines = ["## Runs", "", "| date | command | rounds | load before |", "|---|---|--:|--:|"]
    lines += [f"| {run['date']} | `{run['command']}` | {run['rounds']} | {run['load']} |"
              for run in results.runs]
    return lines + [""]


def write(results: Results) -> None:
    lines = [HEAD, *machine_lines(results), *run_lines(results), *summary(results)]
    for row in all_rows():
        lines += table_of(results, row)
    REPORT_FILE.write_text("\n".join(lines).rstrip() + "\n")
