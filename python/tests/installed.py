"""usage: installed.py FOLDER   `burnish` as its users have it, with its own programs. deploy/wheel_test.py
installs it and runs this in its interpreter; FOLDER has models and ONNX Runtime's answers.
"""

import dataclasses
import glob
import importlib.metadata
import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import numpy

import burnish
from burnish import _programs

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "."
MODEL = os.path.join(FOLDER, "model.onnx")
SCRIPTS = os.path.dirname(sys.executable)
# What the compiler promises of a model's error: docs/contracts.md.
TOLERANCE = 1e-4


def array(name):
    return numpy.load(os.path.join(FOLDER, name + ".npy"))


def check(got, name):
    want = array(name)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape)
    error = numpy.abs(got - want).max() / numpy.abs(want).max()
    assert error <= TOLERANCE, error


def raised(call, code=None, kind=burnish.BurnishError):
    try:
        got = call()
    except kind as error:
        if kind is burnish.BurnishError:
            assert error.code == code, (error.code, str(error))
        return error
    raise AssertionError(f"no {kind.__name__}, but {got!r}")


def programs_running():
    """Processes of the wheel's programs that are no zombies."""
    found = []
    for exe in glob.glob("/proc/[0-9]*/exe"):
        try:
            if os.readlink(exe).startswith(_programs.FOLDER + "/"):
                found.append(os.readlink(exe))
        except OSError:
            pass
    return found


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{seconds} seconds went by"
        time.sleep(0.05)


def test_compiled_model_agrees_with_onnx_runtime():
    model = burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)})
    check(model(array("image_1")), "scores_1")
    check(model(image=array("image_1")), "scores_1")


def test_16_bit_storage_is_close_and_not_equal():
    model = burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)}, precision="bf16", accuracy=0.2)
    got, want = model(array("image_1")), array("scores_1")
    assert got.dtype == numpy.float32
    assert 0 < numpy.abs(got - want).max() <= 0.2 * numpy.abs(want).max()
    # What no 16 bits keep is in f32.
    model = burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)}, precision="bf16",
                            accuracy=1e-6)
    check(model(array("image_1")), "scores_1")
    raised(lambda: burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)}, precision="int8"),
           "B0101")
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(os.path.join(folder, "image.npy"), array("image_1"))
        model = burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)}, precision="auto",
                                accuracy=0.2, data=folder)
        got = model(array("image_1"))
        assert numpy.abs(got - want).max() <= 0.2 * numpy.abs(want).max()
        numpy.save(os.path.join(folder, "image.npy"), array("image_1")[..., :16])
        raised(lambda: burnish.compile(MODEL, shapes={"image": (1, 3, 32, 32)}, precision="bf16",
                                       data=folder), "B0404")


def test_bytes_and_objects():
    with open(MODEL, "rb") as file:
        data = file.read()

    class Proto:
        def SerializeToString(self):
            return data

    for source in (data, Proto()):
        model = burnish.compile(source, shapes={"image": (2, 3, 32, 32)})
        check(model(array("image_2")), "scores_2")


def test_graphs():
    rng = numpy.random.default_rng(0)
    weights = rng.standard_normal((16, 24), dtype=numpy.float32)
    graph = burnish.Graph("tied")
    x = graph.input("x", (4, 16))
    table = graph.constant(weights)
    hidden = graph.node("relu", graph.node("matmul", x, table))
    graph.output(graph.node("matmul", hidden, graph.constant(weights), trans_b=1), "y")
    graph.output(hidden, "hidden")
    given = rng.standard_normal((4, 16), dtype=numpy.float32)
    want = numpy.maximum(given @ weights, 0)
    y, hidden = burnish.compile(graph)(given)
    assert numpy.allclose(hidden, want, atol=1e-5) and numpy.allclose(y, want @ weights.T, atol=1e-4)
    graph.save("tied.graph")
    y, _ = burnish.compile("tied.graph")(given)
    assert numpy.allclose(y, want @ weights.T, atol=1e-4)
    model = burnish.compile(graph, refit=True)
    parameter, = model.parameters  # Tied: one.
    assert parameter.name == table.name
    y, hidden = model.refit({parameter.name: 2 * weights})(given)
    assert numpy.allclose(hidden, 2 * want, atol=1e-5)
    assert numpy.allclose(y, 4 * (want @ weights.T), atol=4e-4)
    graph.node("no_such_operator", x)
    assert "no_such_operator" in str(raised(lambda: burnish.compile(graph), "B0302"))


def test_one_model_for_many_batches():
    model = burnish.compile(MODEL, dims={"n": (1, 4)})
    for batch in (1, 2, 1):
        check(model(array(f"image_{batch}")), f"scores_{batch}")
    assert model.inputs[0].shape == (4, 3, 32, 32)
    many = numpy.zeros((5, 3, 32, 32), numpy.float32)
    assert "(n) is 5, want 1 to 4" in str(raised(lambda: model(many), "B0404"))
    fixed = burnish.compile(MODEL, dims={"n": 2})
    check(fixed(array("image_2")), "scores_2")
    raised(lambda: burnish.compile(MODEL, dims={"batch": (1, 4)}), "B0307")


def test_bundle_of_a_name_and_of_none():
    shapes = {"image": (1, 3, 32, 32)}
    path = burnish.compile(MODEL, "named.bundle", shapes=shapes)
    assert path == "named.bundle"
    check(burnish.load(path)(array("image_1")), "scores_1")
    model = burnish.compile(MODEL, shapes=shapes)
    check(burnish.load(model.path, share_with=model)(array("image_1")), "scores_1")


def test_only_the_runtime_is_in_this_process():
    test_compiled_model_agrees_with_onnx_runtime()
    with open("/proc/self/maps", encoding="utf-8") as file:
        loaded = set(re.findall(r"/[^/\n]+\.so[.\d]*$", file.read(), re.MULTILINE))
    wrong = [name for name in loaded if re.search("LLVM|lld|grpc|absl|protobuf|gomp|xgboost|mimalloc", name)]
    assert not wrong and any("_burnish_runtime" in name for name in loaded), loaded


def test_what_cannot_be_compiled():
    raised(lambda: burnish.compile("missing.onnx"), "B0201")
    raised(lambda: burnish.compile(b"no model"), "B0301")
    raised(lambda: burnish.compile(MODEL), "B0303")
    error = raised(lambda: burnish.compile(os.path.join(FOLDER, "unsupported.onnx")), "B0302")
    assert error.__notes__ and error.__notes__[0].startswith("hint: "), error.__notes__
    raised(lambda: burnish.compile(burnish.Task("no_such_model")), "B0305")
    raised(lambda: burnish.compile(burnish.Task("dense:k=8,m=8"), target="z80"), "B0103")
    raised(lambda: burnish.compile(burnish.Task("dense:k=8,m=8"), "no/folder/x.bundle"), "B0204")
    raised(lambda: burnish.compile(burnish.Task("dense:k=8,m=8"), require_tuned=True,
                                   database="empty.db"), "B0603")


def test_what_cannot_be_run():
    raised(lambda: burnish.load(MODEL), "B0401")
    model = burnish.compile(burnish.Task("dense:k=8,m=8"))
    raised(lambda: model(numpy.zeros((1, 9), numpy.float32)), "B0404")
    raised(lambda: model(y=numpy.zeros((1, 8), numpy.float32)), "B0405")


def test_crash_of_the_compiler_is_an_exception():
    folder = os.path.abspath("crashing")
    os.mkdir(folder)
    for name in os.listdir(_programs.FOLDER):
        if name != "builder":  # They find each other in the folder of their own file.
            os.link(os.path.join(_programs.FOLDER, name), os.path.join(folder, name))
    with open(os.path.join(folder, "builder"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho 'LLVM ERROR: told by the test' >&2\nkill -SEGV $$\n")
    os.chmod(os.path.join(folder, "builder"), 0o755)
    before, _programs.FOLDER = _programs.FOLDER, folder
    try:
        error = raised(lambda: burnish.compile(burnish.Task("dense:k=8,m=8")), "B0802")
    finally:
        _programs.FOLDER = before
    assert "builder" in str(error), error


def test_tune_with_a_callback():
    seen = []
    result = burnish.tune(burnish.Task("matmul:m=64,n=64,k=64"), "tuned.bundle", trials=4,
                          database="tune.db", callback=seen.append, interval=0.1)
    assert (result.trials, result.reason, result.cancelled) == (4, "trials", False), result
    assert result.bundle and result.tasks[0].trials == 4 and result.tasks[0].best_ms > 0, result
    assert seen and seen[-1].state == "done" and seen[-1].trials == 4, seen
    assert [p.trials for p in seen] == sorted(p.trials for p in seen), seen
    assert seen[-1].study == result.study.id and seen[-1].tasks[0].best_ms > 0, seen[-1]

    a, b = numpy.random.default_rng(0).random((2, 64, 64), numpy.float32)
    product = burnish.load(result.bundle)(a, b)
    numpy.testing.assert_allclose(product, a @ b, rtol=1e-5)

    records = burnish.query(burnish.Task("matmul:m=64,n=64,k=64"), database="tune.db", top=3, trace=True)
    assert 1 <= len(records) <= 3 and records[0].rank_ms == min(r.rank_ms for r in records), records
    assert "@" in records[0].trace and records[0].name == result.tasks[0].name, records[0]
    assert records == burnish.query(task=records[0].workload[:12], database="tune.db", top=3, trace=True)
    assert [s.id for s in burnish.studies(database="tune.db", state="done")] == [result.study.id]
    assert result.study.result() == result.study.progress()
    raised(lambda: burnish.query(task="nothing", database="tune.db"), "B0603")
    raised(lambda: burnish.Study("nothing", database="tune.db").progress(), "B0601")


def test_cancel_and_resume():
    with open(MODEL, "rb") as file:
        model = file.read()
    before = []

    def stop(progress):
        before.append(progress.trials)
        return progress.trials < 2

    result = burnish.tune(model, "resumed.bundle", shapes={"image": (1, 3, 32, 32)}, trials=24,
                          database="cancel.db", callback=stop, interval=0.1)
    assert result.cancelled and result.bundle is None and 2 <= result.trials < 24, result
    assert result.study.progress().state == "cancelled"
    raised(result.study.result, "B0602")
    again = burnish.Study(result.study.id, database="cancel.db").resume()
    assert again.reason == "trials" and again.trials == 24 and not again.cancelled, again
    assert again.bundle and os.path.exists("resumed.bundle"), again
    check(burnish.load(again.bundle)(array("image_1")), "scores_1")
    assert burnish.query(model, database="cancel.db")


TUNING = """
import burnish
burnish.tune(burnish.Task("matmul:m=64,n=64,k=64"), trials=1000000, database="ended.db",
             callback=lambda progress: None, interval=0.1)
"""


def test_nothing_outlives_python():
    for how in (signal.SIGINT, signal.SIGKILL):
        # A shell's background job ignores Ctrl-C, and so would its children.
        parent = subprocess.Popen([sys.executable, "-c", TUNING], stderr=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        # The study, who watches it, a tracker, two workers and the first one's builder.
        wait_until(lambda: len(programs_running()) >= 6)
        parent.send_signal(how)
        talk = parent.communicate()[1]
        wait_until(lambda: not programs_running())
        if how == signal.SIGINT:
            assert "KeyboardInterrupt" in talk, talk
            study = burnish.studies(database="ended.db", limit=1)[0]
            assert study.progress().state == "interrupted", study.progress()


def test_a_daemon_tunes():
    daemon = subprocess.Popen([os.path.join(SCRIPTS, "tuner"), "serve", "--listen", "unix:tuner.sock",
                               "--db", "daemon.db", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        server = re.search(r'"address":"([^"]+)"', daemon.stdout.readline())[1]
        result = burnish.tune(burnish.Task("dense:k=64,m=10"), "daemon.bundle", trials=2,
                              server=server)
        assert result.trials == 2 and os.path.exists(result.bundle), result
        study, = burnish.studies(server=server)
        assert study.result().state == "done"
        record, = burnish.query(burnish.Task("dense:k=64,m=10"), server=server)
        assert record.trial.startswith(study.id), record
        assert burnish.load(result.bundle)(numpy.ones((1, 64), numpy.float32)).shape == (1, 10)
    finally:
        daemon.terminate()
        daemon.wait()
    wait_until(lambda: not programs_running())


def test_commands():
    for command, name in (("tuner", "tuner"), ("burnish-tracker", "tracker"), ("burnish-worker", "worker")):
        said = subprocess.run([os.path.join(SCRIPTS, command), "--version"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        assert said.startswith(f"{name} {burnish.__version__}"), said


def test_pytorch_finds_the_backend_and_nothing_needs_pytorch():
    backends = [one for one in importlib.metadata.entry_points(group="torch_dynamo_backends")
                if one.name.startswith("burnish")]
    assert len(backends) == 6, backends
    for backend in backends:
        module, _, name = backend.value.partition(":")
        path = os.path.join(os.path.dirname(os.path.dirname(burnish.__file__)), *module.split(".")) + ".py"
        with open(path, encoding="utf-8") as file:
            assert name == backend.name and f"def {name}(" in file.read(), backend.value
    assert "torch" not in sys.modules
    burnish.refresh()
    raised(lambda: burnish.from_torch("model.pt2"), kind=ModuleNotFoundError)


def test_what_the_package_says_of_itself():
    assert importlib.metadata.version("burnish") == burnish.__version__
    needs = importlib.metadata.requires("burnish")
    assert sorted(re.split("[=><]", need)[0] for need in needs) == ["burnish-runtime", "numpy"], needs
    assert f"burnish-runtime=={burnish.__version__}" in needs, needs
    for name in burnish.__all__:
        value = getattr(burnish, name)
        assert name == "__version__" or inspect.getdoc(value), f"{name} has no docstring"
        if name != "Task" and dataclasses.is_dataclass(value):
            assert value.__dataclass_params__.frozen, name
    assert os.path.exists(os.path.join(os.path.dirname(burnish.__file__), "py.typed"))


def main():
    cases = {name: case for name, case in globals().items() if name.startswith("test_") and callable(case)}
    failed = 0
    for name, case in cases.items():
        start = time.monotonic()
        try:
            case()
            result = "ok"
        except Exception:  # pylint: disable=broad-except
            failed += 1
            result = "FAILED"
            traceback.print_exc()
        print(f"{name}: {result} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
