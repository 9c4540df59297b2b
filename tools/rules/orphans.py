"""Files that nothing reaches: sources outside the build, headers nobody includes, lost pages."""
import posixpath
import re

from .source import Finding

LINK = re.compile(r"\]\(([^)\s]+)\)")


def built_folders(tree):
    lists = tree.files.get("CMakeLists.txt")
    match = re.search(r"set\(WEFT_FOLDERS ([\w\s]*?)\)", lists.text) if lists else None
    return match.group(1).split() if match else []


def check_sources(tree):
    built = [folder for folder in built_folders(tree)
             if f"weft_folder({folder}" in
             getattr(tree.files.get(f"weft/{folder}/CMakeLists.txt"), "text", "")]
    included = {include for file in tree.cpp for _, include, _ in file.includes}
    for file in tree.files.values():
        if not file.weft_folder:
            continue
        if file.name.endswith((".cpp", ".S")) and file.weft_folder not in built:
            yield Finding(file.path, 1, "orphan", "no CMakeLists.txt builds this folder: add "
                          f"weft_folder({file.weft_folder}) and name it in WEFT_FOLDERS")
        if file.name.endswith(".h") and file.path not in included:
            yield Finding(file.path, 1, "orphan", "nothing includes this header")


def prose(page):
    """The lines of a page that a reader sees and that are not code, each with its number."""
    end = ""  # of the code or the comment that the line is in
    for number, line in enumerate(page.lines, 1):
        if end:
            end = "" if line.startswith(end) else end
        elif line.startswith("```"):
            end = "```"
        elif line == "<!-- snippet":
            end = "-->"
        else:
            yield number, line


def check_pages(tree):
    linked = set()
    pages = [file for file in tree.files.values() if file.name.endswith(".md")]
    for page in pages:
        for number, line in prose(page):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:|#", target):
                    continue
                path = posixpath.normpath(posixpath.join(page.folder, target.partition("#")[0]))
                if path != page.path:
                    linked.add(path)
                if path not in tree.files and not any(
                        other.startswith(path + "/") for other in tree.files):
                    yield Finding(page.path, number, "orphan", f"there is no {path}")
    for page in pages:
        if page.path.startswith("docs/") and page.path not in linked \
                and page.path != "docs/README.md":
            yield Finding(page.path, 1, "orphan", "no other page links to this one")


def check(tree):
    yield from check_sources(tree)
    yield from check_pages(tree)
