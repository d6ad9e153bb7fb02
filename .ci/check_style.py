"""What clang-format does not see, over all files that git tracks. Exits with 1 on an error.

Errors: a path of the machine it was written on; a path that leaves the repository; a package index
that only one place has; a stream, a flag or JSON in a room that every front end links; a link of a page to
nothing; a sentence of a page that nobody reads to its end; more words in all pages than anybody reads; an
instruction's name in more files than its row and the loop that measures it; an operator's name in code that has
its OpId. Warnings: files that are longer than
reads well (CONTRIBUTING.md).
"""

import functools
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
# All pages together. A page that is added, or grows, brings its words from others.
PAGE_WORDS_MAX = 60_000
SENTENCE_WORDS_MAX = 35
# What of a page is no sentence: blocks of code, of figures and of comments; tables, headings and indented code;
# targets of links. A list's entry begins a paragraph; a name in backticks is one word, a row of them too.
NO_SENTENCES = ((re.compile(r"^ *```.*?^ *```$|<!-- figure.*?/figure -->|<!--.*?-->", re.S | re.M), "\n\n"),
                (re.compile(r"^(?:    |\t|\||#).*$", re.M), "\n"), (re.compile(r"\]\([^)]*\)"), "]"),
                (re.compile(r"^ *(?:[-*+]|\d+\.) ", re.M), "\n\n"), (re.compile(r"`[^`]*`"), "X"),
                (re.compile(r"X(?:,\s+X)+"), "X"))
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[*_\"(\[]*[A-Z0-9]|\([a-z]\))")
BACKWARDS = re.compile(r"[*_\"(\[]*(?:Of|Whoever)\b")
SENTENCES_FREE = {"CHANGELOG.md"}  # Versions that are out.
TEXT_LIMIT_BYTES = 1 << 20
INSTRUCTIONS = pathlib.Path("compiler/target/instruction.cc")
INSTRUCTION_ROW = re.compile(r'^    \w+\("(\w+)"', re.M)
OPERATORS = pathlib.Path("compiler/te/op_id.h")
OPERATOR_ROW = re.compile(r'^  X\(k\w+, "(\w+)"\)', re.M)
# Code that sees operators, but for importers, also that of what people write, and what only tests link. In
# definitions, too, other things have such names: modes, and functions of the IR.
SEES_OPERATORS = re.compile(r'^#include "compiler/(?:graph/\w+|te/(?:op_id|operator))\.h"', re.M)
NAMES_OPERATORS = re.compile(r"compiler/frontend/|compiler/graph/(?:graph_testing|random_\w+)\.|tuner/.*_test_util\.|"
                             r"compiler/te/(?:op_id\.h|ops/)|tuner/app/operator_spec\.cc")
# A word that names another thing: an attribute, or a pass.
NO_OPERATOR = re.compile(r'(?:\.(?:Ints?|Floats?|String|Has|Set)\(|\.name = )\s*"\w+"')
SOURCE = re.compile(r"(?!tests/)(?!.*(?:_test|/test_\w+)\.).*\.(?:cc|h|py)$")
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


def sentences(text):
    for pattern, instead in NO_SENTENCES:
        text = pattern.sub(instead, text)
    for paragraph in re.split(r"\n\s*\n", text):
        yield from filter(None, SENTENCE_END.split(" ".join(paragraph.split())))


def check_sentences(path, text, errors):
    for sentence in sentences(text):
        words = len(sentence.split())
        if words > SENTENCE_WORDS_MAX:
            errors.append(f"{path}: a sentence of {words} words: {sentence[:60]}..")
        if BACKWARDS.match(sentence):
            errors.append(f"{path}: say who or what does it first: {sentence[:60]}..")


@functools.cache
def anchors(page):
    """Headings as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_pages(paths, errors):
    words = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        words += len(text.split())
        if str(path) not in SENTENCES_FREE:
            check_sentences(path, text, errors)
        for target in LINK.findall(text):
            file, _, anchor = target.partition("#")
            if "://" in file:
                continue
            page = path.parent / file if file else path
            if not page.exists() or anchor and anchor not in anchors(page):
                errors.append(f"{path}: links to {target}, which is not there")
    if words > PAGE_WORDS_MAX:
        errors.append(f"the pages have {words} words, {PAGE_WORDS_MAX} at most: shorten one")


def check_instructions(paths, errors):
    names = INSTRUCTION_ROW.findall(INSTRUCTIONS.read_text(encoding="utf-8"))
    words = {path: set(re.findall(r"\w+", path.read_text(encoding="utf-8"))) for path in paths}
    if len(names) < 10:
        errors.append(f"{INSTRUCTIONS}: its table cannot be read")
    for name in names:
        found = [str(path) for path in paths if name in words[path]]
        if len(found) > 2:
            errors.append(f"{name}, an instruction, stands in {', '.join(found)}: ask its row in {INSTRUCTIONS}")


def check_operators(paths, errors):
    names = OPERATOR_ROW.findall(OPERATORS.read_text(encoding="utf-8"))
    if len(names) < 100:
        errors.append(f"{OPERATORS}: its table cannot be read")
    literal = re.compile(rf'"({"|".join(names)})"')
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if NAMES_OPERATORS.match(str(path)) or not SEES_OPERATORS.search(text):
            continue
        for number, line in enumerate(NO_OPERATOR.sub("", text).splitlines(), 1):
            for name in literal.findall(line.partition("// ")[0]):
                errors.append(f'{path}:{number}: names the operator "{name}": compare its OpId')


def main():
    errors, warnings = [], []
    paths = tracked()
    sources = [path for path in paths if SOURCE.match(str(path)) and path.is_file()]
    check_instructions(sources, errors)
    check_operators(sources, errors)
    check_pages([path for path in paths if path.suffix == ".md" and path.is_file()], errors)
    for path in paths:
        check(path, errors, warnings)
    for text in warnings:
        print("warning:", text)
    for text in errors:
        print("error:", text)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
