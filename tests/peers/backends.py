"""The cases of the conformance tests, through our reverse proxy, to servers of others.

What the proxy refuses must not reach them, and what it passes on must be to them exactly the
request that it was to us: where two of them see different requests, one can be smuggled. Each case
comes from an address of its own, by which its requests are found in the log of the back end.
"""
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from servers import HERE, PATIENCE_S, await_port, free_port, load_conformance

conformance, CASES = load_conformance()
LATE_S = 0.3

# What these servers do not take, though it is proper.
NOT_TAKEN = {
    "nginx": {"options-asterisk"},
    "node": {"unknown-method-token"},
    "haproxy": {"unknown-method-token"},
}

NGINX = """
daemon off; master_process off; pid FOLDER/pid; error_log FOLDER/error.log;
events { worker_connections 512; }
http {
    client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy;
    fastcgi_temp_path FOLDER/fastcgi; uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
    log_format head '$http_x_forwarded_for head $request_method $request_uri';
    log_format whole '$http_x_forwarded_for $request_method $request_uri [$size]';
    map $content_length $size { default $content_length; "0" ""; }
    server {
        listen 127.0.0.1:PORT; access_log FOLDER/seen.log head; client_max_body_size 2m;
        location / {  # the body is read before it is passed on
            proxy_pass http://127.0.0.1:INNER; proxy_set_header Host $http_host;
        }
    }
    server {
        listen 127.0.0.1:INNER; access_log FOLDER/seen.log whole;
        location / { return 200 "$request_method $request_uri [$size]"; }
    }
}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend in
    bind 127.0.0.1:PORT
    default_backend out
backend out
    server node 127.0.0.1:INNER
"""


def write(path, text, **words):
    for word, value in words.items():
        text = text.replace(word, str(value))
    path.write_text(text)
    return path


def start_node(servers):
    folder, port = servers.new_folder("node"), free_port()
    await_port(servers.start(["node", HERE / "echo.js", port, folder / "seen.log"]), port)
    return port, folder / "seen.log"


def start_haproxy(servers):
    folder, port, inner = servers.new_folder("haproxy"), free_port(), free_port()
    log = folder / "seen.log"
    await_port(servers.start(["node", HERE / "echo.js", inner, log]), inner)
    settings = write(folder / "haproxy.cfg", HAPROXY, PORT=port, INNER=inner)
    await_port(servers.start(["haproxy", "-q", "-db", "-f", settings]), port)
    return port, log


def start_nginx(servers):
    folder, port, inner = servers.new_folder("nginx"), free_port(), free_port()
    settings = write(folder / "nginx.conf", NGINX, FOLDER=folder, PORT=port, INNER=inner)
    await_port(servers.start(["nginx", "-p", folder, "-c", settings]), port)
    return port, folder / "seen.log"


def expected_of(case, body_of):
    """What is to be answered; body_of() is the back end's idea of a body."""
    return [re.sub(r"\[(.+)\]$", lambda match: f"[{body_of(match[1])}]", one)
            for one in case.through_proxy or case.expect]


def requests_of(case, expected):
    """The requests that the back end shall see, apart from the marker."""
    seen = []
    for one in expected:
        status, _, request = one.partition(" ")
        if status.endswith("?"):
            continue
        if not status.startswith("2"):
            return seen
        method, target, *_ = case.data.decode("latin-1").split(" ")
        seen.append(request or f"{method} {target} []")
    return seen if case.finish else [*seen, "GET /last []"]


def is_refused_in_its_body(case):
    """Then the back end has seen its head, but never its end."""
    return case.name.startswith(("chunk-", "cut-off-"))


def send(address, source, case, expected, marker):
    """Empty, or what is wrong with the answers."""
    received, trouble = conformance.converse(address, case, source)
    trouble = trouble or conformance.judge(case, expected, received)
    answer, late = conformance.converse(address, marker, source)
    return trouble or late or conformance.judge(marker, marker.expect, answer)


def compare(case, wanted, seen):
    """Empty, or what is wrong with what the back end saw."""
    heads = [line[5:] for line in seen if line.startswith("head ")]
    whole = [line for line in seen if not line.startswith("head ")]
    if whole != wanted:
        return f"the back end saw {whole}, not {wanted}"
    extra = len(heads) - len(whole)
    if extra > (1 if is_refused_in_its_body(case) else 0):
        return f"the back end saw also the heads of {heads}"
    return ""


def seen_by_client(log):
    seen = {}
    for line in log.read_text("latin-1").splitlines():
        client, _, request = line.partition(" ")
        seen.setdefault(client, []).append(request)
    return seen


def await_requests(log, checked):
    """Returns when all that is wanted is in the log: who answers may write it there afterwards."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        seen = seen_by_client(log)
        if all(trouble or not Counter(wanted) - Counter(seen.get(source, []))
               for _, source, wanted, trouble in checked):
            return
        time.sleep(0.02)


def run_cases(servers, name, start, proxy_program, body_of):
    port, log = start(servers)
    command = [proxy_program, "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{port}"]
    proxy, proxy_port = servers.start_ours(command)
    cases = [case for case in conformance.read_cases(CASES) if case.name not in NOT_TAKEN[name]]

    def check(numbered):
        number, case = numbered
        # Proxied together with the last request of the conformance tests, as every case.
        marker = conformance.Case("marker", expect=[f"200 GET /marker-{number} []"],
                                  data=b"GET /marker-%d HTTP/1.1\r\nHost: a\r\n\r\n" % number)
        source = f"127.1.{number // 200}.{number % 200 + 1}"
        expected = expected_of(case, body_of)
        trouble = send(("127.0.0.1", proxy_port), (source, 0), case, expected, marker)
        wanted = [*requests_of(case, expected), *requests_of(marker, marker.expect)]
        return case, source, wanted, trouble

    with ThreadPoolExecutor(8) as pool:
        checked = list(pool.map(check, enumerate(cases)))
    await_requests(log, checked)
    time.sleep(LATE_S)  # nothing more must come, and that cannot be waited for
    seen = seen_by_client(log)
    troubles = []
    for case, source, wanted, trouble in checked:
        of_case = seen.pop(source, [])
        trouble = trouble or compare(case, wanted, of_case)
        if trouble:
            troubles.append(f"{case.name}: {trouble}")
    if seen:
        troubles.append(f"requests of nobody: {seen}")
    return "\n    ".join(filter(None, [*troubles, servers.end(proxy)]))


def tests(servers, proxy_program):
    back_ends = [("node", start_node, str), ("haproxy", start_haproxy, str),
                 ("nginx", start_nginx, len)]
    for name, start, body_of in back_ends:
        yield (f"proxy in front of {name}: every conformance case",
               lambda name=name, start=start, body_of=body_of:
               run_cases(servers, name, start, proxy_program, body_of))
