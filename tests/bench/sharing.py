"""Trials a second of studies that share their host: alone, two at once, beside other people's work.

./dev bench sharing [--task SPEC] [--trials N] [--rounds N] [--json]

Trials a second of one study alone, of two at once (their sum), and of one beside a busy loop on every CPU; in turn.
The table lists what failed: a busy host must condemn no candidate.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine

TUNER = "//tuner:tuner"
TASK = "conv2d:h=28,ci=128,co=128,k=3,p=1"


def start(tuner, folder, options, seed):
    """A study with a database of its own."""
    command = [tuner, "submit", "--task", options.task, "--trials", str(options.trials), "--seed",
               str(seed), "--refine", "off", "--db", f"{folder}/{seed}.db"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def failures(text):
    counts = re.findall(r"failed: ([^,\n]*)", text)
    return counts[-1] if counts else ""


def rate(tuner, options, count, round_number):
    """Trials a second of `count` studies at once, all together; what failed."""
    with tempfile.TemporaryDirectory(prefix="burnish-sharing-") as folder:
        began = time.perf_counter()
        studies = [start(tuner, folder, options, 1000 * round_number + i) for i in range(count)]
        texts = [study.communicate()[1] for study in studies]
        seconds = time.perf_counter() - began
    for study, text in zip(studies, texts):
        if study.returncode != 0:
            sys.exit(f"sharing: a study ended with {study.returncode}:\n{text}")
    return count * options.trials / seconds, [failed for failed in map(failures, texts) if failed]


@contextlib.contextmanager
def busy(cpus):
    """Somebody's ordinary work on every CPU, of the same session: Linux's autogroup gives another
    session a share of its own, which would hide who yields to whom."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(cpus)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default=TASK)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tuner = machine.output(TUNER)
    cases = {"one study": [], "two studies, together": [], "one study, every CPU busy": []}
    failed = {name: [] for name in cases}
    for round_number in range(options.rounds):  # In turn, so that a slow minute meets all of them.
        for name in cases:
            count = 2 if name.startswith("two") else 1
            with busy(os.cpu_count()) if "busy" in name else contextlib.nullcontext():
                trials_a_second, what = rate(tuner, options, count, round_number)
            cases[name].append(trials_a_second)
            failed[name] += what
    rows = [{"case": name, "median": statistics.median(rates), "low": min(rates), "high": max(rates),
             "failed": failed[name]} for name, rates in cases.items()]
    if options.json:
        print(json.dumps({"machine": machine.describe(), "task": options.task, "rows": rows}))
        return
    print(machine.headline(machine.describe()))
    print(f"{options.task}, {options.trials} trials a study, {options.rounds} rounds in turn")
    for row in rows:
        print(f"{row['case']:28} {row['median']:6.2f} trials/s ({row['low']:.2f} to {row['high']:.2f})"
              f"  {', '.join(row['failed']) or 'nothing failed'}")


if __name__ == "__main__":
    main()
