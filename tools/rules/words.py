"""The tree speaks of the product, never of the place or the way in which it was made."""
import re

from .source import Finding

# A pattern, and what it finds. Brackets keep the patterns from finding themselves. A line without
# any of the parts is not searched, which is much faster.
WORDS = [
    (("/wor", "/far", "/tmp/"), re.compile(r"(?<![\w.])/(wor[k]|far[m]|tmp/pla[n])/"),
     "a path of somebody's machine"),
    (("process_ap", ".librar"), re.compile(r"process_ap[i]|\.librar[y]/"),
     "a path of somebody's machine"),
    (("sessio", "agen", "language mode", "issues sho"),
     re.compile(r"\b(this|previous|next|last|my) sessio[n]\b|\bhelper agen[t]|\bsub-?agen[t]"
                r"|\blanguage mode[l]\b|\bissues sho[w]\b", re.IGNORECASE),
     "how the work was organized; say what holds for the reader"),
]
# A host that readers can reach. Anything else is likely a registry or mirror of one workplace.
URL = re.compile(r"https?://(?:[\w.-]+(?::[\w.-]+)?@)?([\w.-]+)")
HOSTS = re.compile(
    r"(?:.*\.)?(apache\.org|debian\.org|kernel\.org|github\.com|cmake\.org|go\.dev|golang\.org"
    r"|cppreference\.com|open-std\.org|wg21\.link|isocpp\.org|gnu\.org|llvm\.org|man7\.org"
    r"|rfc-editor\.org|ietf\.org|w3\.org"
    r"|w3c\.github\.io|wicg\.github\.io|andreubotella\.github\.io|whatwg\.org"
    r"|nodejs\.org|tc39\.es|wintertc\.org|ecma-international\.org"
    r"|boost\.org|tokio\.rs|rust-lang\.org|crates\.io|docs\.rs|keepachangelog\.com|semver\.org"
    r"|json-schema\.org"
    r"|freedesktop\.org|v8\.dev|openssl\.org|postgresql\.org|sqlite\.org|nats\.io|nghttp2\.org"
    r"|arm\.com|intel\.com|riscv\.org|x86-64\.org|unicode\.org|iana\.org|example\.(com|org|net)"
    r"|localhost|127\.0\.0\.1|169\.254\.169\.254"
    # RFC 2606, and one letter: names that nobody has, for tests and examples.
    r"|example|test|invalid|[a-z])", re.IGNORECASE)


def lines_with(file, parts):
    """(number, line) of the lines that have one of the parts, whatever its case."""
    folded = file.text.lower()
    if any(part in folded for part in parts):
        for number, line in enumerate(folded.split("\n"), 1):
            if any(part in line for part in parts):
                yield number, file.lines[number - 1]


def check(tree):
    for file in tree.files.values():
        for parts, pattern, what in WORDS:
            for number, line in lines_with(file, parts):
                if match := pattern.search(line):
                    yield Finding(file.path, number, "words", f"'{match.group()}': {what}")
        for number, line in lines_with(file, ("http://", "https://")):
            for match in URL.finditer(line):
                host = match.group(1).rstrip(".")
                if not HOSTS.fullmatch(host) and file.name != "tidy_test.py":
                    yield Finding(file.path, number, "words", f"'{host}' is not a host known to "
                                  "every reader; if it is, name it in tools/rules/words.py")
