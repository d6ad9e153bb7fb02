"""What clang-format does not see, over all files that git tracks. Exits with 1 on an error.

Errors: a path of the machine it was written on; a path that leaves the repository; a package index
that only one place has; a stream, a flag or JSON in a room that every front end links; a link of a page to
nothing; more words in all pages than anybody reads. Warnings: files that are longer than reads well
(CONTRIBUTING.md).
"""

import pathlib
import re
import subprocess
import sys

ONE_MACHINE = re.compile(r"(?<![\w.$}/-])/(?:work|workspace|home|root|mnt|Users|srv)/[\w.]")
LEAVES = re.compile(r"(?<![\w./])(?:\.\./)+[\w.-]")
INDEX = re.compile(r"--(?:extra-)?index-url|--find-links|--trusted-host")
# Streams, CLI11 and the JSON library are headers of the system, which Bazel does not keep out. Of the
# tuner only its command line prints and reads flags: another front end links the rest.
FRONT_END = re.compile(r"#include [<\"](?:iostream|ostream|fstream|sstream|cstdio|stdio\.h|CLI/|"
                       r"nlohmann/|tuner/cli/)|std::(?:cout|cerr|clog|ostream)\b")
FRONT_END_FREE = re.compile(r"tuner/(?!cli/|tuner_main\.cc).*(?<!_test)\.(?:cc|h)$")
# A link of a page, but not of an example in backticks. Addresses of the web are not asked.
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
# All pages together. A page that is added brings its words from others; the aim is 60,000.
PAGE_WORDS_MAX = 77_000
TEXT_LIMIT_BYTES = 1 << 20
LIMITS = ((re.compile(r"_test\.(cc|py)$"), 1000), (re.compile(r"\.h$"), 200),
          (re.compile(r"\.(cc|c|py)$"), 500))


def tracked():
    listing = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    return [pathlib.Path(name) for name in listing.decode().split("\0") if name]


def leaves_repository(path, match, line):
    """Whether the relative path that starts at `match` climbs above the root."""
    ups = len(re.match(r"(?:\.\./)+", line[match.start():]).group()) // 3
    return ups > len(path.parent.parts)


def check(path, errors, warnings):
    if path.is_symlink() or not path.is_file() or path.stat().st_size > TEXT_LIMIT_BYTES:
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    # Tests give hostile paths on purpose, and this file holds the patterns.
    hostile = "_test." in path.name or "testdata" in path.parts or path.name == "check_style.py"
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}: "
        if hostile:
            break
        if ONE_MACHINE.search(line):
            errors.append(where + "names a folder of one machine: " + line.strip())
        match = LEAVES.search(line)
        if match and leaves_repository(path, match, line):
            errors.append(where + "names a path outside of the repository: " + line.strip())
        if FRONT_END_FREE.match(str(path)) and FRONT_END.search(line):
            errors.append(where + "belongs to a front end, not to " + str(path.parent) + ": " +
                          line.strip())
        if INDEX.search(line):
            errors.append(where + "names a package index: " + line.strip())
    for pattern, limit in LIMITS:
        if pattern.search(path.name):
            if len(lines) > limit:
                warnings.append(f"{path}: {len(lines)} lines, {limit} read well")
            break


def check_pages(paths, errors):
    words = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        words += len(text.split())
        for target in LINK.findall(text):
            file = target.partition("#")[0]
            if file and "://" not in file and not (path.parent / file).exists():
                errors.append(f"{path}: links to {target}, which is not there")
    if words > PAGE_WORDS_MAX:
        errors.append(f"the pages have {words} words, {PAGE_WORDS_MAX} at most: shorten one")


def main():
    errors, warnings = [], []
    check_pages([path for path in tracked() if path.suffix == ".md" and path.is_file()], errors)
    for path in tracked():
        check(path, errors, warnings)
    for text in warnings:
        print("warning:", text)
    for text in errors:
        print("error:", text)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
