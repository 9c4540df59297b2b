"""The JavaScript runtimes: what is asked of them, and which they are. See catalog.py."""

from .building import OUTPUT
from .catalog import Metric, Peer, Suite

PREFIX = "js-"
REQUEST = "us/req"
COLUMNS = ("rate", "p50", "p99")
WARM_SECONDS = 1  # for the compilers of the engines
STREAM_BYTES = 64 * 16 * 1024
REQUESTS = OUTPUT / "requests"  # see js_servers.make_requests


def row(name: str, what: str, path: str = "/", workload: str = "", connections: int = 64,
        upstream: bool = False, **load) -> Metric:
    return Metric(PREFIX + name, REQUEST, connections, what, kind="http", upstream=upstream,
                  workload=workload or name, columns=COLUMNS,
                  load={"path": path, "warm": WARM_SECONDS} | load)


def figure(name: str, unit: str, count: int, what: str) -> Metric:
    return Metric(PREFIX + name, unit, count, what, kind=name, workload="plaintext")


JS_METRICS = [
    row("plaintext", "a handler that answers 13 bytes of text, 64 connections kept alive: server "
        "CPU a request", path="/plaintext"),
    row("pipelined", "the same, 16 requests at a time on each connection; p50 and p99 are those of "
        "the 16 together", path="/plaintext", workload="plaintext", depth=16),
    row("json", "a body of 1 KiB of JSON is read, parsed, changed, and sent back",
        request=REQUESTS / "json"),
    row("headers", "the URL is parsed, two of its parameters and eight headers are read",
        request=REQUESTS / "headers"),
    row("sleep5", "a timer of 5 ms is awaited, 512 connections", connections=512),
    row("chain", "ten async functions are awaited, one after another"),
    row("fanout", "three fetches at once of 1 KiB each from an upstream, their texts joined",
        upstream=True),
    row("stream", "a ReadableStream of 64 chunks of 16 KiB", least=STREAM_BYTES),
    row("file", "a file of 10 KiB through a Response", path="/10k.bin"),
    row("proxy", "`return fetch(…)` of an upstream that answers 1 KiB", path="/1k", upstream=True),
    figure("coldstart", "ms", 1, "from the start of the process to its first 200"),
    figure("rss_idle", "MiB", 1, "resident after the first answer, with page tables"),
    Metric(PREFIX + "rss_load", "MiB", 64, "the same after the load of the row plaintext",
           kind="rss_load", workload="plaintext",
           load={"path": "/plaintext", "warm": WARM_SECONDS}),
    figure("isolate_ms", "ms/isolate", 20, "one more application in the process: until all of 20 "
           "have answered, less that of one, each"),
    figure("isolate_mib", "MiB/isolate", 20, "its resident memory, counted likewise"),
]

ISOLATES = (f"{PREFIX}isolate_ms", f"{PREFIX}isolate_mib")
BARE = tuple(PREFIX + name for name in ("plaintext", "pipelined", "file", "proxy"))
AS_WORKERS = dict.fromkeys(ISOLATES, "a Worker, which is a thread too; the next begins when it is "
                                     "ready")
IN_PLACE = {f"{PREFIX}proxy": "its ReverseProxy"}
FROM_DISK = {f"{PREFIX}file": "its service of a folder, no JavaScript"}
NODE_NOTES = AS_WORKERS | {f"{PREFIX}proxy": "fetch, then node:http's answer of the whole body"}
GO_LACKS = dict.fromkeys(ISOLATES, "has no isolates") | {f"{PREFIX}chain": "has no promises"}
BARE_NOTES = {f"{PREFIX}file": "from memory",
              f"{PREFIX}proxy": "an upstream connection for each client, nothing is parsed"}


def runtime(label: str, notes: dict[str, str], family: str = "",
            lacks: dict[str, str] | None = None) -> Peer:
    return Peer(family or label, 1, "GOMAXPROCS", notes=notes, lacks=lacks or {}, label=label,
                program=f"js.{label}")


JS_PEERS = [
    Peer("weft", 1, "WEFT_WORKERS", program="js.weft"),
    Peer("epoll", 1, "WORKERS", only=BARE, notes=BARE_NOTES, program="http.epoll", is_floor=True),
    runtime("node20", NODE_NOTES, family="node"),
    runtime("node24", NODE_NOTES, family="node"),
    runtime("deno", AS_WORKERS),
    runtime("bun", AS_WORKERS),
    runtime("workerd", FROM_DISK),
    runtime("go", IN_PLACE, lacks=GO_LACKS),
]

JS = Suite("js", "make bench-js", JS_METRICS, JS_PEERS, (1,), prefix=PREFIX,
           folder="js")
