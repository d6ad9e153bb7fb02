"""Dynamic sizes under backend="burnish": one bundle for a range of them, against eager at many sizes."""

import torch_harness

torch_harness.start(__file__)

import json  # noqa: E402
import math  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish._torch import pieces, sizes  # noqa: E402
from burnish._torch.registry import Unsupported  # noqa: E402
from torch_harness import close, raised, said  # noqa: E402

WIDTH = 16


def compiled(model, dynamic=None, **options):
    torch._dynamo.reset()
    for piece in pieces.live_pieces():
        piece.stale = True  # Of an earlier case: not this one's.
    return torch.compile(model, backend="burnish", dynamic=dynamic, options={"cache": False, **options})


def live():
    return [piece for piece in pieces.live_pieces() if not hasattr(piece, "stale")]


def bundles():
    """Those in use of all pieces, by their keys."""
    return [key for piece in live() for key, bundle in piece.bundles.items() if bundle.model is not None]


def bounds():
    return sorted(key.bounds for key in bundles() if isinstance(key, pieces.Bounds))


def check(run, model, *inputs):
    with torch.no_grad():
        got, want = run(*inputs), model(*inputs)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,),
                    strict=True):
        close(g, w)
        assert g.stride() == w.stride(), (g.stride(), w.stride())


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.Softmax(-1)).eval()


def convolutions():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)).eval()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, hidden, mix):
        batch, length = hidden.shape[:2]
        parts = self.qkv(hidden).split(WIDTH, 2)
        mixed = mix(*(part.view(batch, length, 2, WIDTH // 2).transpose(1, 2) for part in parts))
        hidden = self.first(hidden + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH)))
        return self.second(hidden + self.narrow(nn.functional.gelu(self.wide(hidden))))


class Encoder(nn.Module):
    """As BERT: positions from a table, padding by a mask, a pooled result."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, WIDTH), nn.Embedding(64, WIDTH)
        self.register_buffer("ids", torch.arange(64)[None])
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens, mask):
        hidden = self.words(tokens) + self.places(self.ids[:, :tokens.shape[1]])
        bias = ((1.0 - mask[:, None, None, :]) * -1e4).expand(-1, 1, tokens.shape[1], -1)
        for layer in self.layers:
            hidden = layer(hidden, lambda q, k, v: nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=bias))
        return self.head(hidden), torch.tanh(hidden[:, 0]), hidden.mean(1)


class Decoder(nn.Module):
    """Causal, by a mask of ones that is made as long as the sequence or by PyTorch's flag, and tied embeddings."""

    def __init__(self, fused):
        super().__init__()
        self.words, self.layer, self.fused = nn.Embedding(50, WIDTH), Layer(), fused

    def forward(self, tokens):
        def mix(q, k, v):
            if self.fused:
                return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            mask = torch.tril(torch.ones(q.shape[2], q.shape[2], dtype=torch.bool))
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

        return self.layer(self.words(tokens), mix) @ self.words.weight.T


def test_batches_of_an_mlp():
    """Each doubling is a bundle, and no other size is one."""
    model = mlp()
    run = compiled(model, dynamic=True)
    order = list(range(2, 65))
    random.Random(0).shuffle(order)
    with said() as lines:
        for batch in [3, 16, 17, 32, *order]:
            check(run, model, torch.randn(batch, 6))
    assert not lines, lines
    assert bounds() == [(8,), (16,), (32,), (64,)] and len(bundles()) == 4, bundles()


def test_sizes_that_pytorch_finds_dynamic():
    """After the second size; 0 and 1 are graphs of their own."""
    model = mlp()
    run = compiled(model)
    with said() as lines:
        for batch in (5, 7, 1, 9, 2, 16, 1):
            check(run, model, torch.randn(batch, 6))
    assert not lines, lines
    # One each of the first, static graph, and of 1.
    assert bounds() == [(8,), (16,)] and len(bundles()) == 4, bundles()
    check(run, model, torch.randn(0, 6))


def test_batches_of_a_convnet():
    model = convolutions()
    run = compiled(model)
    images = torch.randn(9, 3, 12, 12)
    torch._dynamo.mark_dynamic(images, 0, min=1, max=12)
    with said() as lines:
        check(run, model, images)
        for batch in (2, 12, 5, 3, 11):
            check(run, model, torch.randn(batch, 3, 12, 12))
    assert not lines, lines
    assert bounds() == [(12,)] and len(bundles()) == 1, bundles()


def test_an_encoder():
    """The table of positions says how long a sequence may be."""
    torch.manual_seed(0)
    model = Encoder().eval()
    run = compiled(model, dynamic=True)
    with said() as lines:
        for batch, length in ((2, 7), (3, 9), (4, 20), (16, 64), (5, 3), (2, 2)):
            mask = torch.ones(batch, length)
            mask[0, length // 2:] = 0
            check(run, model, torch.randint(0, 50, (batch, length)), mask)
    assert not lines, lines
    assert bounds() == [(8, 8), (8, 64), (16, 64)] and len(bundles()) == 3, bundles()


def test_each_size_of_a_range_with_several_bounds():
    """A run takes the least that has its sizes."""
    torch.manual_seed(0)
    model = Encoder().eval()
    run = compiled(model, dynamic=True)
    lengths = [64, *range(2, 64)]
    for length in lengths:
        mask = torch.ones(3, length)
        mask[0, length // 2:] = 0
        check(run, model, torch.randint(0, 50, (3, length)), mask)
    piece, = live()
    (key, bundle), = piece.bundles.items()
    info = subprocess.run([sys.argv[1], "run", bundle.model.path, "--info", "--json"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    assert key.bounds == (8, 64) and [one["s1"] for one in json.loads(info)["bounds"]] == [16, 32, 48], info


def test_layers_with_the_batch_inside():
    """PyTorch's own."""
    torch.manual_seed(0)
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # Else a layer is one operator.
    try:
        for norm_first in (False, True):
            layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, batch_first=True, norm_first=norm_first)
            model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
            run = compiled(model, dynamic=True)
            with said() as lines:
                for batch, length in ((3, 30), (2, 7), (8, 2), (5, 32), (7, 17), (2, 16)):
                    check(run, model, torch.randn(batch, length, WIDTH))
            assert not lines, lines
            assert bounds() == [(8, 32)] and len(bundles()) == 1, bundles()
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def test_decoders():
    for fused in (False, True):
        torch.manual_seed(0)
        model = Decoder(fused).eval()
        run = compiled(model, dynamic=True)
        with said() as lines:
            for batch, length in ((2, 7), (3, 9), (4, 20), (2, 20), (5, 3), (7, 31)):
                check(run, model, torch.randint(0, 50, (batch, length)))
        assert not lines, lines
        assert bounds() == [(8, 8), (8, 16), (8, 32)] and len(bundles()) == 3, bundles()


def test_results_of_all_kinds():
    """Parts of a result, an argument, a size, and what lies otherwise than a run leaves it."""
    def function(x, y):
        doubled = (x @ y).relu() * 2
        return doubled, doubled[1:], doubled.t(), x, x.shape[0] * 3

    run = compiled(function, dynamic=True)
    for rows, inner, columns in ((3, 4, 5), (9, 2, 7), (4, 8, 2)):
        x, y = torch.randn(rows, inner), torch.randn(inner, columns)
        with torch.no_grad():
            *got, size = run(x, y)
            *want, expected = function(x, y)
        assert size == expected == 3 * rows and got[3] is x
        for g, w in zip(got[:3], want[:3]):
            close(g, w)
            assert g.stride() == w.stride() and g.storage_offset() == w.storage_offset(), (g.stride(), w.stride())
        got[0][1, 0] = 7.0
        assert got[1][0, 0] == 7.0 and got[2][0, 1] == 7.0, "memory is not shared"
    assert bounds() == [(8, 8, 8), (16, 8, 8)] and len(bundles()) == 2, bundles()


def test_the_greatest_size_is_an_option():
    model = mlp()
    run = compiled(model, dynamic=True, size_limit=8)
    for batch in (2, 8, 5):
        check(run, model, torch.randn(batch, 6))
    assert bounds() == [(8,)] and len(bundles()) == 1, bundles()
    with said() as lines:
        check(run, model, torch.randn(9, 6))  # Beyond: a bundle of its own.
    assert bounds() == [(8,)] and len(bundles()) == 2 and not lines, (bundles(), lines)
    run = compiled(model, dynamic=True, size_limit=8, sizes=1)
    with said() as lines:
        for batch in (5, 9, 10):
            check(run, model, torch.randn(batch, 6))
    assert len(bundles()) == 1 and len(lines) == 1 and "option sizes" in lines[0], (bundles(), lines)
    raised(lambda: compiled(model, size_limit=-1)(torch.ones(2, 6)), Exception, "size_limit")


def test_what_is_no_range_has_a_bundle_for_each_size_and_is_named():
    def function(x):
        return (x @ x.t()).relu() / x.shape[0]  # A number that follows the size.

    run = compiled(function, dynamic=True, sizes=3)
    with said() as lines:
        for rows in (3, 5, 9, 5, 11, 3):
            check(run, function, torch.randn(rows, 4))
    assert not bounds() and len(bundles()) == 3, bundles()
    assert len(lines) == 2 and "none for a range" in lines[0] and "option sizes" in lines[1], lines


def test_weights_change_in_a_range():
    model = mlp()
    run = compiled(model, dynamic=True)
    with torch.no_grad():
        for step in range(3):
            check(run, model, torch.randn(3 + step, 6))
            model[0].weight.mul_(1.5)
            check(run, model, torch.randn(7 - step, 6))
    piece, = live()
    assert piece.rebuilds == 1 and piece.refits >= 1 and bounds() == [(8,)], (piece.rebuilds, piece.refits)


def test_a_range_behind_the_calls():
    """Taken where nothing is against it; else each size is tried by itself, and PyTorch goes on."""
    model, before = mlp(), pieces.refusal
    try:
        for why in ("", "it is slow"):
            pieces.refusal = lambda *args, why=why, **unused: why
            run = compiled(model, dynamic=True, first="eager")
            with said() as lines:
                for batch in (3, 7, 5):
                    check(run, model, torch.randn(batch, 6))
                assert burnish.wait(120)
                for batch in (3, 7, 3):
                    check(run, model, torch.randn(batch, 6))
                    assert burnish.wait(120)
            piece, = live()
            assert piece.no_range == why and bounds() == ([] if why else [(8,)]), (piece.no_range, bounds())
            assert any("none for a range" in line for line in lines) == bool(why), lines
    finally:
        pieces.refusal = before


def test_explanations_say_the_sizes():
    model, x = mlp(), torch.randn(4, 6)
    torch._dynamo.reset()
    torch._dynamo.mark_dynamic(x, 0, min=2, max=30)
    with torch.no_grad():
        found = burnish.explain(model, x, seconds=0.01)
    assert found.pieces[0].sizes == "sizes 2 to 30" and "sizes 2 to 30" in str(found), found.pieces


def test_a_fit_is_held_to_more_than_it_was_made_of():
    class Trace:
        def __init__(self, *values):
            self.values = values

    points = [(16, 32), (16, 7), (5, 32), (5, 7), (8, 15), (12, 23)]
    fit = sizes._Fit([Trace(*point) for point in points])
    assert fit([3 * a * b + 2 * a - 1 for a, b in points], "sum") == {(0, 1): 3, (0,): 2, (): -1}
    assert fit([4] * len(points), "number") is None
    for wrong in (lambda a, b: a // 2, lambda a, b: min(a, 10), lambda a, b: a * a, lambda a, b: a % 2):
        raised(lambda wrong=wrong: fit([wrong(a, b) for a, b in points], "it"), Unsupported, "no sum of products of sizes")


torch_harness.run_cases(__name__)
