"""What is compiled without records: of the zoo's models and the rows of operators.toml, for three targets, hashes of
tasks, default schedules, code and manifest beside testdata/defaults.tsv.

usage: golden_defaults.py TUNER [--rows PATTERN] [--update]

Everything follows from the target's text and the table of devices: no machine is measured, no record is
read. PATTERN is searched in "TARGET MODEL". All rows take about ten minutes of one core.
"""

import argparse
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH / "harness")]
import onnx
import operator_models

FILE = "tests/bench/testdata/defaults.tsv"
TARGETS = {"avx2": "cpu:arch=znver3,threads=2", "avx512": "cpu:arch=znver4,threads=2",
           "amx": "cpu:arch=sapphirerapids,threads=2"}
ZOO = ("bert_base", "mobilenet_v2", "resnet18", "resnet50", "vgg16")
# Where the target has instructions of its own for it.
BF16 = ("avx512", "amx")
COLUMNS = ("target", "model", "tasks", "schedules", "code", "manifest")
# compiler/runtime/section_file.h.
HEADER, ENTRY, ELF = struct.Struct("<8sIIQ"), struct.Struct("<IIQQ32s"), 2
# Weights are drawn by NumPy; what packs them is code for the machine that builds, which measures errors, too.
WEIGHTS, PACKS, NUMBER_NOTES = 3, 5, 15
DIGITS = 16


def digest(data):
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def sections(path):
    """Digests of the code, and of all that tells how it is run."""
    data = path.open("rb").read(1 << 12)
    count = HEADER.unpack_from(data)[2]
    entries = [ENTRY.unpack_from(data, HEADER.size + i * ENTRY.size) for i in range(count)]
    code = b"".join(entry[4] for entry in entries if entry[0] == ELF)
    rest = b"".join(struct.pack("<I", entry[0]) + entry[4] for entry in entries
                    if entry[0] not in (ELF, WEIGHTS, PACKS, NUMBER_NOTES))
    return digest(code), digest(rest)


def row_of(tuner, target, name, source):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if not isinstance(source, list):
            onnx.save(operator_models.model(source), folder / "model.onnx")
            source = ["--model", str(folder / "model.onnx")]

        def compiled(*arguments):
            return subprocess.run([tuner, "compile", *source, "--target", TARGETS[target], "--calibration", "table",
                                   "--db", "memory:", "--cache", str(folder / "cache"), "--quiet", *arguments],
                                  check=True, stdout=subprocess.PIPE).stdout

        compiled("--out", str(folder / "model.bundle"))
        return "\t".join((target, name, digest(compiled("--emit", "ir")), digest(compiled("--emit", "schedule")),
                          *sections(folder / "model.bundle")))


def sources():
    """(target, name, what names the model on the command line or a row of operators.toml)."""
    for target in TARGETS:
        for name in ZOO:
            yield target, name, ["--task", name]
            if target in BF16:
                # A machine that can run it measures its error, and takes back what goes beyond the accuracy.
                yield target, f"{name}+bf16", ["--task", name, "--precision", "bf16", "--accuracy", "1"]
        for row in operator_models.entries():
            yield target, f"{row['class']}/{row['name']}", row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tuner")
    parser.add_argument("--rows", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    tuner = os.path.realpath(options.tuner)
    chosen = [each for each in sources() if re.search(options.rows, f"{each[0]} {each[1]}")]
    if not chosen:
        raise SystemExit(f"golden_defaults: no row has a match of {options.rows!r}")
    got = [row_of(tuner, *each) for each in chosen]
    path = pathlib.Path(FILE)
    stored = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    key = lambda line: tuple(line.split("\t")[:2])
    want = {key(line): line for line in stored}
    wrong = [line for line in got if want.get(key(line)) != line]
    if options.update:
        rows = {**want, **{key(line): line for line in got}}
        ordered = [rows[each[:2]] for each in sources() if each[:2] in rows]
        path.write_text("\n".join(["\t".join(COLUMNS), *ordered]) + "\n", encoding="utf-8")
        return 0
    for line in wrong:
        print(f"got  {line}\nwant {want.get(key(line), 'no such row')}")
    print(f"{len(got) - len(wrong)} of {len(got)} rows as stored")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
