"""What a bundle for a range of sizes costs: ./dev bench pytorch --sizes.

Two encoder layers, called with sequences of several lengths: the bundle of a graph of dynamic sizes, one for that
size alone, and eager PyTorch, in turn, on one thread by its CPU time, so that other work of the machine does not count.
The least of all rounds is taken: what disturbs a call makes it longer. First calls, which compile in other processes,
are by the wall clock.
"""

import argparse
import math
import os
import time

BAR = 1.3  # Of the single size's time.
HEADS, LAYERS = 4, 2


def rows_of_batches(width):
    """Layers as BERT's: rows of a batch follow each other."""
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, hidden):
            batch, length = hidden.shape[:2]
            parts = (part.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
                     for part in self.qkv(hidden).split(width, 2))
            mixed = nn.functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(batch, length, width)
            hidden = self.first(hidden + self.out(mixed))
            return self.second(hidden + self.narrow(nn.functional.gelu(self.wide(hidden))))

    return nn.Sequential(*(Layer() for _ in range(LAYERS)))


def rows_of_places(width):
    """PyTorch's own layers, which have the batch inside: what is summed over rows are those of the whole batch."""
    import torch
    from torch import nn

    # What these do without gradients is one operator of PyTorch's own, with nothing for a compiler.
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(width, HEADS, 4 * width, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)


MODELS = {"bert": rows_of_batches, "torch": rows_of_places}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --sizes")
    parser.add_argument("--model", choices=MODELS, default="bert")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--lengths", default="128,100,64,37,20,9,3", help="the greatest first")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=5)
    options = parser.parse_args()
    import torch
    from burnish import _programs
    from burnish._torch import backend
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 64  # One for each length.
    torch.manual_seed(0)
    model = MODELS[options.model](options.width).eval()

    def compiled(dynamic, **given):
        return torch.compile(model, dynamic=dynamic, backend=lambda module, inputs: backend.burnish(
            module, inputs, options={"cache": False, "threads": 1, **given}))

    lengths = [int(length) for length in options.lengths.split(",")]
    inputs = [torch.randn(options.batch, length, options.width) for length in lengths]
    print(f"{options.model}: {LAYERS} layers of width {options.width}, batch {options.batch}; ms of CPU time on one thread")
    ratios = []
    with torch.inference_mode():
        ranged, first = compiled(True), []
        for x in inputs:
            begin = time.monotonic()
            ranged(x)
            first.append(time.monotonic() - begin)
        for x, first_s in zip(inputs, first):
            single = compiled(False)
            begin = time.monotonic()
            single(x)
            single_s = time.monotonic() - begin
            want = model(x)
            error = ((ranged(x) - want).abs().max() / want.abs().max()).item()
            assert error <= 1e-4, error
            found = {name: [] for name in ("range", "single", "eager")}
            for _ in range(options.rounds):
                for name, call in (("range", ranged), ("single", single), ("eager", model)):
                    call(x)
                    begin = time.thread_time()
                    for _ in range(options.calls):
                        call(x)
                    found[name].append(1e3 * (time.thread_time() - begin) / options.calls)
            least = {name: min(times) for name, times in found.items()}
            ratios.append(least["range"] / least["single"])
            print(f"  {x.shape[1]:5} long: range {least['range']:7.3f}  single {least['single']:7.3f}  eager "
                  f"{least['eager']:7.3f}  of single {ratios[-1]:.2f}, of eager {least['range'] / least['eager']:.2f}; "
                  f"first calls {first_s:.1f} s, single {single_s:.1f} s", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"of the single size's time: {mean:.2f} (geometric mean), at worst {max(ratios):.2f} (bar: {BAR})")


if __name__ == "__main__":
    main()
