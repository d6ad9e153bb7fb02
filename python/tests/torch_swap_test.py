"""Bundles that come while a model runs: when they are taken, and that no call sees the change."""

import torch_harness

torch_harness.start(__file__)

import contextlib  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish import _pace  # noqa: E402
from burnish._torch import making, pieces, swapping  # noqa: E402
from burnish._torch.options import options_of  # noqa: E402
from torch_harness import close, raised, said  # noqa: E402

X = torch.randn(1, 3, 12, 12, generator=torch.Generator().manual_seed(1))
CALLS, THREADS, SWAPS_MIN = 10000, 4, 20


def net():
    torch.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())]
    return nn.Sequential(nn.Conv2d(3, 8, 3), *layers).eval()


def started(model, x=X, **options):
    """A model of torch.compile after its first call, and its piece."""
    torch._dynamo.reset()
    before = pieces.live_pieces()
    run = torch.compile(model, backend="burnish", options={"cache": False, **options})
    with torch.no_grad():
        close(run(x), model(x))
    piece, = (one for one in pieces.live_pieces() if one not in before)
    return run, piece


def how(piece):
    bundle, = piece.bundles.values()
    return bundle.how, bundle.model is not None


@contextlib.contextmanager
def replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield before
    finally:
        setattr(owner, name, before)


def arguments(run, piece):
    """What the piece gets in a call."""
    seen = []
    piece.__dict__["forward"] = lambda *args: seen.append(args) or type(piece).forward(piece, *args)
    with torch.no_grad():
        run(X)
    del piece.__dict__["forward"]
    return seen[0]


# ---- When one is taken.

class Ways:
    """Two ways to compute that take as long as a made-up clock says."""

    def __init__(self, old, new, results=None):
        self.now, self.counts, self.order = 0.0, {"old": 0, "new": 0}, []
        self.times = {"old": old, "new": new}
        self.results = results or {}

    def call(self, name):
        def run(args):
            i, self.counts[name] = self.counts[name], self.counts[name] + 1
            self.order.append(name)
            self.now += self.times[name](i)
            return self.results.get(name, args[0] * 2)
        return run

    def refusal(self):
        return swapping.refusal(self.call("old"), self.call("new"), (torch.ones(3),), lambda: self.now)


def noisy(seconds):
    return lambda i: seconds * (1 + 0.2 * ((i * 7919) % 11) / 11)


def test_a_faster_one_is_taken_after_enough_pairs():
    ways = Ways(noisy(1e-3), noisy(0.8e-3))
    assert ways.refusal() == ""
    pairs = ways.counts["new"] - 3
    assert pairs == ways.counts["old"] - 3 and pairs >= swapping.PAIRS_MIN == 30
    turns = ways.order[6:]
    assert {tuple(turns[i:i + 2]) for i in range(0, len(turns), 2)} == {("old", "new"), ("new", "old")}


def test_a_slower_one_or_an_equal_one_in_noise_is_not():
    why = Ways(noisy(1e-3), noisy(1.1e-3)).refusal()
    assert "of the time" in why, why
    ways = Ways(lambda i: 1e-3 * (1 + i % 2), lambda i: 1e-3 * (1 + (i // 2) % 2))
    assert "of the time" in ways.refusal() and ways.counts["new"] > 3 + swapping.PAIRS_MIN


def test_no_more_pairs_than_the_time_allows():
    ways = Ways(lambda i: 1.0 + i % 2, lambda i: 1.0 + (i // 2) % 2)
    assert ways.refusal() and ways.counts["new"] == 3 + swapping.PAIRS_MIN


def test_a_wrong_one_is_not_taken():
    right = torch.tensor([1.0, 2.0, float("nan")])
    for wrong in (right * 1.001, right.double(), right[:2], torch.tensor([1.0, 2.0, 3.0]), (right, right),
                  torch.tensor([1.0, float("inf"), float("nan")])):
        ways = Ways(noisy(1.0), noisy(0.1), {"old": right, "new": wrong})
        assert ways.refusal() and ways.counts["new"] == 1, wrong
    assert not Ways(noisy(1.0), noisy(0.1), {"old": right, "new": right.clone()}).refusal()
    whole = torch.arange(4)
    assert Ways(noisy(1.0), noisy(0.1), {"old": whole, "new": whole + 1}).refusal()


def test_private_inputs():
    weight, x, n = torch.ones(4), torch.randn(3, 4).t(), 7
    kept, own, number = swapping.private_inputs((weight, x, n), (0,))
    assert kept is weight and number == 7 and torch.equal(own, x) and own.stride() == x.stride()
    own.zero_()
    assert x.any()
    expanded, = swapping.private_inputs((torch.ones(1, 4).expand(3, 4),), ())
    assert expanded.shape == (3, 4) and expanded.all()
    with replaced(swapping, "COPIED_BYTES_MAX", 8):
        ids = torch.tensor([3, 9, 5])
        made = swapping.private_inputs((ids, x, torch.tensor([True, False])), ())
        assert made[0].dtype == ids.dtype and 3 <= made[0].min() and made[0].max() <= 9
        assert made[1].shape == x.shape and not torch.equal(made[1], x) and made[2].dtype == torch.bool


# ---- In a model.

def test_eager_answers_until_the_bundle_is_ready():
    go, made = threading.Event(), making.compile_graph

    def slow(*args, **kwargs):
        assert go.wait(60)
        return made(*args, **kwargs)

    model = net()
    with replaced(making, "compile_graph", slow), said() as lines:
        run, piece = started(model, first="eager", threads=1)  # Of two, work beside the test takes one.
        assert how(piece) == ("eager", False) and not burnish.wait(0.05)
        with torch.no_grad():
            close(run(X), model(X))
        go.set()
        assert burnish.wait(120)
    assert how(piece) == ("compiled", True), (how(piece), lines)
    with torch.no_grad():
        close(run(X), model(X))
    assert not lines, lines


def test_one_that_is_not_taken_is_said():
    with replaced(pieces, "refusal", lambda *_, **__: "it is slow"), said() as lines:
        run, piece = started(net(), first="eager")
        assert burnish.wait(120)
    assert how(piece) == ("", False) and len(lines) == 1 and "it is slow" in lines[0], lines


def test_what_fails_behind_leaves_pytorch_running():
    def fails(*args, **kwargs):
        raise burnish.BurnishError("no compiler today", code="B0801")

    model = net()
    with replaced(making, "compile_graph", fails), said() as lines:
        run, piece = started(model, first="eager")
        assert burnish.wait(120)
        with torch.no_grad():
            close(run(X), model(X))
    assert len(lines) == 1 and "no compiler today" in lines[0], lines
    raised(lambda: options_of({"first": "eager", "strict": True}), ValueError, "first")


def test_weights_that_change_while_they_are_compiled():
    go, made, plans = threading.Event(), making.compile_graph, []

    def slow(*args, **kwargs):
        plans.append(1)
        path = made(*args, **kwargs)
        assert len(plans) > 1 or go.wait(60)
        return path

    model = net()
    with replaced(making, "compile_graph", slow), torch.no_grad():
        run, piece = started(model, first="eager", threads=1)
        model[0].weight.detach().numpy()[:] *= -3  # PyTorch does not count it.
        go.set()
        assert burnish.wait(120)
        assert how(piece) == ("eager", False), "a bundle of weights that are no more"
        close(run(X), model(X))
        assert burnish.wait(120) and how(piece) == ("compiled", True)
        close(run(X), model(X))
    assert len(plans) == 2


def test_a_forked_child_compiles_for_itself():
    go, made = threading.Event(), making.compile_graph

    def slow(*args, **kwargs):
        assert go.wait(60)
        return made(*args, **kwargs)

    model = net()
    with replaced(making, "compile_graph", slow), torch.no_grad():
        run, piece = started(model, first="eager")
        args, want = arguments(run, piece), model(X)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.set_num_threads(1)  # PyTorch's own threads do not survive a fork.
                making.compile_graph = made
                for ready in (False, True):
                    close(piece.forward(*args)[0], want)
                    assert how(piece)[1] == ready
                    assert burnish.wait(120)
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        go.set()
        assert burnish.wait(120)
    assert code == 0


def test_bundles_are_made_one_after_the_other():
    made, running, most = making.compile_graph, [], []

    def counts(*args, **kwargs):
        running.append(1)
        most.append(len(running))
        try:
            return made(*args, **kwargs)
        finally:
            running.pop()

    torch._dynamo.reset()
    run = torch.compile(net(), backend="burnish", dynamic=True,
                        options={"cache": False, "first": "eager", "size_limit": 0})
    with replaced(making, "compile_graph", counts), torch.no_grad():
        for rows in (2, 3, 4, 5):
            run(X.repeat(rows, 1, 1, 1))
        assert burnish.wait(120)
    assert most == [1, 1, 1, 1], most


def test_ten_thousand_calls_in_four_threads_across_swaps():
    model = net()
    other, = started(model, threads=1, opt_level=0)[1].bundles.values()
    run, piece = started(model, first="eager", threads=1)
    assert burnish.wait(120)
    (key, bundle), = piece.bundles.items()
    args, eager = arguments(run, piece), pieces.Bundle(None)
    inputs = [X * scale for scale in (1, -2, 3, -4)]
    with torch.no_grad():
        wanted = [model(x) for x in inputs]
    wrong, swaps, done = [], [], threading.Event()

    def calls(x, want):
        with torch.no_grad():
            for _ in range(CALLS // THREADS):
                if not torch.allclose(run(x), want, atol=1e-4 * want.abs().max().item()):
                    wrong.append(1)

    def swap():
        ways = [bundle, other, eager]
        for one in ways:
            one.own = False  # Its file stays for the next turn.
        plan = pieces.Plan(piece.module, piece.weights, piece.frozen)
        while not done.is_set() or len(swaps) < SWAPS_MIN:
            old, new = ways[len(swaps) % 3], ways[(len(swaps) + 1) % 3]
            assert piece._swapped(key, old, new, plan, args)
            swaps.append(1)

    with replaced(pieces, "refusal", lambda *_, **__: ""):
        workers = [threading.Thread(target=calls, args=pair) for pair in zip(inputs, wanted)]
        swapper = threading.Thread(target=swap)
        for worker in (swapper, *workers):
            worker.start()
        for worker in workers:
            worker.join()
        done.set()
        swapper.join()
    assert not wrong and len(swaps) >= SWAPS_MIN, (len(wrong), len(swaps))


def test_a_bundle_that_is_called_is_timed_without_waiting_for_calls():
    """Else whatever is new would look several times faster."""
    model, x = net(), torch.randn(1, 3, 160, 160)  # Runs of more than the lock's patience.
    other, = started(model, x, threads=1, opt_level=2)[1].bundles.values()
    run, piece = started(model, x, threads=1)
    (key, bundle), = piece.bundles.items()
    seen, done, times = [], threading.Event(), {"old": [], "new": []}
    piece.__dict__["forward"] = lambda *args: seen.append(args) or type(piece).forward(piece, *args)
    with torch.no_grad():
        run(x)
    del piece.__dict__["forward"]

    called = threading.Barrier(7)

    def calls():
        with torch.no_grad():
            run(x)
            called.wait()
            while not done.is_set():
                run(x)

    def timed(old, new, args, **unused):
        called.wait()
        for _ in range(30):
            for name, call in (("old", old), ("new", new)):
                begin = time.perf_counter()
                call(args)
                times[name].append(time.perf_counter() - begin)
        return "only timed"

    workers = [threading.Thread(target=calls) for _ in range(6)]
    plan = pieces.Plan(piece.module, piece.weights, piece.frozen)
    with replaced(pieces, "refusal", timed), said(), torch.no_grad():
        for worker in workers:
            worker.start()
        try:
            assert piece._swapped(key, bundle, other, plan, seen[0])
        finally:
            done.set()
            for worker in workers:
                worker.join()
    old, new = (statistics.median(times[name]) for name in ("old", "new"))
    assert old < 2 * new, (old, new)
    assert how(piece) == ("compiled", True) and piece.bundles[key] is bundle


def test_calls_have_turns_between_pairs():
    """Behind the calls a proof pauses; where a call waits for it, it does not."""
    model, pauses = net(), []
    other, = started(model, threads=1, opt_level=2)[1].bundles.values()
    other.own = False  # Its file stays for the second case.

    def timed(old, new, args, await_turn, **unused):
        for seconds in (1.0, 0.5):
            await_turn(seconds)
        return "only timed"

    for options, count in (({"first": "eager"}, 2), ({"first": "wait", "tune": "now"}, 0)):
        run, piece = started(model, threads=1)
        piece.options = options_of({"cache": False, "threads": 1, **options})
        (key, bundle), = piece.bundles.items()
        plan, args = pieces.Plan(piece.module, piece.weights, piece.frozen), arguments(run, piece)
        pauses.clear()
        with replaced(time, "sleep", pauses.append), replaced(pieces, "refusal", timed), said(), torch.no_grad():
            assert piece._swapped(key, bundle, other, plan, args)
        assert pauses == [swapping.PAUSE, 0.5 * swapping.PAUSE][:count], pauses


# ---- Tuning.

def test_tuned_before_the_first_answer():
    """A study is asked for once, of the options given; with a stub in its place."""
    asked, made = [], making.compile_graph

    def compiles(model, path, **settings):
        if settings.get("require_tuned") and not asked:
            raise burnish.BurnishError("nothing was measured", code="B0603")
        return made(model, path, **{**settings, "require_tuned": False})

    model = net()
    with replaced(making, "compile_graph", compiles), replaced(
            making, "tune", lambda graph, **settings: asked.append(settings)), replaced(
                pieces, "refusal", lambda *_, **__: ""):
        run, piece = started(model, tune="now", trials=7, time="1m", scheduler="meta_schedule", threads=1)
        assert len(asked) == 1 and asked[0]["trials"] == 7 and asked[0]["time"] == "1m", asked
        assert asked[0]["scheduler"] == "meta_schedule"
        assert asked[0]["tracker"] is None and asked[0]["threads"] == 1
        started(net(), tune="farm:host:7171", first="eager")
        assert burnish.wait(120) and len(asked) == 1  # It has records now.
        asked.clear()
        started(net(), tune="farm:host:7171")
        assert burnish.wait(120) and asked[0]["tracker"] == "host:7171"


def test_tuned_behind_the_calls():
    """Calls are told to whoever paces the study, and the proof waits for its turns; with a stub in the study's place."""
    begun, go, seen, turns = threading.Event(), threading.Event(), [], []
    made = making.compile_graph

    def compiles(model, path, **settings):
        seen.append(bool(_pace.launcher_flags()))
        if settings.get("require_tuned"):
            raise burnish.BurnishError("nothing was measured", code="B0603")
        return made(model, path, **settings)

    def studies(graph, **settings):
        seen.append(settings["tracker"])
        begun.set()
        assert go.wait(60)
        end = time.thread_time() + 0.05  # Work of this process, which no pacer of children counts.
        while time.thread_time() < end:
            pass

    def refusal(old, new, args, await_turn, error_max):
        await_turn(1e-3)
        turns.append(1)
        return ""

    def awaits(pace, spent_cpu_s):
        paid.append(spent_cpu_s)

    model, paid = net(), []
    with replaced(making, "compile_graph", compiles), replaced(making, "tune", studies), replaced(
            pieces, "refusal", refusal), replaced(_pace.Pace, "await_turn", awaits):
        run, piece = started(model, tune="background", trials=7, threads=1)
        assert begun.wait(60) and how(piece) == ("compiled", True) and not burnish.wait(0.05)
        before = _pace.active._words[1]
        with torch.no_grad():
            for _ in range(5):
                close(run(X), model(X))
        assert list(_pace.active._words[:2]) == [0, before + 5]
        go.set()
        assert burnish.wait(120)
    # The default bundle is what the user waits for; all that follows is paced.
    assert seen == [False, True, None, True] and turns == [1], (seen, turns)
    assert len(paid) == 2 and 0.05 <= paid[0] < 5 and paid[1] == 1e-3, paid  # Before the proof, then its pairs.
    assert _pace.active is None
    with torch.no_grad():
        close(run(X), model(X))


def test_weights_that_change_while_it_is_tuned():
    """What a study has found holds for other weights, too, be they compiled again or refitted."""
    gates, studies, proofs = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()], []
    count, made = iter(range(2)), making.compile_graph

    def studying(graph, **settings):
        i = next(count)
        studies[i].set()
        assert gates[i].wait(60)

    def refusal(old, new, args, await_turn, error_max):
        proofs.append(1)
        return ""

    def compiles(model, path, **settings):
        if settings.get("require_tuned") and not gates[1].is_set():
            raise burnish.BurnishError("nothing was measured", code="B0603")
        return made(model, path, **{**settings, "require_tuned": False})

    model = net()
    with replaced(making, "compile_graph", compiles), replaced(making, "tune", studying), replaced(
            pieces, "refusal", refusal), torch.no_grad():
        run, piece = started(model, tune="background", threads=1)
        assert studies[0].wait(60)
        model[0].weight.mul_(-2)
        close(run(X), model(X))
        assert (piece.rebuilds, piece.refits) == (1, 0)
        gates[0].set()
        assert studies[1].wait(60)
        model[0].weight.mul_(-2)
        close(run(X), model(X))
        assert (piece.rebuilds, piece.refits) == (1, 1)
        before, = piece.bundles.values()
        gates[1].set()
        assert burnish.wait(120)
        after, = piece.bundles.values()
        assert after is not before and after.model is not None, after
        # One of the first study and two of the second, of which the last is of the weights that are there.
        assert len(proofs) == 3, proofs
        close(run(X), model(X))


def test_a_study_that_a_process_left_goes_on():
    class Left:
        def __init__(self, state, title, trials_max, threads=2):
            self.id, self.resumed, self.target = "x", [], f"cpu:arch=znver5,threads={threads}"
            self.state, self.title, self.trials, self.trials_max = state, title, 3, trials_max

        def progress(self):
            return self

        def resume(self):
            self.resumed.append(1)

    graph = burnish.Graph("small")
    x = graph.input("x", (1, 4))
    graph.output(graph.node("relu", x), "y")
    title = os.path.basename(making.kept_graph(graph))
    found = [Left("done", title, 7), Left("interrupted", "other.graph", 7), Left("running", title, 8),
             Left("running", title, 7, threads=22), Left("running", title, 7), Left("interrupted", title, 7)]
    asked = []
    with replaced(making, "studies", lambda **given: asked.append(given) or found):
        assert making._resumed(graph, options_of({"tune": "background", "trials": 7, "database": "x.db"}), 2)
        assert [one.resumed for one in found] == [[], [], [], [], [1], []] and asked[0]["database"] == "x.db"
        assert not making._resumed(graph, options_of({"tune": "background"}), 2)

    def nowhere(**given):
        raise burnish.BurnishError("no database", code="B0510")

    with replaced(making, "studies", nowhere):
        assert not making._resumed(graph, options_of({"tune": "background"}), 2)


def test_a_fork_while_it_is_tuned():
    begun, go = threading.Event(), threading.Event()

    def studies(graph, **settings):
        begun.set()
        assert go.wait(60)
        raise burnish.BurnishError("enough", code="B0602")

    model = net()
    with replaced(making, "tune", studies), torch.no_grad():
        run, piece = started(model, tune="background", threads=1)
        args, want = arguments(run, piece), model(X)
        assert begun.wait(60)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.set_num_threads(1)
                assert _pace.active is None and burnish.wait(0)
                close(piece.forward(*args)[0], want)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert _pace.active is not None
        go.set()
        assert burnish.wait(60)


def test_a_study_that_fails_leaves_the_default():
    def fails(graph, **settings):
        raise burnish.BurnishError("no tracker there", code="B0701")

    model = net()
    with replaced(making, "tune", fails), said() as lines:
        run, piece = started(model, tune="farm:localhost:1")
        assert burnish.wait(120)
    assert how(piece) == ("compiled", True) and len(lines) == 1 and "no tracker there" in lines[0], lines
    raised(lambda: options_of({"tune": "always"}), ValueError, "off, now, background, farm:HOST:PORT or farm:unix:PATH")


torch_harness.run_cases(__name__)
