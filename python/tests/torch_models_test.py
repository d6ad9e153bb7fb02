"""Whole networks by backend="burnish": one piece each, nothing said, right to 1e-4 of the scale."""

import torch_harness

torch_harness.start(__file__)

import logging  # noqa: E402

import torch  # noqa: E402
import torchvision  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish._torch import pieces  # noqa: E402
from torch_harness import close  # noqa: E402


def check(model, *inputs):
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("burnish.torch").addHandler(handler)
    torch._dynamo.reset()
    before = set(pieces.live_pieces())
    model = model.eval()
    for parameter in model.parameters():
        if not parameter.any():  # Such as a head of zeros: its result would say nothing.
            nn.init.normal_(parameter, std=0.1)
    run = torch.compile(model, backend="burnish", fullgraph=True)
    with torch.inference_mode():
        close(run(*inputs), model(*inputs))
    made = [piece for piece in pieces.live_pieces() if piece not in before]
    logging.getLogger("burnish.torch").removeHandler(handler)
    assert len(made) == 1 and len(made[0].bundles) == 1 and not lines, (made, lines)


def classifier(name, size=64):
    torch.manual_seed(0)
    check(torchvision.models.get_model(name), torch.randn(1, 3, size, size))


def test_squeezenet():
    classifier("squeezenet1_1")


def test_mobilenet_v3():
    classifier("mobilenet_v3_small")


def test_shufflenet():
    classifier("shufflenet_v2_x0_5")


def test_resnet():
    classifier("resnet18")


def test_vision_transformer():
    torch.manual_seed(0)
    check(torchvision.models.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=10),
          torch.randn(2, 3, 64, 64))


class Decoder(nn.Module):
    """As GPT-2: tokens and positions, causal attention, a head that is the table."""

    def __init__(self, words=200, size=32, length=16):
        super().__init__()
        self.table, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, ids):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1]))
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2)
                   for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        x = x + self.down(nn.functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))
        return self.norms[2](x) @ self.table.weight.t()


def test_decoder():
    torch.manual_seed(0)
    check(Decoder(), torch.randint(0, 200, (2, 16)))


def test_decoder_exported_and_refitted():
    torch.manual_seed(0)
    model, ids = Decoder().eval(), torch.randint(0, 200, (2, 16))
    with torch.no_grad():
        compiled = burnish.compile(torch.export.export(model, (ids,)), refit=True)
        close(torch.from_numpy(compiled(ids)), model(ids))


torch_harness.run_cases(__name__)
