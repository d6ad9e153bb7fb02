"""What each arm of the search finds by itself, live: a study an arm.

./dev bench search live [--task resnet50] [--trials 200] [--arms all,chance] [--keep FOLDER] [--json]
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
# The arms of `./dev bench search` by what `tuner submit` is given for them; `--no-default` withholds the
# analytic model as well. Chance is measured twice: what differs between the two means nothing.
CHANCE = ["--no-default", "--strategy", "random", "--cost-model", "random", "--task-scheduler", "round-robin"]
ARMS = {
    "all": [],
    "templates alone": ["--scheduler", "templates"],
    "generator alone": ["--scheduler", "generator"],
    "prior": ["--cost-model", "analytic"],
    "learned": ["--no-default"],
    "chance": [*CHANCE, "--seed", "1"],
    "chance again": [*CHANCE, "--seed", "2"],
}


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search live", description=__doc__.split("\n")[0])
    parser.add_argument("--task", default="resnet50", help="%(default)s")
    parser.add_argument("--trials", type=int, default=200, help="of each arm (%(default)s)")
    parser.add_argument("--arms", default=",".join(ARMS), help="by commas (%(default)s)")
    parser.add_argument("--keep", metavar="FOLDER", help="where the databases stay")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    options.arms = options.arms.split(",")
    for arm in options.arms:
        if arm not in ARMS:
            parser.error(f"no arm {arm}: want some of {', '.join(ARMS)}")
    return options


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


def accuracy_of(folder, studies):
    """The pairs of random candidates that the model taught by `learned` orders right; None without both."""
    if "learned" not in studies or "chance" not in studies:
        return None
    said = subprocess.run(
        [machine.output("//tests/bench:study_accuracy"), f"{folder}/learned.db",
         studies["learned"]["study"], studies["chance"]["study"], f"{folder}/chance.db"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(re.search(r"accuracy ([\d.]+)", said)[1])


def main(arguments):
    options = parse_arguments(arguments)
    machine.build(*PROGRAMS)
    studies = {}
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="burnish-search-"))
        for arm in options.arms:
            # A database each, so that no study learns from another's records.
            studies[arm] = submit(f"{folder}/{arm.replace(' ', '_')}.db", "--task", options.task,
                                  "--trials", options.trials, "--refine", "off", *ARMS[arm])
        accuracy = accuracy_of(folder, studies)
    # What ships without a trial, by the first study that was told of default schedules.
    default = next((ms for study in studies.values()
                    if (ms := total_ms(study, "default_ms")) is not None), None)
    result = {"machine": machine.describe(), "task": options.task, "trials": options.trials,
              "default_ms": default, "accuracy": accuracy,
              "rows": [{"arm": arm, "sum_ms": total_ms(study, "best_ms"), "trials": study["trials"],
                        "trials_per_s": study["trials"] / study["elapsed_s"],
                        "failures": study["failures"]} for arm, study in studies.items()]}
    if options.json:
        print(json.dumps(result))
        return
    print(machine.headline(result["machine"]))
    print(f"{options.task}, {options.trials} trials an arm, sum of the tasks' best measured times"
          + (f"; without trials {default:.2f} ms" if default else ""))
    for row in result["rows"]:
        ms = f"{row['sum_ms']:8.2f} ms" if row["sum_ms"] else "   a task has none"
        ratio = f" {row['sum_ms'] / default:6.3f} of without trials" if row["sum_ms"] and default else ""
        print(f"{row['arm']:18}{ms}{ratio}  {row['trials_per_s']:.1f} trials/s, failures {row['failures']}")
    if accuracy is not None:
        print(f"what `learned` was taught orders {100 * accuracy:.1f} % of the pairs of `chance` right that "
              "differ by more than 5 %")
