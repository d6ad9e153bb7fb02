"""What `burnish` makes of its child: answers, errors, ends. The child is a script in tuner's place."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy

sys.path[:0] = ["python", "python/runtime", "tests/e2e/models"]

import burnish  # noqa: E402
from burnish import _pace, _programs, _tuner  # noqa: E402
import test_report  # noqa: E402

LAUNCHER = os.path.abspath("base/burnish-launcher")


class Programs:
    """A folder of programs whose `tuner` is a shell script."""

    def __init__(self, script):
        self._script = script

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = self._folder.name
        os.symlink(LAUNCHER, os.path.join(self.path, "burnish-launcher"))
        tuner = os.path.join(self.path, "tuner")
        with open(tuner, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + self._script)
        os.chmod(tuner, 0o755)
        self._before, _programs.FOLDER = _programs.FOLDER, self.path
        return self

    def __exit__(self, *_):
        _programs.FOLDER = self._before
        self._folder.cleanup()

    def wait_for(self, name):
        path = os.path.join(self.path, name)
        while not (os.path.exists(path) and os.path.getsize(path)):
            time.sleep(0.01)
        with open(path, encoding="utf-8") as file:
            return file.read().strip()


def raised(call, kind=burnish.BurnishError):
    try:
        got = call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}, but {got!r}")


def alive(process):
    """A process that is no zombie."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False  # The second: it was reaped between open and read.


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "30 seconds went by"
        time.sleep(0.01)


def test_an_interval_that_nobody_waits_for_is_refused():
    for call in (burnish.Study("s").resume, lambda **given: burnish.tune(burnish.Task("dense:k=8,m=8"), **given)):
        assert "callback" in str(raised(lambda call=call: call(interval=0.1), ValueError))
        for wrong in (0, -1.0, float("nan"), float("inf")):
            assert "interval" in str(raised(lambda call=call, wrong=wrong: call(callback=print, interval=wrong), ValueError))


def test_arguments_reach_tuner():
    script = r'''echo '{"schema": 1, "records": []}'; printf '%s\n' "$@" > "$0.args"'''
    with Programs(script) as programs:
        assert burnish.query("a model.onnx", top=3, trace=True, database="x.db") == []
        with open(os.path.join(programs.path, "tuner.args"), encoding="utf-8") as file:
            got = file.read().splitlines()
    assert got == ["query", "--model=a model.onnx", "--top=3", "--limit=100", "--trace",
                   "--db=x.db", "--json"], got


def test_error_as_json():
    error = {"error": {"code": "B0302", "message": "no Foo", "where": "m.onnx", "hint": "look"}}
    with Programs(f"echo talk >&2; echo '{json.dumps(error)}' >&2; exit 65"):
        got = raised(lambda: burnish.compile("m.onnx"))
    assert (got.code, str(got), got.__notes__) == ("B0302", "no Foo (m.onnx)", ["hint: look"]), got


def test_error_as_text():
    text = "talk\nerror[B0201]: no such file\n  where: m.onnx\n  hint: check the path\n"
    with Programs(f"cat >&2 <<'TEXT'\n{text}TEXT\nexit 66"):
        got = raised(lambda: burnish.compile("m.onnx"))
    assert (got.code, str(got)) == ("B0201", "no such file (m.onnx)"), got
    assert got.__notes__ == ["hint: check the path"], got.__notes__


def test_crash_is_an_exception_with_the_last_words():
    with Programs("echo early >&2; echo 'LLVM ERROR: no' >&2; kill -SEGV $$"):
        got = raised(lambda: burnish.compile("m.onnx"))
    assert got.code == "B0901" and "SIGSEGV" in str(got) and "LLVM ERROR: no" in str(got), got


def test_what_is_no_error_is_quoted():
    for talk in ("{", '{"error": 3}', '{"error": {"code": 1}}', "[1]", "error[B]: x"):
        with Programs(f"echo '{talk}' >&2; exit 3"):
            got = raised(lambda: burnish.compile("m.onnx"))
        assert got.code == "B0901" and "exit code 3" in str(got) and talk in str(got), (talk, got)


def test_programs_that_are_missing():
    with tempfile.TemporaryDirectory() as folder:
        before, _programs.FOLDER = _programs.FOLDER, folder
        try:
            got = raised(lambda: burnish.compile("m.onnx"))
        finally:
            _programs.FOLDER = before
    assert got.code == "B0801" and folder in str(got), got


def test_stream_that_is_left_ends_the_child():
    with Programs('echo $$ > "$0.pid"; echo "{}"; exec sleep 1000') as programs:
        stream = _tuner.stream("watch", [])
        next(stream)
        child = int(programs.wait_for("tuner.pid"))
        assert alive(child)
        stream.close()
        assert not alive(child)


# A Python that tunes and is ended from outside.
PARENT = """
import sys
sys.path[:0] = ["python", "python/runtime"]
import burnish
burnish._programs.FOLDER = sys.argv[1]
burnish.tune(burnish.Task("dense"))
"""


def start_parent(programs):
    # A shell's background job ignores Ctrl-C, and so would its children.
    parent = subprocess.Popen([sys.executable, "-c", PARENT, programs.path],
                              stderr=subprocess.PIPE, text=True, start_new_session=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return parent, int(programs.wait_for("tuner.pid"))


def test_ctrl_c_stops_the_child_softly():
    script = r"""trap 'echo soft > "$0.end"; exit 130' INT
echo $$ > "$0.pid"; while :; do sleep 0.05; done"""
    with Programs(script) as programs:
        parent, child = start_parent(programs)
        assert os.getpgid(child) == child, "Ctrl-C would reach the child and Python at once"
        parent.send_signal(signal.SIGINT)
        talk = parent.communicate()[1]
        assert "KeyboardInterrupt" in talk, talk
        assert not alive(child)
        assert programs.wait_for("tuner.end") == "soft"


def test_no_orphan_when_python_is_killed():
    with Programs('echo $$ > "$0.pid"; exec sleep 1000') as programs:
        parent, child = start_parent(programs)
        parent.kill()
        parent.communicate()
        wait_until(lambda: not alive(child))


def test_child_that_does_not_stop_is_killed():
    script = "trap '' INT; echo $$ > \"$0.pid\"; echo '{}'; while :; do sleep 0.05; done"
    with Programs(script) as programs:
        before, _tuner.STOP_SECONDS = _tuner.STOP_SECONDS, 0.2
        try:
            stream = _tuner.stream("watch", [])
            next(stream)
            child = int(programs.wait_for("tuner.pid"))
            stream.close()
        finally:
            _tuner.STOP_SECONDS = before
        wait_until(lambda: not alive(child))


def test_a_callback_that_raises_ends_the_run():
    script = r"""case $1 in
submit) echo $$ > "$0.pid"; echo '{"event": "submitted", "study": "s"}'; exec sleep 1000 ;;
watch) echo '{"study": "s", "title": "", "state": "running", "detail": "", "target": "",
"trials": 1, "trials_max": 4, "failures": {}, "model_ms": null, "tasks": [], "news": 1}' | tr '\n' ' '
  echo; exec sleep 1000 ;;
esac"""

    def callback(progress):
        assert progress.trials == 1 and not progress.ended, progress
        raise ValueError("enough")

    with Programs(script) as programs:
        got = raised(lambda: burnish.tune(burnish.Task("dense"), callback=callback), ValueError)
        assert str(got) == "enough"
        assert not alive(int(programs.wait_for("tuner.pid")))


def state_of(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


LOOPING = 'echo $$ > "$0.pid"; echo "{}"; exec sleep 1000'


def test_children_behind_calls_stand_still_in_them():
    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    with Programs(LOOPING) as programs:
        with _pace.behind_calls() as pace:
            assert _pace.active is pace
            stream = _tuner.stream("watch", [])
            next(stream)
            child = int(programs.wait_for("tuner.pid"))
            assert os.sched_getscheduler(child) == os.SCHED_IDLE
            for _ in range(3):
                with pace:
                    wait_until(lambda: state_of(child) == "T")
                wait_until(lambda: state_of(child) != "T")
            stopped = pace.stopped_s
            stream.close()
            assert not alive(child)
            cpu_s, wall_s = pace.taken
            assert stopped > 0 and 0 < cpu_s < 0.5 * wall_s, (stopped, cpu_s, wall_s)
        assert _pace.active is None
        stream = _tuner.stream("watch", [])
        next(stream)
        assert os.sched_getscheduler(int(programs.wait_for("tuner.pid"))) == os.SCHED_OTHER
        stream.close()


PACED_PARENT = PARENT.replace("burnish.tune(", "with burnish._pace.behind_calls():\n    burnish.tune(")


def test_no_paced_orphan_when_python_is_killed():
    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    # The one that would stay: a grandchild in a process group of its own, which nobody stops or waits for.
    with Programs('setsid sh -c "echo \\$\\$ > $0.pid; exec sleep 1000" & wait') as programs:
        parent = subprocess.Popen([sys.executable, "-c", PACED_PARENT, programs.path])
        child = int(programs.wait_for("tuner.pid"))
        with open(f"/proc/{child}/stat", encoding="utf-8") as file:
            tuner = int(file.read().rsplit(")", 1)[1].split()[1])
        parent.kill()
        parent.wait()
        wait_until(lambda: not alive(tuner))
        os.kill(child, signal.SIGKILL)  # Our own programs start theirs so that they die with them.


# Says when its turn has come.
BEHIND = """
import sys
sys.path[:0] = ["python", "python/runtime"]
from burnish import _pace
print("asks", flush=True)
with _pace.behind_calls():
    print("has", flush=True)
"""


def test_one_process_at_a_time_works_behind_calls():
    environment = {**os.environ, "XDG_CACHE_HOME": os.environ["TEST_TMPDIR"]}
    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    with _pace.behind_calls():
        child = os.fork()
        if child == 0:  # Has neither the page nor the lock.
            os._exit(0 if _pace.active is None and not _pace.launcher_flags() else 1)
        assert os.waitpid(child, 0)[1] == 0 and _pace.active is not None
        keeps = os.fork()
        if keeps == 0:
            time.sleep(60)
            os._exit(0)
        other = subprocess.Popen([sys.executable, "-c", BEHIND], env=environment, stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        time.sleep(0.3)
        assert other.poll() is None
    try:
        assert other.communicate(timeout=30)[0] == "has\n"
    finally:
        os.kill(keeps, signal.SIGKILL)
        os.waitpid(keeps, 0)


def test_calls_of_several_threads_are_counted():
    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    with _pace.behind_calls() as pace:
        def calls():
            for _ in range(2000):
                with pace:
                    pass
        threads = [threading.Thread(target=calls) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(pace._words[:2]) == [0, 8000], list(pace._words[:2])


def test_models_as_bytes_and_objects_are_kept_once():
    class Proto:
        def SerializeToString(self):
            return b"model"

    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    from burnish._model_source import model_flags
    flag, shape = model_flags(Proto(), {"x": (1, 3)})
    assert model_flags(b"model", None) == [flag] and shape == "--shape=x=1x3", (flag, shape)
    fixed = model_flags("m.onnx", None, {"rate": 16000, "axes": (1, -2), "scale": numpy.float32(0.5),
                                         "on": True})
    assert fixed[1:] == ["--value=rate=16000", "--value=axes=1,-2", "--value=scale=0.5",
                         "--value=on=true"], fixed
    with open(flag.removeprefix("--model="), "rb") as file:
        assert file.read() == b"model"
    assert "SerializeToString" in str(raised(lambda: burnish.compile(3), TypeError))


def graph_file(graph):
    """The JSON and the data of the file that `compile` would name."""
    os.environ["XDG_CACHE_HOME"] = os.environ["TEST_TMPDIR"]
    from burnish._model_source import model_flags
    flag, = model_flags(graph, None)
    with open(flag.removeprefix("--model="), "rb") as file:
        data = file.read()
    assert data[:8] == b"BURNGRPH"
    end = 16 + int.from_bytes(data[8:16], "little")
    assert end % 64 == 0
    return json.loads(data[16:end]), data[end:]


def test_graphs_are_files():
    graph = burnish.Graph("net")
    x = graph.input("x", (2, 3), "int64")
    tied = numpy.arange(6, dtype=">f4").reshape(2, 3)
    w = graph.constant(tied)
    again = graph.constant(tied)
    turned = graph.constant(tied.T, name="turned")
    scalar = graph.constant(numpy.float64(2))
    y, z = graph.node("op", x, w, again, turned, scalar, outputs=2, axis=numpy.int64(-1),
                      alpha=1.5, mode="same", pads=(1, 1), scales=[1, 0.5], axes=[], keep=True,
                      low=float("-inf"))
    graph.output(z)
    graph.output(y, "scores")
    header, data = graph_file(graph)
    assert header["inputs"] == [{"name": "x", "dtype": "i64", "shape": [2, 3]}]
    assert header["constants"] == [
        {"name": "constant_0", "dtype": "f32", "shape": [2, 3], "offsetBytes": 0},
        {"name": "turned", "dtype": "f32", "shape": [3, 2], "offsetBytes": 64},
        {"name": "constant_1", "dtype": "f64", "shape": [], "offsetBytes": 128}], header
    node, = header["nodes"]
    assert node["inputs"] == ["x", "constant_0", "constant_0", "turned", "constant_1"], node
    assert node["outputs"] == ["op_0:0", "op_0:1"], node
    assert node["attributes"] == {
        "axis": {"i": -1}, "alpha": {"f": 1.5}, "mode": {"s": "same"},
        "pads": {"ints": {"values": [1, 1]}}, "scales": {"floats": {"values": [1.0, 0.5]}},
        "axes": {"ints": {"values": []}}, "keep": {"i": 1}, "low": {"f": "-Infinity"}}, node
    assert header["outputs"] == [{"name": "op_0:1", "value": "op_0:1"},
                                 {"name": "scores", "value": "op_0:0"}], header
    assert len(data) == 192
    assert numpy.array_equal(numpy.frombuffer(data, "<f4", 6), numpy.arange(6))
    assert numpy.array_equal(numpy.frombuffer(data, "<f4", 6, 64), tied.T.reshape(-1))
    assert numpy.frombuffer(data, "<f8", 1, 128) == 2


def test_what_a_graph_refuses():
    graph, other = burnish.Graph(), burnish.Graph()
    x = graph.input("x", (2,))
    assert "'x'" in str(raised(lambda: graph.input("x", (2,)), ValueError))
    assert "another graph" in str(raised(lambda: other.node("relu", x), ValueError))
    assert "another graph" in str(raised(lambda: other.output(x), ValueError))
    assert "complex64" in str(raised(lambda: graph.constant(numpy.zeros(1, "complex64")), TypeError))
    assert "axis" in str(raised(lambda: graph.node("softmax", x, axis=None), TypeError))


def main():
    return test_report.run_functions("child_test", test_report.functions_of(globals()))


if __name__ == "__main__":
    sys.exit(main())
