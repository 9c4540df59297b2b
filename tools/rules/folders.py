"""Each folder has a short README that says what belongs into it."""
from .layers import room_of
from .source import Finding

README_LINES = 40
INSIDE = {"weft", "tests"}  # these folders' folders have one too


def rooms(tree):
    """The folders that need a README."""
    found = set()
    for path in tree.files:
        parts = path.split("/")
        if len(parts) > 1 and not parts[0].startswith("."):
            found.add(parts[0])
            if len(parts) > 2 and parts[0] in INSIDE:
                found.add("/".join(parts[:2]))
            if room_of(path):
                found.add("/".join(parts[:3]))
    return sorted(found)


def check(tree):
    for folder in rooms(tree):
        path = f"{folder}/README.md"
        if path not in tree.files:
            yield Finding(folder, 1, "readme", f"the folder has no README.md (at most "
                          f"{README_LINES} lines: what belongs here, where to begin)")
            continue
        count = len(tree.files[path].lines) - 1
        if count > README_LINES:
            yield Finding(path, README_LINES + 1, "readme",
                          f"{count} lines, at most {README_LINES}")
