"""Plants bugs in the farm's cores, one at a time, and says which of them the simulation finds.

./dev sim --mutants [NAME...]: those of mutants.toml. A mutant is one text of one source that is replaced by
another one. Nothing in the tree changes: the source is compiled apart, by the command that Bazel uses, and
linked with the objects of //tests/sim, which are built before.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = "//tests/sim:sim"
OUTPUT = "tests/sim/sim"


def bazel(*args: str) -> str:
    return subprocess.run(["bazel", *args], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def commands() -> tuple[dict[str, list[str]], list[str]]:
    """How each source is compiled, and how the program is linked."""
    query = f'mnemonic("CppCompile|CppLink", deps({TARGET}))'
    compiles: dict[str, list[str]] = {}
    link: list[str] = []
    for action in json.loads(bazel("aquery", "--output=jsonproto", query))["actions"]:
        args = action["arguments"]
        if "-o" not in args:
            continue
        if action["mnemonic"] == "CppLink":
            if args[args.index("-o") + 1].endswith("/" + OUTPUT):
                link = args
        elif args[args.index("-o") + 1].endswith(".pic.o"):
            compiles[args[args.index("-c") + 1]] = args
    return compiles, link


def replaced(mutant: dict[str, str]) -> str:
    text = (ROOT / mutant["file"]).read_text()
    count = text.count(mutant["old"])
    if count != 1:
        raise SystemExit(f"mutants: {mutant['name']}: its old text is {count} times in {mutant['file']}, want once")
    return text.replace(mutant["old"], mutant["new"])


def build(mutant: dict[str, str], compiles: dict[str, list[str]], link: list[str], root: str, folder: str) -> str:
    """The simulation with this bug. Warnings that a bug brings about are none of an error."""
    source = pathlib.Path(folder, pathlib.Path(mutant["file"]).name)
    source.write_text(replaced(mutant))
    args = list(compiles[mutant["file"]])
    output, at = args.index("-o") + 1, args.index("-c") + 1
    old_object, args[output], args[at] = args[output], f"{source}.o", str(source)
    # A copy is in no module.
    args = [a for a in args if a != "-Werror" and not re.match(r"-f(module|modules)-|-M[DF]|.*\.pic\.d$", a)]
    args = ["-O1" if a == "-O2" else a for a in args]  # Compiles in half the time.
    program = f"{source}.sim"
    linked = [f"{source}.o" if a == old_object else program if a.endswith("/" + OUTPUT) else a for a in link]
    linked = [a for a in linked if not a.startswith("@")]  # The same arguments again, in a file.
    for command in (args, linked):
        subprocess.run(command, cwd=root, check=True)
    return program


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev sim --mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="of mutants; all of them where none is given")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    mutants = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    chosen = [m for m in mutants if not args.names or m["name"] in args.names]
    bazel("build", TARGET)
    compiles, link = commands()
    root = bazel("info", "execution_root").strip()
    missed = []
    for mutant in chosen:
        with tempfile.TemporaryDirectory() as folder:
            program = build(mutant, compiles, link, root, folder)
            run = [program, "--seeds", str(args.seeds), "--failures", "1", "--brief", "--threads", str(args.threads)]
            try:
                said = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
                found = said.stdout.splitlines()[0] if said.returncode == 1 else ""
                if said.returncode not in (0, 1):
                    found = f"it ended with {said.returncode}"
            except subprocess.TimeoutExpired:
                found = "it did not end"
        if not found:
            missed.append(mutant["name"])
        print(f"{mutant['name']}: {found or 'NOT FOUND'}", flush=True)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
