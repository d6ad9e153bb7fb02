"""Bundles that other processes compiled: found, refitted, shared, bounded, and never believed."""

import torch_harness

torch_harness.start(__file__)

import gc  # noqa: E402
import glob  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

from burnish import _cache, _programs  # noqa: E402
from burnish._torch import making, pieces  # noqa: E402
from torch_harness import close, raised  # noqa: E402


def fresh_cache():
    folder = os.path.join(tempfile.mkdtemp(), "bundles")
    os.environ["BURNISH_BUNDLE_CACHE"] = folder
    return folder


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4)).eval()


X = torch.arange(3 * 36.0).reshape(1, 3, 6, 6).cos()


def origin(model, x=X, **options):
    """Where the bundle of a new torch.compile came from, after its answer was held to eager's."""
    torch._dynamo.reset()
    before = pieces.live_pieces()
    run = torch.compile(model, backend="burnish", options=options)
    with torch.no_grad():
        close(run(x), model(x))
    piece, = (one for one in pieces.live_pieces() if one not in before)
    bundle, = piece.bundles.values()
    return bundle.how


def names(folder, pattern="*.bundle"):
    return sorted(glob.glob(os.path.join(folder, pattern)))


def test_the_same_model_again():
    folder = fresh_cache()
    assert origin(net()) == "compiled"
    assert origin(net()) == "cached"
    assert len(names(folder)) == 1 and not names(folder, "part-*"), os.listdir(folder)
    assert origin(net(), cache=False) == "compiled"


def test_no_collection_of_old_objects_falls_into_a_compilation_but_one_falls_due_again():
    def collections():
        return gc.get_stats()[2]["collections"]

    fresh_cache()
    origin(net())  # What is imported at the first graph is.
    during = []
    write = pieces.Piece._written

    def written(*args):
        before = collections()
        kept = [[] for _ in range(20_000)]
        result = write(*args)
        during.append(collections() - before)
        return result, kept

    thresholds = gc.get_threshold()
    pieces.Piece._written = lambda *args: written(*args)[0]
    try:
        for postpones in (True, False):  # The second of one time: that is not put off again.
            if postpones:
                gc.collect()
            gc.set_threshold(700, 10, 1 << 30)
            keep = [[] for _ in range(len(gc.get_objects()))]
            gc.set_threshold(700, 10, 10)  # Due now.
            origin(net(1 + postpones))
        # An error leaves it as it was, too.
        pieces.Piece._written = None
        raised(lambda: origin(net(3)), TypeError)
    finally:
        pieces.Piece._written = write
        gc.set_threshold(*thresholds)
    assert keep and during[0] == 0, during
    assert gc.isenabled() and not gc.get_freeze_count() and gc.get_threshold() == thresholds


def test_what_a_process_has_frozen_stays_so():
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        origin(net(), cache=False)
        assert 0.9 * count < gc.get_freeze_count() <= count  # Some of them are gone by themselves.
    finally:
        gc.unfreeze()


def test_what_decides_about_the_code():
    fresh_cache()
    assert origin(net()) == "compiled"
    assert origin(net(), X.repeat(2, 1, 1, 1)) == "compiled"
    assert origin(net(), threads=1) == "compiled"
    assert origin(net(), opt_level=1) == "compiled"
    assert origin(net(), accuracy=1e-3) == "compiled"
    with tempfile.NamedTemporaryFile() as database:
        key = _cache.database_stamp(database.name)
        database.write(b"records")
        database.flush()
        assert _cache.database_stamp(database.name) != key
    assert origin(net()) == "cached"


def test_settings_decide_too():
    fresh_cache()
    assert origin(net()) == "compiled"
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        os.mkdir(os.path.join(folder, "burnish"))
        path = pathlib.Path(folder, "burnish", "config.toml")
        try:
            assert origin(net()) == "cached" and _cache.setting("target") is None
            path.write_text('calibration = "table"', encoding="utf-8")
            assert origin(net()) == "compiled" and origin(net()) == "cached"
            os.environ["BURNISH_CALIBRATION"] = "auto"
            assert _cache.setting("calibration") == "auto" and origin(net()) == "compiled"
            del os.environ["BURNISH_CALIBRATION"]
            path.write_text(f'db = "sqlite:{folder}/a.db"', encoding="utf-8")
            first = _cache.database_stamp(None)
            pathlib.Path(folder, "a.db").write_bytes(b"records")
            assert _cache.database_stamp(None) != first
            path.write_text("no toml", encoding="utf-8")
            assert _cache.setting("db") is None
            os.environ["BURNISH_SERVER"] = "localhost:7272"
            assert not _cache.user_cache().usable()
        finally:
            os.environ.clear()
            os.environ.update(before)
    assert origin(net()) == "cached"


def test_other_weights():
    folder = fresh_cache()
    assert origin(net()) == "compiled"
    assert origin(net(1)) == "compiled"  # The first bundle takes no others.
    model = net(2)
    torch._dynamo.reset()  # Else what was compiled for the second takes this one's weights.
    run = torch.compile(model, backend="burnish")
    with torch.no_grad():
        close(run(X), model(X))
        model[0].weight.mul_(2)  # Compiled again, so that weights can be replaced.
        close(run(X), model(X))
    assert len(names(folder, "*-refit.bundle")) == 1
    assert origin(net(3)) == "refitted"
    how = origin(model)
    assert how == "cached", how


def test_a_file_that_is_no_bundle():
    folder = fresh_cache()
    assert origin(net()) == "compiled"
    path, = names(folder)
    whole = pathlib.Path(path).read_bytes()
    for damaged in (b"", b"x" * 5000, whole[:len(whole) // 2],
                    bytes(byte ^ 255 for byte in whole)):
        os.unlink(path)  # Else who has it open reads what is written now.
        pathlib.Path(path).write_bytes(damaged)
        assert origin(net()) == "compiled", len(damaged)
        assert origin(net()) == "cached"
    os.unlink(path)
    os.mkdir(path)
    assert origin(net(), threads=1) == "compiled"


def test_a_bundle_of_another_model():
    folder = fresh_cache()
    assert origin(net()) == "compiled"
    ours, = names(folder)
    assert origin(nn.Sequential(nn.Linear(128, 4), nn.ReLU()).eval(), torch.ones(1, 128)) == "compiled"
    other, = set(names(folder)) - {ours}
    os.replace(other, ours)
    assert origin(net()) == "compiled"


def test_a_folder_that_others_may_write_to():
    folder = fresh_cache()
    os.makedirs(folder)
    os.chmod(folder, 0o777)
    assert origin(net()) == "compiled" and origin(net()) == "compiled"
    assert not os.listdir(folder)
    os.chmod(folder, 0o700)
    assert origin(net()) == "compiled" and origin(net()) == "cached"
    os.environ["BURNISH_BUNDLE_CACHE"] = "/proc/no/such"
    assert origin(net()) == "compiled"


def test_the_size_is_bounded():
    folder = fresh_cache()
    origin(net())
    size = os.path.getsize(names(folder)[0])
    os.environ["BURNISH_BUNDLE_CACHE_BYTES"] = str(2 * size + size // 2)
    try:
        for seed, age in ((0, 300), (1, 200)):
            origin(net(seed))
            for path in names(folder):
                os.utime(path, (os.path.getmtime(path) - age,) * 2)
        assert origin(net(0)) == "cached"  # Now the last used.
        assert origin(net(2)) == "compiled" and len(names(folder)) == 2
        assert origin(net(0)) == "cached"
        assert origin(net(1)) == "compiled"
        os.environ["BURNISH_BUNDLE_CACHE_BYTES"] = "0"
        assert origin(net(0)) == "compiled"
        os.environ["BURNISH_BUNDLE_CACHE_BYTES"] = "many"
        torch_harness.raised(lambda: origin(net(0)), Exception, "BURNISH_BUNDLE_CACHE_BYTES", "many")
    finally:
        del os.environ["BURNISH_BUNDLE_CACHE_BYTES"]


def test_files_that_nobody_writes_any_more():
    folder = fresh_cache()
    os.makedirs(folder, 0o700)
    old, new = (os.path.join(folder, name) for name in ("part-old", "part-new"))
    for path in (old, new):
        pathlib.Path(path).touch()
    os.utime(old, (1e9, 1e9))
    origin(net())
    assert not os.path.exists(old) and os.path.exists(new)


PROCESS = """
import sys
sys.path.insert(0, "python/tests")
folder, sys.argv[1:] = sys.argv[1], []
import torch_cache_test as test
test._programs.FOLDER = folder
print(test.origin(test.net()))
"""


def test_processes_at_the_same_time():
    folder = fresh_cache()
    children = [subprocess.Popen([sys.executable, "-c", PROCESS, _programs.FOLDER], stdout=subprocess.PIPE,
                                 text=True) for _ in range(3)]
    said = sorted(child.communicate()[0].strip() for child in children)
    assert all(child.returncode == 0 for child in children)
    assert said == ["cached", "cached", "compiled"], said
    assert len(names(folder)) == 1


def test_a_lock_ends_with_its_process():
    cache = _cache.Cache(fresh_cache(), 1)
    assert cache.usable()
    key = _cache.Key("0" * 32, "1" * 32)
    child = os.fork()
    if child == 0:
        with cache.alone(key):
            os._exit(0)
    os.waitpid(child, 0)
    with cache.alone(key):
        pass


def test_a_compile_that_fails_leaves_nothing():
    folder = fresh_cache()
    compile_, failing = making.compile_graph, []

    def fails(*args, **kwargs):
        failing.append(args[1])
        raise KeyboardInterrupt

    making.compile_graph = fails
    try:
        try:
            origin(net())
        except KeyboardInterrupt:
            pass
    finally:
        making.compile_graph = compile_
    assert failing and not [name for name in os.listdir(folder) if not name.startswith("lock")]
    assert origin(net()) == "compiled"


torch_harness.run_cases(__name__)
