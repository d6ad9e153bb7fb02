"""What the search finds by itself: 500 trials with and without the default schedules.

./dev bench search live [--task resnet50] [--trials 500] [--asked 560] [--keep FOLDER] [--json]
How it measures and how to read it: tests/bench/README.md.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile

import machine

PROGRAMS = ["//tuner:tuner", "//tracker:tracker", "//worker/...", "//tests/bench:study_accuracy"]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search live", description=__doc__.split("\n")[0])
    parser.add_argument("--task", default="resnet50", help="%(default)s")
    parser.add_argument("--trials", type=int, default=500, help="%(default)s")
    parser.add_argument("--asked", type=int, default=560,
                        help="random candidates that the taught model has to order (%(default)s)")
    parser.add_argument("--keep", metavar="FOLDER", help="where the database stays")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser.parse_args(arguments)


def submit(database, *arguments):
    """The `tuned` event of one study."""
    done = subprocess.run([machine.output("//tuner:tuner"), "submit", "--json", "--db", database,
                           *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"search: tuner submit ended with {done.returncode}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return next(event for event in events if event["event"] == "tuned")


def total_ms(study, key):
    """Of the whole model; None where a task has no such time."""
    times = [(task["weight"], task[key]) for task in study["tasks"]]
    return None if any(ms is None for _, ms in times) else sum(w * ms for w, ms in times)


def main(arguments):
    options = parse_arguments(arguments)
    machine.build(*PROGRAMS)
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="burnish-search-"))
        model = ["--task", options.task]
        # A database each, so that no study learns from another's records.
        guided = submit(f"{folder}/guided.db", *model, "--trials", options.trials)
        alone = submit(f"{folder}/alone.db", *model, "--trials", options.trials, "--no-default")
        asked = submit(f"{folder}/alone.db", *model, "--trials", options.asked, "--no-default",
                       "--strategy", "random", "--cost-model", "random",
                       "--task-scheduler", "round-robin", "--seed", 1)
        accuracy = subprocess.run(
            [machine.output("//tests/bench:study_accuracy"), f"{folder}/alone.db", alone["study"],
             asked["study"]], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    default = total_ms(guided, "default_ms")
    rows = {
        "default schedules": (default, None),
        f"{options.trials} trials": (total_ms(guided, "best_ms"), guided),
        f"{options.trials} trials, defaults and analytic model withheld":
            (total_ms(alone, "best_ms"), alone),
    }
    result = {"machine": machine.describe(), "task": options.task,
              "accuracy": float(re.search(r"accuracy ([\d.]+)", accuracy)[1]),
              "rows": [{"name": name, "sum_ms": ms, "of_default": ms / default if ms else None,
                        "trials": study and study["trials"],
                        "trials_per_s": study and study["trials"] / study["elapsed_s"],
                        "failures": study and study["failures"]}
                       for name, (ms, study) in rows.items()]}
    if options.json:
        print(json.dumps(result))
        return
    print(machine.headline(result["machine"]))
    print(f"{options.task}, sum of the tasks' best measured times")
    for row in result["rows"]:
        ms = f"{row['sum_ms']:8.2f} ms {row['of_default']:6.3f} of default" if row["sum_ms"] else \
            "   a task has none"
        rate = f"  {row['trials_per_s']:.1f} trials/s, failures {row['failures']}" \
            if row["trials"] else ""
        print(f"{row['name']:55} {ms}{rate}")
    print(f"model of the last study, without the analytic model: {accuracy}")
