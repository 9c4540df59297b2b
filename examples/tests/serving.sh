# For the tests of examples that serve: starts PROGRAM ARGUMENTS..., waits until it says where it
# serves ($url, $address), and ends it with SIGTERM at the end, which must be its clean end.
set -euo pipefail

start() {
    said=$(mktemp)
    "$@" >"$said" &
    serving=$!
    trap 'kill -9 $serving 2>/dev/null || true; rm -f "$said"' EXIT
    for _ in $(seq 200); do
        url=$(grep -om1 'https\?://[^ ]*' "$said" || true)
        [ -z "$url" ] || break
        kill -0 $serving || { echo "$1 ended before it served" >&2; exit 1; }
        sleep 0.05
    done
    [ -n "$url" ] || { echo "$1 does not say where it serves" >&2; exit 1; }
    address=${url#*://}
    address=${address%%/*}
}

finish() {
    kill -TERM $serving
    wait $serving
    trap - EXIT
    rm -f "$said"
}

# expect WHAT TEXT: fails unless the text is that.
expect() {
    [ "$2" = "$1" ] || { printf 'expected: %s\nbut it is: %s\n' "$1" "$2" >&2; exit 1; }
}
