"""Studies that torch.compile starts, with real programs: on a farm, behind calls, and of a dump. `torch_swap_test` has a
stub in the study's place, and all that can happen meanwhile."""

import torch_harness

torch_harness.start(__file__)

import contextlib  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

sys.path.insert(0, "tests/e2e/cli")
import burnish  # noqa: E402
import harness  # noqa: E402
from burnish import _pace, functorch  # noqa: E402
from burnish._torch import pieces  # noqa: E402
from torch_harness import close, said  # noqa: E402

X = torch.randn(16, 64, generator=torch.Generator().manual_seed(1))
TRIALS = 2


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()


@contextlib.contextmanager
def folder_of_programs():
    """A short path, because sockets lie in it, and the programs."""
    with tempfile.TemporaryDirectory(prefix="torch", dir="/tmp") as folder:
        yield folder, harness.Programs(sys.argv[1], folder)


@contextlib.contextmanager
def all_said():
    """What the backend logs, news included."""
    logger = logging.getLogger("burnish.torch")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        with said() as lines:
            yield lines
    finally:
        logger.setLevel(before)


def tuned(database, **options):
    """Calls a model until its study and the swap are over; what was said."""
    torch._dynamo.reset()
    before, model = pieces.live_pieces(), net()
    run = torch.compile(model, backend="burnish", options={
        "cache": False, "threads": 1, "trials": TRIALS, "database": database, **options})
    with torch.no_grad(), all_said() as lines:
        want = model(X)
        close(run(X), want)
        piece, = (one for one in pieces.live_pieces() if one not in before)
        default, = piece.bundles.values()
        assert default.how == "compiled", default
        while not burnish.wait(0.1):
            close(run(X), want)
        now, = piece.bundles.values()
        close(run(X), want)
    refused = [line for line in lines if "is not taken: it takes" in line]
    # Which of both depends on what the trials find.
    assert len(refused) == (now is default), (now, lines)
    assert not [line for line in lines if "was not tuned" in line], lines
    return lines


def studies_of(database):
    """How they ended, and how many records were made."""
    found = [study.progress() for study in burnish.studies(database=database)]
    return [(one.state, one.trials, one.trials_max) for one in found]


def test_on_a_farm():
    with folder_of_programs() as (folder, programs):
        database = os.path.join(folder, "farm.db")
        with programs.daemon(programs.tracker, "--listen", f"unix:{folder}/tracker.sock") as tracker:
            with programs.worker_of(tracker.address, "--build", "1", "--run", "cpu", "--id", "one",
                                    "--lock-folder", folder, "--drain-seconds", "1"):
                tuned(database, tune=f"farm:{tracker.address}")
                there = programs.run("workers", "--tracker", tracker.address, "--json")
        worker, = json.loads(there.out)["workers"]
        built, ran = worker["slots"]
        # Each trial and the two tasks' default schedules. A trial that is a new best runs once more, and what wins
        # runs inside the model, too: as the clock has it.
        assert (built["kind"], built["done"]) == ("build", TRIALS + 2), worker
        assert ran["kind"] == "run" and ran["done"] >= TRIALS + 2, worker
        assert studies_of(database) == [("done", TRIALS, TRIALS)]


def test_behind_calls():
    with folder_of_programs() as (folder, programs):
        database = os.path.join(folder, "behind.db")
        lines = tuned(database, tune="background")
        assert studies_of(database) == [("done", TRIALS, TRIALS)]
    text, = (line for line in lines if "was tuned behind its calls" in line)
    cpu_s, wall_s = map(float, re.search(r"([0-9.]+) s of CPU time in ([0-9.]+) s", text).groups())
    # The share, but for a slice of a second's worth.
    assert 0 < cpu_s <= _pace.SHARE_PERCENT / 100 * _pace.cpu_count() * (wall_s + 1), text
    assert _pace.active is None


def test_of_a_dump():
    torch._dynamo.reset()
    with folder_of_programs() as (folder, programs):
        dumped, database, bundle = (os.path.join(folder, name) for name in ("dumped", "dump.db", "dump.bundle"))
        model = net()
        run = torch.compile(model, backend=functorch.graph_dumper_aot("net", dumped))
        with torch.no_grad():
            close(run(X), model(X))
        forward = os.path.join(dumped, "net_forward_0")
        done = programs.run("submit", "--graph", forward, "--trials", "2", "--db", database, "--out", bundle,
                            "--threads", "1")
        assert done.code == 0, done.err
        assert studies_of(database) == [("done", 2, 2)]
        inputs = functorch.random_inputs(forward)
        got = burnish.load(bundle)(*(x.numpy() for x in inputs))
        first, bias, x, second, last = inputs  # In the order in which the graph reads them.
        want = torch.relu(x @ first.t() + bias) @ second.t() + last
        close(torch.from_numpy(got), want)


torch_harness.run_cases(__name__)
