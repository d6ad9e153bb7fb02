"""What the backend costs a model that trains, which stays in PyTorch: ./dev bench pytorch --training.

Steps of torch.compile by itself (Inductor) and by backend="burnish" with fallback="inductor", in turn, in CPU time on one
thread: forward, backward, optimizer. The third column is Inductor compiled once more: what the ratio is worth.
"""

import argparse
import statistics
import time


def main():
    import torch
    import torchvision
    from burnish._torch import backend
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --training")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.cuda.is_current_stream_capturing = lambda: False  # As in pytorch.py.
    x = torch.randn(4, 3, options.size, options.size)

    def steps(**how):
        torch.manual_seed(0)
        model = torchvision.models.get_model(options.model).train()
        optimizer, run = torch.optim.SGD(model.parameters(), lr=1e-3), torch.compile(model, **how)

        def step():
            optimizer.zero_grad()
            loss = run(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.item()
        return step

    engines = {"inductor": steps(), "burnish": steps(backend=lambda module, inputs: backend.burnish(
        module, inputs, options={"fallback": "inductor"})), "inductor again": steps()}
    losses = {name: [step() for _ in range(3)] for name, step in engines.items()}
    assert losses["burnish"] == losses["inductor"], losses
    times = {name: [] for name in engines}
    for _ in range(options.rounds):
        for name, step in engines.items():
            begin = time.process_time()
            step()
            times[name].append(time.process_time() - begin)
    print(f"{options.model}, a training step, CPU time on one thread, {options.rounds} rounds in turn (bar: 1.02)")
    for name in list(engines)[1:]:
        ratios = sorted(own / base for own, base in zip(times[name], times["inductor"]))
        print(f"  {name:15} {1e3 * statistics.median(times[name]):8.1f} ms, {statistics.median(ratios):.3f} of Inductor "
              f"({ratios[len(ratios) // 4]:.3f} to {ratios[-1 - len(ratios) // 4]:.3f})")


if __name__ == "__main__":
    main()
