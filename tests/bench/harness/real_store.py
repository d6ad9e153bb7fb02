"""What `./dev bench real` keeps of each model, so that judging and timing are runs of their own.

A folder a model and number of threads (`real_store.folder`):
  row.json    what compiling gave: times, a failure's reason, and the key of what it was made from
  model.bundle, ours/inputs.npz, theirs/inputs.npz  what is timed
  ours/burnish.npz, theirs/ort.npz, theirs/ort_plain.npz  outputs, which are judged when they are read
  timing.json  how the bundle was timed last
"""

import functools
import hashlib
import json
import re
import subprocess

import machine
import real_models

KEPT = real_models.CACHE / "kept"
BUILDER = "//worker/builder:builder"
ROW, TIMING = "row.json", "timing.json"


def folder(name, threads):
    return KEPT / f"{name}-{threads}"


@functools.cache
def _program_hash(path, names_commit):
    content = path.read_bytes()
    if names_commit:
        # A commit alone changes nothing that the program does.
        said = subprocess.run([path, "--version"], capture_output=True, check=True).stdout
        for commit in re.findall(rb"\b[0-9a-f]{12}\b", said):
            content = content.replace(commit, b"")
    return hashlib.sha256(content).digest()


def key(tuner, programs, path, inputs, threads):
    """The hash of everything that a row depends on but the judge. `tuner` and `programs` are Bazel
    targets, of which the first names its commit; `path` is the ONNX file."""
    found = hashlib.sha256(_program_hash(machine.output(tuner), True))
    for program in programs:
        found.update(_program_hash(machine.output(program), False))
    found.update(json.dumps([inputs.shapes, inputs.values, threads]).encode())
    for name, array in inputs.arrays.items():
        found.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    for part in (path, path.with_name(path.name + ".data")):
        if part.exists():
            with open(part, "rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def read(path):
    """The JSON object of a file, {} where there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def write(path, content):
    """Whole or not at all: a run that is cut off goes on where it ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.replace(path)
