"""What tuning behind calls does to the calls: ./dev bench pytorch --background.

One process calls a model every so many milliseconds while tune="background" works. In turn it is let work and held
(the pacer is told that a call runs), so that other work of the machine meets both. After it was held it has a slice to
its credit, a second's worth, so that two seconds pass before its share is counted. A request's time is from when it
was due to its answer. The first half of the held turns against the second says what the numbers are worth.
"""

import argparse
import os
import statistics
import time

PERCENTILES = (50, 90, 99)
LEAD_S = 2.0


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def requests(call, seconds, every_s):
    """Milliseconds of each."""
    found, due = [], time.perf_counter()
    end = due + seconds
    while due < end:
        time.sleep(max(0.0, due - time.perf_counter()))
        call()
        found.append(1e3 * (time.perf_counter() - due))
        due = max(due + every_s, time.perf_counter())
    return found


def trials_of(study):
    """Those that were measured."""
    progress = study.progress()
    return progress.trials - sum(progress.failures.values())


def wait_for_first_trial(seconds):
    """The study, once it has measured something; with calls meanwhile there would be no end on a busy machine."""
    import burnish
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            for study in burnish.studies():
                if trials_of(study):
                    return study
        except burnish.BurnishError:
            pass  # There is no database yet.
        time.sleep(1)
    raise SystemExit(f"no trial was measured in {seconds} s")


def line(name, found):
    return f"  {name:24}" + "".join(f"{percentile(found, p):9.2f}" for p in PERCENTILES) + f"{len(found):9}"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --background")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=float, default=20, metavar="MS", help="from one request to the next")
    parser.add_argument("--seconds", type=float, default=20, help="of a turn")
    parser.add_argument("--turns", type=int, default=4, help="of each kind")
    parser.add_argument("--start", type=float, default=600, help="seconds to wait for the first trial")
    options = parser.parse_args()
    import torch
    import torch_models
    from burnish import _pace, _programs
    from burnish._torch import backend
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model, args, kwargs = torch_models.make(options.model)
    with torch.inference_mode():
        run = torch.compile(model, backend=lambda module, inputs: backend.burnish(
            module, inputs, options={"tune": "background", "trials": 1_000_000}))
        run(*args, **kwargs)

        def call():
            run(*args, **kwargs)

        study = wait_for_first_trial(options.start)
        pace = _pace.active
        held, free, trials, wall, cpu = [], [], 0, 0.0, 0.0
        requests(call, 2, options.every / 1e3)
        for _ in range(options.turns):
            with pace:
                held.append(requests(call, options.seconds, options.every / 1e3))
            requests(call, LEAD_S, options.every / 1e3)
            before, begin, taken = trials_of(study), time.monotonic(), pace.taken
            free.append(requests(call, options.seconds, options.every / 1e3))
            wall += time.monotonic() - begin
            trials += trials_of(study) - before
            share = (pace.taken[0] - taken[0]) / (pace.taken[1] - taken[1]) / _pace.cpu_count()
            cpu += pace.taken[0] - taken[0]
            print(f"  turn: p99 {percentile(held[-1], 99):.2f} ms held, {percentile(free[-1], 99):.2f} let work, "
                  f"{share:.1%} of the CPUs", flush=True)
    without, beside = sum(held, []), sum(free, [])
    middle = len(held) // 2
    halves = [sum(part, []) for part in (held[:middle], held[middle:])]
    print(f"{options.model}, {options.threads} threads, a request every {options.every:g} ms; ms")
    print(f"  {'':24}" + "".join(f"{f'p{p}':>9}" for p in PERCENTILES) + "      calls")
    print(line("without", without))
    print(line("beside tuning", beside))
    ratios = "".join(f"{percentile(beside, p) / percentile(without, p):9.2f}" for p in PERCENTILES)
    print(f"  {'ratio (p99: at most 1.20)':24}{ratios}")
    if all(halves):
        ratios = "".join(f"{percentile(halves[1], p) / percentile(halves[0], p):9.2f}" for p in PERCENTILES)
        print(f"  {'without, second in first':24}{ratios}")
    print(f"trials a minute: {60 * trials / wall:.1f} (at least 20), at {cpu / wall / _pace.cpu_count():.1%} of the CPUs "
          f"(at most 10 %, but for a slice in {wall:.0f} s)")
    by_turn = [percentile(b, 99) / percentile(a, 99) for a, b in zip(held, free)]
    print(f"p99 by turn: {statistics.median(by_turn):.2f} ({min(by_turn):.2f} to {max(by_turn):.2f})")


if __name__ == "__main__":
    main()
