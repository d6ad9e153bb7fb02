"""Holds docs/one-convolution.md to what `tuner compile --emit` prints: every block of text there.

usage: convolution_page.py TUNER PAGE

A block follows a comment that says which station it shows, `<!-- emit ir -->`. Its lines are lines
of the output, one after the other; a line `...` stands for any number of them.
"""

import os
import re
import sys
import tempfile

import onnx
import onnx.printer

from harness import Programs
from test_report import Report

BLOCK = re.compile(r"<!-- emit (\w+) -->\n+```\w*\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^    tuner (compile (?:.*\\\n)*.*) --emit STATION$", re.MULTILINE)
STATIONS = {"onnx", "ir", "sketches", "schedule", "lowered", "asm"}


def text_of(programs, arguments, station, folder):
    """What the station prints, and what is wrong with it."""
    if station != "onnx":
        outcome = programs.run(*arguments, "--emit", station)
        return outcome.out, outcome.complaints(0, "")
    path = os.path.join(folder, "model.onnx")
    wrong = programs.run(*arguments, "--emit", station, "--out", path).complaints(0, "")
    return "" if wrong else onnx.printer.to_text(onnx.load(path)), wrong


def missing_part(block, text):
    """The first part of the block, between lines `...`, that the output has not in its place."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = 0
    for part in re.split(r"^\.\.\.$", block, flags=re.MULTILINE):
        want = part.strip("\n").split("\n")
        while at + len(want) <= len(lines) and lines[at:at + len(want)] != want:
            at += 1
        if at + len(want) > len(lines):
            return want
        at += len(want)
    return None


def check(programs, arguments, station, block, folder):
    text, wrong = text_of(programs, arguments, station, folder)
    part = None if wrong else missing_part(block, text)
    if part is None:
        return wrong
    return ["the output has not, in this place:", *part, "it is:", *text.splitlines()]


def main(tuner, page_path):
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    command = COMMAND.search(page)
    blocks = BLOCK.findall(page)
    missing = sorted(STATIONS - {station for station, _ in blocks})
    report = Report("convolution_page")
    report.run("stations", lambda: ([f"not shown: {one}" for one in missing] +
                                    ([] if command else ["the page names no command"]), ""))
    with tempfile.TemporaryDirectory(prefix="page", dir="/tmp") as folder:
        programs = Programs(tuner, folder)
        arguments = command.group(1).replace("\\\n", " ").split() if command else []
        for number, (station, block) in enumerate(blocks):
            report.run(f"{number} {station}", lambda: (
                check(programs, arguments, station, block, folder), ""))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
