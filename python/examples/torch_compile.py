"""usage: torch_compile.py   A model of PyTorch's by backend="burnish": answers at once, new weights, what became of it."""

import torch
from torch import nn

import burnish


def network():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(16, 10)).eval()


def largest_difference(a, b):
    return (a - b).abs().max().item()


def main():
    torch.manual_seed(0)
    plain, image = network(), torch.randn(1, 3, 32, 32)
    model = torch.compile(plain, backend="burnish", options={"first": "eager"})
    with torch.inference_mode():
        model(image)        # PyTorch answers, while a child compiles.
        burnish.wait()      # A server would go on instead.
        print("compiled:  ", f"{largest_difference(model(image), plain(image)):.1e}")
    with torch.no_grad():
        for parameter in plain.parameters():  # A step of training, a merged adapter, load_state_dict.
            parameter.add_(0.01 * torch.randn_like(parameter))
    with torch.inference_mode():
        model(image)
        burnish.wait()
        print("new weights:", f"{largest_difference(model(image), plain(image)):.1e}")
        print(burnish.explain(model, image, seconds=0.2))


if __name__ == "__main__":
    main()
