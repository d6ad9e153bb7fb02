"""What the tests with torch share. First in each: `torch_harness.start(__file__)`, before torch is imported.

usage of such a test: TEST.py TUNER LAUNCHER
"""

import contextlib
import importlib.util
import logging
import os
import pathlib
import sys
import tempfile

sys.path[:0] = ["python", "python/runtime", "tests/e2e/models", "tests/bench/harness",
                "deploy"]

import test_report  # noqa: E402
import torch_libraries  # noqa: E402
import wheel  # noqa: E402

THREADS = "2"
_folder = tempfile.TemporaryDirectory()


def start(file, *packages):
    """Goes on in a process where torch can be imported and `burnish` finds its programs; where torch or
    one of `packages` is not installed, ends with a case that says so."""
    missing = [name for name in ("torch", *packages) if importlib.util.find_spec(name) is None]
    if missing:
        report = test_report.Report(name_of(file))
        report.run(missing[0], lambda: (["tests/requirements-torch.txt is not installed"], ""),
                   skip_reason=f"needs {missing[0]}, which ./dev setup --with torch installs")
        sys.exit(report.finish())
    if "BURNISH_TORCH_LIBRARIES" not in os.environ:
        folder = tempfile.mkdtemp()
        os.environ.update(torch_libraries.environment(pathlib.Path(folder)), OMP_NUM_THREADS=THREADS,
                          BURNISH_TORCH_LIBRARIES=folder, XDG_CACHE_HOME=folder, XDG_DATA_HOME=folder,
                          PYTHONPATH=os.pathsep.join(map(os.path.abspath, sys.path[:5])))
        _register(folder)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    from burnish import _programs
    _programs.FOLDER = _folder.name
    for path in sys.argv[1:3]:
        os.symlink(os.path.abspath(path), os.path.join(_folder.name, os.path.basename(path)))


def _register(folder):
    """As installing the wheel does it: with the entry points that deploy/wheel.py writes."""
    info = os.path.join(folder, "burnish-0.dist-info")
    os.mkdir(info)
    for name, text in (("METADATA", "Metadata-Version: 2.4\nName: burnish\nVersion: 0\n"),
                       ("entry_points.txt", wheel.ENTRY_POINTS)):
        with open(os.path.join(info, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.environ["PYTHONPATH"] += os.pathsep + folder


def name_of(file):
    return os.path.splitext(os.path.basename(file))[0]


def raised(call, kind, *texts):
    """What `call` raises, whose message must hold each of `texts`."""
    try:
        got = call()
    except kind as error:
        missing = [text for text in texts if text not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        return error
    raise AssertionError(f"no {kind.__name__}, but {got!r}")


@contextlib.contextmanager
def said():
    """What the backend logs meanwhile."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("burnish.torch")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


def close(got, want, limit=1e-4):
    """Equal types and shapes, and an error of at most `limit` of the largest element."""
    import torch
    assert isinstance(got, torch.Tensor), type(got)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype)
    if not want.numel():
        return
    if not want.is_floating_point():
        assert torch.equal(got, want), (got, want)
        return
    scale = max(want.abs().max().item(), 1e-6)
    error = (got - want).abs().max().item() / scale
    assert error <= limit, f"error {error:.2e} of the scale"


def run_cases(module):
    """Last in a test's file, with its __name__: each function `test_...` is a case."""
    if module != "__main__":
        return
    main = sys.modules["__main__"]
    wanted = os.environ.get("TESTBRIDGE_TEST_ONLY", "")

    cases = [(name, case) for name, case in test_report.functions_of(vars(main)) if wanted in name]
    sys.exit(test_report.run_functions(name_of(main.__file__), cases))
