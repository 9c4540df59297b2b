"""The HTTP servers: what is asked of them, and which they are. See catalog.py."""

from .catalog import Metric, Peer, Suite

REQUEST = "us/req"
COLUMNS = ("rate", "p50", "p99")

HTTP_METRICS = [
    Metric("plaintext", REQUEST, 64,
           "13 bytes of text, 64 connections kept alive: server CPU a request",
           kind="http", load={"path": "/plaintext"}, columns=COLUMNS),
    Metric("pipelined", REQUEST, 64, "the same, 16 requests at a time on each connection; p50 and "
           "p99 are those of the 16 together",
           kind="http", load={"path": "/plaintext", "depth": 16}, columns=COLUMNS),
    Metric("file10k", REQUEST, 64, "a static file of 10 KiB",
           kind="http", load={"path": "/10k.bin"}, columns=COLUMNS),
    Metric("body1m", REQUEST, 64, "a body of 1 MiB",
           kind="http", load={"path": "/1m.bin"}, columns=COLUMNS),
    Metric("proxy", REQUEST, 64, "reverse proxy of an upstream that answers 1 KiB",
           kind="http", load={"path": "/1k"}, upstream=True, columns=COLUMNS),
    Metric("load80", "×", 64, "plaintext at 80 % of what the server does at most, sent at fixed "
           "moments: p99 over p50 in the median of all 20 ms (p50 and p99 are of the whole run)",
           kind="rate", load={"path": "/plaintext", "mode": "rate"},
           columns=("rate", "p50", "p99", "cpu")),
    Metric("sse", "% of a core", 1_000, "1,000 clients that get 10 events a second each: CPU",
           kind="sse", load={"path": "/events", "mode": "stream"}, columns=("rate",)),
    Metric("idle10k", "B/connection", 10_000,
           "resident memory of 10k connections that are kept alive after a request, each",
           kind="resident", load={"path": "/plaintext", "mode": "idle"}),
    Metric("handshake", "us/handshake", 64, "TLS 1.3, ECDSA P-256, X25519, no resumption: connect, "
           "handshake, one request; server CPU",
           kind="http", load={"path": "/plaintext", "mode": "handshakes", "tls": 1},
           columns=COLUMNS),
    Metric("tls", REQUEST, 64, "plaintext over TLS 1.3, connections kept alive",
           kind="http", load={"path": "/plaintext", "tls": 1}, columns=COLUMNS),
]

EVENTS_PER_SECOND = 10

PLAIN = ("plaintext", "pipelined", "load80", "idle10k")
FILES = ("file10k", "body1m")
TLS = ("handshake", "tls")

FROM_MEMORY = "from memory"
NODE_NOTES = {"body1m": FROM_MEMORY}
GO_NOTES = {"body1m": FROM_MEMORY}
HYPER_NOTES = {"file10k": FROM_MEMORY}
H2O_NOTES = {"plaintext": "a file of 13 bytes"}
NGINX_NOTES = {"idle10k": "without the 19,000 connections that it allocates at the start"}
EPOLL_NOTES = {"file10k": FROM_MEMORY, "sse": "one timer for all clients",
               "proxy": "an upstream connection for each client, nothing is parsed"}
SPEED_NOTES = {"handshake": "`openssl speed`: one signature and two X25519, no bytes sent"}

BASELINE = ("plaintext", "pipelined", "file10k")
THREAD_NOTES = dict.fromkeys(BASELINE, "ours, with a thread for each connection")


def server(family: str, only: tuple[str, ...], notes: dict[str, str], variable: str = "WORKERS",
           program: str = "", is_floor: bool = False) -> Peer:
    return Peer(family, 1, variable, only=only, notes=notes, program=program or f"http.{family}",
                is_floor=is_floor)


HTTP_PEERS = [
    Peer("weft", 1, "WEFT_WORKERS", program="http.weft"),
    server("threads", BASELINE, THREAD_NOTES, program="http.weft"),
    server("epoll", (*PLAIN, *FILES, "proxy", "sse"), EPOLL_NOTES, is_floor=True),
    server("nginx", (*PLAIN, *FILES, "proxy", *TLS), NGINX_NOTES),
    server("haproxy", ("proxy",), {}),
    server("h2o", ("plaintext", *FILES, "proxy"), H2O_NOTES),
    server("go", (*PLAIN, *FILES, "proxy", "sse", *TLS), GO_NOTES, variable="GOMAXPROCS"),
    server("node", ("plaintext", "body1m", "sse"), NODE_NOTES),
    server("hyper", ("plaintext", "pipelined", "file10k"), HYPER_NOTES),
    server("openssl", ("handshake",), SPEED_NOTES, is_floor=True),
]

HTTP = Suite("http", "make bench-http", HTTP_METRICS, HTTP_PEERS, (1,))
