"""Searches, replayed on tables of measured points; and the tables' collection.

./dev bench search [replay] [--tables FOLDER] [--seeds N] [--trials N] [--arms A,B] [--json]
./dev bench search collect [--minutes N] [--tables FOLDER] [--only REGEX | --model NAME] [--rules all]
./dev bench search live [--task resnet50] [--trials N] ...
./dev bench search rules [--trials N] [--minutes N] ...
What a table has and how to read it: tests/bench/search/README.md.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH / "harness"))
import machine
import search_stats

TABLES = BENCH / "search"
TASKS = TABLES / "tasks.toml"
REPLAY, COLLECT = "//tests/bench/search:search_replay", "//tests/bench/search:search_collect"
FARM = ("//tracker:tracker", "//worker/...")
DEFAULT_TABLES = TABLES / "zen5"
# Peers' times are of the machine of these tables alone.
PEERS, PEERS_TABLES = BENCH / "operators_zen5_tuned.jsonl", ("zen5", "zen5_all")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser("replay", help="what is done where no command is named")
    replay.add_argument("--seeds", type=int, default=10, help="%(default)s")
    replay.add_argument("--trials", type=int, default=500, help="%(default)s")
    replay.add_argument("--arms", default="all", help="names by commas (%(default)s)")
    replay.add_argument("--peers", metavar="FILE", default=str(PEERS),
                        help="rows of `./dev bench operators --trials 64` on the tables' machine "
                        "(%(default)s, for the tables of a Zen 5)")
    replay.add_argument("--json", action="store_true", help="one JSON object on stdout")
    collect = commands.add_parser("collect", help="measures what tables lack, on a quiet machine")
    collect.add_argument("--minutes", type=float, default=25, help="at most (%(default)s)")
    collect.add_argument("--rules", choices=("templates", "generator", "all"), default="templates",
                         help="whose sketches a table has; other rules, another folder (%(default)s)")
    collect.add_argument("--threads", type=int, default=2, help="of the target (%(default)s)")
    collect.add_argument("--model", metavar="NAME",
                         help="of the zoo: its heaviest tasks in the place of tasks.toml's")
    collect.add_argument("--heaviest", type=int, default=10, metavar="N",
                         help="of the model's tasks (%(default)s)")
    for command in (replay, collect):
        command.add_argument("--tables", metavar="FOLDER", default=str(DEFAULT_TABLES),
                             help="of one machine (%(default)s)")
        command.add_argument("--only", metavar="REGEX", default="", help="tasks whose name it finds")
    commands.add_parser("live", help="three studies: tests/bench/README.md", add_help=False)
    commands.add_parser("rules", help="the generator beside the templates: 40 studies of each",
                        add_help=False)
    if not arguments or arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"):
        arguments = ["replay", *arguments]
    return parser.parse_known_args(arguments)


def tasks(pattern):
    """Rows of tasks.toml as {"class", "name"}, those whose name the pattern finds."""
    listed = tomllib.loads(TASKS.read_text(encoding="utf-8"))["task"]
    return [task for task in listed if re.search(pattern, task["name"])]


def manifest_of(options, folder):
    """What search_collect measures; models that it needs are written to the folder."""
    if options.model:
        return [{"name": options.model, "class": "model", "source": f"{options.model} of the zoo",
                 "zoo": options.model, "heaviest": options.heaviest}]
    # Their models are ONNX files, which need more than a replay does.
    import onnx
    import operator_models
    rows = {row["name"]: row for row in operator_models.entries()}
    manifest = []
    for task in tasks(options.only):
        row = rows[task["name"]]
        path = f"{folder}/{row['name']}.onnx"
        onnx.save(operator_models.model(row), path)
        manifest.append({"name": row["name"], "class": row["class"], "source": row["source"],
                         "model": path})
    return manifest


def collect(options):
    machine.build(COLLECT, *FARM)
    folder = pathlib.Path(options.tables)
    folder.mkdir(parents=True, exist_ok=True)
    described = machine.describe()
    with tempfile.TemporaryDirectory(prefix="burnish-search-") as models:
        listed = pathlib.Path(models) / "manifest.json"
        listed.write_text(json.dumps(manifest_of(options, models)))
        name = f"{described['cpu']}, {described['cpu_count']} CPUs, {described['features']}, Linux " \
            f"{described['kernel']}, {described['date']}"
        sys.exit(subprocess.run([machine.output(COLLECT), listed, folder.resolve(),
                                 str(options.minutes), str(options.threads), name,
                                 described["commit"], options.rules]).returncode)


def peers_of(options):
    """{task: ours after 64 trials over the better peer's time}, by the operators' suite on the same machine."""
    if options.peers == str(PEERS) and pathlib.Path(options.tables).name not in PEERS_TABLES:
        return {}
    lines = pathlib.Path(options.peers).read_text(encoding="utf-8").splitlines()
    return {row["name"]: row["ratio"] for row in map(json.loads, lines) if row.get("ratio")}


def replay(options):
    paths = sorted(path for path in pathlib.Path(options.tables).glob("*.json")
                   if re.search(options.only, path.stem))
    if not paths:
        sys.exit(f"search: {options.tables} has no tables; ./dev bench search collect makes them")
    machine.build(REPLAY)
    done = subprocess.run([machine.output(REPLAY), str(options.seeds), str(options.trials),
                           options.arms, *paths], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"search: the replay ended with {done.returncode}")
    result = json.loads(done.stdout)
    if search_stats.RANDOM not in result["arms"]:
        sys.exit("search: every arm is compared with random: name it among --arms")
    summary = search_stats.summarize(result, peers_of(options))
    if options.json:
        tables = [{key: value for key, value in table.items() if key != "repeated"}
                  for table in result["tables"]]
        print(json.dumps({"schema": 1, "commit": machine.describe()["commit"], "seeds": options.seeds,
                          "tables": tables, **summary}))
    else:
        print(f"tables of {result['tables'][0]['machine']}, {options.seeds} seeds")
        for table in result["tables"]:
            if table["dropped"]:
                print(f"{table['name']}: {table['dropped']} rows are no points of this commit's space")
        print(search_stats.text(result, summary))
    # A bench whose controls fail says nothing about any arm.
    sys.exit(0 if all(summary["controls"].values()) else 1)


def main():
    options, rest = parse_arguments(sys.argv[1:])
    if options.command == "live":
        import search_live
        search_live.main(rest)
    elif options.command == "rules":
        import search_rules
        search_rules.main(rest)
    elif rest:
        sys.exit(f"search: unknown arguments {' '.join(rest)}")
    elif options.command == "collect":
        collect(options)
    else:
        replay(options)


if __name__ == "__main__":
    main()
