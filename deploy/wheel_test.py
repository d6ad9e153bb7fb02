"""usage: wheel_test.py WHEELS   Installs the two wheels in the folder WHEELS into a bare environment, where
Debian's libraries of compilers and networks are out of sight, and uses them there: python/tests/installed.py,
the examples, docs/python.md. Runs in the environment of tests/requirements.txt, which has the reference.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, "tests/e2e/models")
import reference  # noqa: E402

LIMIT_BYTES = {"burnish": 80e6, "burnish_runtime": 2e6}
SYSTEM_NEWEST = (2, 35)  # Of glibc: Ubuntu 22.04 and Debian 12 have it.
RUN_SECONDS = 300  # Of each script: ten times what the longest takes on a busy machine, so it hangs.
# Of CPU time, beyond NumPy's, where that takes what it does on an AMD EPYC (Zen 5) beside a build. Of a
# machine on which it takes longer nobody knows how fast it is just now.
IMPORT_SECONDS, NUMPY_SECONDS = 0.05, 0.065
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\.so")
# What the programs would load if they were linked as in any other build.
HIDDEN = re.compile(r"lib(LLVM|lld|grpc|gpr|absl|protobuf|onnx|spdlog|fmt|xgboost|dmlc|gomp|mimalloc|cares|"
                    r"re2|upb|address_sorting).*\.so")
HIDE = 'for file in $HIDDEN; do mount --bind /dev/null "$file" || exit 1; done; exec "$@"'


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def output(*command, **options):
    return run(*command, stdout=subprocess.PIPE, text=True, **options).stdout


def check_wheels(wheels, folder):
    """Sizes, tags, no file twice, and that each ELF file's libraries are the system's or beside it."""
    files = []
    for name, wheel in wheels.items():
        assert wheel.stat().st_size <= LIMIT_BYTES[name], f"{wheel}: {wheel.stat().st_size} bytes"
        tag = re.search(r"-manylinux_(\d+)_(\d+)_x86_64\.whl$", wheel.name)
        assert tag and (int(tag[1]), int(tag[2])) <= SYSTEM_NEWEST, wheel.name
        with zipfile.ZipFile(wheel) as archive:
            files += archive.namelist()
            assert all(info.date_time == (1980, 1, 1, 0, 0, 0) for info in archive.infolist())
            archive.extractall(folder)
    assert len(files) == len(set(files)), "a file is in two wheels"
    for path in filter(pathlib.Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path)):
            assert SYSTEM.match(needed) or (path.parent / needed).exists(), f"{path.name} needs {needed}"
    assert list(folder.glob("burnish-*/licenses/third-party/llvm-19-dev")), "no licence of LLVM"


def write_models(folder):
    """model.onnx with any batch, fixed.onnx with one; inputs and ONNX Runtime's outputs. One is refused."""
    random = numpy.random.default_rng(0)

    def constant(name, *shape):
        values = (0.2 * random.standard_normal(shape)).astype(numpy.float32)
        return numpy_helper.from_array(values, name)

    def save(name, batch, nodes, constants, out, out_shape):
        image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [batch, 3, 32, 32])
        result = helper.make_tensor_value_info(out, onnx.TensorProto.FLOAT, [batch, *out_shape])
        graph = helper.make_graph(nodes, name, [image], [result], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")

    node = helper.make_node
    layers = [node("Conv", ["image", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
              node("Relu", ["c1"], ["r1"]),
              node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
              node("Conv", ["p1", "w2"], ["c2"], strides=[2, 2]),
              node("Sigmoid", ["c2"], ["s2"]),
              node("GlobalAveragePool", ["s2"], ["g"]), node("Flatten", ["g"], ["f"]),
              node("Gemm", ["f", "w3", "b3"], ["scores"])]
    constants = [constant("w1", 16, 3, 3, 3), constant("b1", 16), constant("w2", 24, 16, 3, 3),
                 constant("w3", 24, 10), constant("b3", 10)]
    save("model", "n", layers, constants, "scores", [10])
    save("fixed", 1, layers, constants, "scores", [10])
    save("unsupported", 1, [node("Det", ["image"], ["out"])], [], "out", [3])
    inputs = [random.random((batch, 3, 32, 32), numpy.float32) for batch in (1, 2)]
    for array, (scores,) in zip(inputs, reference.run(str(folder / "model.onnx"), [[a] for a in inputs])):
        numpy.save(folder / f"image_{len(array)}.npy", array)
        numpy.save(folder / f"scores_{len(array)}.npy", scores)


def hiding():
    """The command that runs another one without Debian's libraries, and its environment."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("BURNISH", "PYTHON", "LD_", "XDG"))}
    libraries = [str(path) for path in pathlib.Path("/usr/lib/x86_64-linux-gnu").iterdir()
                 if HIDDEN.match(path.name) and not path.is_symlink()]
    environment["HIDDEN"] = " ".join(libraries)
    command = ["unshare", "--mount", "bash", "-c", HIDE, "hide"]
    if subprocess.run([*command, "true"], env=environment, check=False).returncode != 0:
        print("wheel_test: mounts are not allowed here: only NEEDED entries say that no library is missing")
        command = []
    return command, environment


def import_seconds(python, environment, *modules):
    """Of CPU time, for each of `modules` alone, in turn. The least of eleven: the rest is other work's,
    which took as much again on a machine that other jobs had, too."""
    def once(module):
        code = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
        return float(output(python, "-c", code, env=environment))

    return [min(times) for times in zip(*([once(module) for module in modules] for _ in range(11)))]


def main(wheels):
    found = {path.name.split("-")[0]: path for path in pathlib.Path(wheels).resolve().glob("burnish*.whl")}
    assert set(found) == set(LIMIT_BYTES), f"{wheels} has {sorted(found)}"
    with tempfile.TemporaryDirectory(prefix="burnish-wheel-") as name:
        folder = pathlib.Path(name)
        check_wheels(found, folder / "unpacked")
        # NumPy from the registry once, as `./dev setup` has it; pip keeps it.
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d",
            folder / "install", f"numpy=={numpy.__version__}")
        for wheel in found.values():
            shutil.copy(wheel, folder / "install")
        run("/usr/bin/python3", "-m", "venv", folder / "venv")
        python = folder / "venv/bin/python"
        run(python, "-m", "pip", "install", "-q", "--no-index", "--find-links", folder / "install",
            "burnish")
        (folder / "run").mkdir()
        write_models(folder / "run")
        hidden, environment = hiding()
        environment.update(HOME=str(folder / "run"), TMPDIR=str(folder / "run"))
        here = {"cwd": folder / "run", "env": environment, "timeout": RUN_SECONDS}
        cases = pathlib.Path("python/tests/installed.py").resolve()
        run(*hidden, python, "-B", cases, folder / "run", **here)
        examples = pathlib.Path("python/examples").resolve()
        for example, *arguments in (
                ("run_model.py", "model.onnx", "image=1x3x32x32"),
                ("tune_model.py", "fixed.onnx", "example.bundle", "4", "example.db"),
                ("many_threads.py", "named.bundle", "4")):
            run(*hidden, python, "-B", examples / example, *arguments, **here)
        numpy_seconds, both_seconds = import_seconds(python, environment, "numpy", "numpy, burnish")
        seconds = both_seconds - numpy_seconds
        print(f"import burnish: {1e3 * seconds:.0f} ms of CPU beyond NumPy's {1e3 * numpy_seconds:.0f}")
        assert seconds <= IMPORT_SECONDS * max(1, numpy_seconds / NUMPY_SECONDS), seconds
        run(sys.executable, "-B", "deploy/page_test.py", folder / "install", "docs/python.md")


if __name__ == "__main__":
    main(*sys.argv[1:])
