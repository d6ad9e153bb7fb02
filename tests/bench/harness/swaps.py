"""Whether a call notices that a bundle takes another's place: ./dev bench pytorch --swaps.

Several threads call one model, each with an input of its own, while bundles take each other's place after the proof that
each swap makes (docs/pytorch.md, "The first call"). The same without swaps says what of the longest call the threads do
to each other: they share the model, whose runs follow each other, and Python's lock.
By the wall clock: this wants a machine that does nothing else.
"""

import argparse
import os
import statistics
import sys
import threading
import time

ERROR_MAX = 1e-4  # Of the scale, as docs/contracts.md counts it.


def called(run, inputs, wanted, count):
    """What each of the threads' calls took, in ms, and how many were wrong."""
    import torch
    times, wrong = [[] for _ in inputs], []
    ready = threading.Barrier(len(inputs))

    def calls(i):
        scale = wanted[i].abs().max().item()
        with torch.inference_mode():
            ready.wait()
            for _ in range(count):
                begin = time.perf_counter()
                got = run(inputs[i])
                times[i].append(1e3 * (time.perf_counter() - begin))
                if not (got - wanted[i]).abs().max().item() <= ERROR_MAX * scale:  # Not a number is wrong, too.
                    wrong.append(i)

    workers = [threading.Thread(target=calls, args=(i,)) for i in range(len(inputs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(times, []), len(wrong)


def line(name, times, wrong, swaps):
    ordered = sorted(times)
    median = statistics.median(ordered)
    p99, longest = ordered[int(0.99 * len(ordered))], ordered[-1]
    return (f"  {name:14} {len(times)} calls, {wrong} wrong, {swaps} swaps; median {median:.2f}, p99 {p99:.2f}, longest "
            f"{longest:.2f} ms: {longest / median:.2f} of the median")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --swaps")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--threads", type=int, default=2, help="of each run")
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--calls", type=int, default=10000, help="of all callers together")
    parser.add_argument("--turns", type=int, default=20, help="swaps")
    options = parser.parse_args()
    import torch
    import torch_models
    from burnish import _programs
    from burnish._torch import backend, pieces
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model, (x,), _ = torch_models.make(options.model)
    inputs = [torch.randn_like(x) for _ in range(options.callers)]

    def piece_of(**given):
        """A compiled model, its one piece, and what that gets in a call."""
        before = pieces.live_pieces()
        run = torch.compile(model, backend=lambda module, inputs: backend.burnish(
            module, inputs, options={"cache": False, **given}))
        with torch.inference_mode():
            run(inputs[0])
            piece, = (one for one in pieces.live_pieces() if one not in before)
            seen = []
            piece.__dict__["forward"] = lambda *args: seen.append(args) or type(piece).forward(piece, *args)
            run(inputs[0])
            del piece.__dict__["forward"]
        return run, piece, seen[0]

    other, = piece_of(opt_level=2)[1].bundles.values()
    run, piece, args = piece_of()
    (key, bundle), = piece.bundles.items()
    with torch.inference_mode():
        wanted = [model(one) for one in inputs]
    proof, done, swaps = pieces.refusal, threading.Event(), []
    # Which of both is faster is not the question: the proof takes its time, and then the other one is taken anyhow.
    pieces.refusal = lambda *given, **more: (proof(*given, **more), "")[1]
    for one in (bundle, other):
        one.own = False  # Its file stays for the next swap.

    def swap(seconds):
        plan = pieces.Plan(piece.module, piece.weights, piece.frozen)
        with torch.inference_mode():
            while not done.wait(seconds) and len(swaps) < options.turns:
                pair = (bundle, other) if len(swaps) % 2 == 0 else (other, bundle)
                assert piece._swapped(key, *pair, plan, args)
                swaps.append(1)

    count = options.calls // options.callers
    print(f"{options.model}, {options.callers} callers, {options.threads} threads a run")
    begin = time.monotonic()
    alone, wrong_alone = called(run, inputs, wanted, count)
    each = (time.monotonic() - begin) / (2 * options.turns)
    print(line("without swaps", alone, wrong_alone, 0), flush=True)
    swapper = threading.Thread(target=swap, args=(each,))
    swapper.start()
    times, wrong = called(run, inputs, wanted, count)
    done.set()
    swapper.join()
    print(line("across swaps", times, wrong, len(swaps)))
    print("longest: at most 2 of the median")
    sys.exit(1 if wrong or wrong_alone or not swaps else 0)


if __name__ == "__main__":
    main()
