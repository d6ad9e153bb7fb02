"""Trains one of torchvision's architectures, or a small transformer (`vit`), on handwritten digits,
for `./dev bench accuracy`.

Two of five of scikit-learn's 1,797 images train it (tests/e2e/models/digits.py), moved and scaled in
brightness by chance; a few minutes on two CPUs. Floats add up in another order on another machine, so
that another run gives another network that is as good.

usage: train_on_digits.py ARCHITECTURE OUT.onnx   (torch is found as torch_libraries.py says)
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e" / "models"))
import digits  # noqa: E402

# Pixels a side: 8 of the image's own, so that the last of five halvings leaves 2.
SIZE = 64
# 30 passes of 22 steps. Momentum as He et al. (CVPR 2016, section 3.4), less rate for a batch of 32.
EPOCHS, BATCH = 30, 32
RATE, MOMENTUM, DECAY = 0.02, 0.9, 5e-4
# Szegedy et al., CVPR 2016, section 7: without it the scores of so few images grow without bounds, and
# a few held-out images have activations of many times the others'.
SMOOTHING = 0.1

# Of `vit`, a small torchvision.models.VisionTransformer, which wants more passes than convolutions do,
# and Adam: 16 patches.
PATCH, WIDTH, HEADS, LAYERS = 16, 128, 4, 4
TRANSFORMER_EPOCHS, TRANSFORMER_RATE, TRANSFORMER_DECAY = 60, 1e-3, 0.05


def pictures(images):
    """f32[n,1,8,8] in 0..1 as f32[n,3,64,64] of about mean 0 and deviation 1: linear between the
    middles of pixels, as photographs have it."""
    at = (np.arange(SIZE) + 0.5) * 8 / SIZE - 0.5
    low = np.clip(np.floor(at).astype(int), 0, 7)
    high = np.minimum(low + 1, 7)
    share = np.clip(at - low, 0, 1).astype(np.float32)
    rows = images[:, :, low] * (1 - share[:, None]) + images[:, :, high] * share[:, None]
    both = rows[..., low] * (1 - share) + rows[..., high] * share
    return np.repeat((both - 0.3) / 0.35, 3, axis=1).astype(np.float32)


def start(torch, architecture, steps_a_pass):
    """(model, optimizer, its schedule, steps in all), with so many steps a pass."""
    import torchvision
    if architecture == "vit":
        model = torchvision.models.VisionTransformer(SIZE, PATCH, LAYERS, HEADS, WIDTH, 4 * WIDTH,
                                                     num_classes=10)
        rate, steps = TRANSFORMER_RATE, TRANSFORMER_EPOCHS * steps_a_pass
        optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=TRANSFORMER_DECAY)
    else:
        model = torchvision.models.get_model(architecture, weights=None, num_classes=10).to(
            memory_format=torch.channels_last)
        rate, steps = RATE, EPOCHS * steps_a_pass
        optimizer = torch.optim.SGD(model.parameters(), rate, MOMENTUM, weight_decay=DECAY,
                                    nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    return model, optimizer, schedule, steps


def train(architecture, x, labels):
    import torch
    torch.manual_seed(1)
    model, optimizer, schedule, steps = start(torch, architecture,
                                              steps_a_pass=len(x) // BATCH)
    random = np.random.default_rng(1)
    for step in range(steps):
        chosen = random.choice(len(x), BATCH, replace=False)
        moved = [np.roll(image, random.integers(-4, 5, size=2), (1, 2)) for image in x[chosen]]
        light = random.normal(1, 0.1, size=(BATCH, 1, 1, 1)).astype(np.float32)
        scores = model(torch.from_numpy(np.stack(moved) * light).to(
            memory_format=torch.channels_last))
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels[chosen]),
                                                 label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 22 == 21:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", file=sys.stderr, flush=True)
    settle_batch_norms(torch, model, x)
    return model.eval()


def settle_batch_norms(torch, model, x):
    """Their mean and variance become those of all images that trained the model, not of the last
    batches, whose weights were others."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = None  # The mean of all batches.
    with torch.no_grad():
        for first in range(0, len(x), 4 * BATCH):
            model(torch.from_numpy(x[first:first + 4 * BATCH]))


def main():
    import torch
    architecture, path = sys.argv[1:]
    (images, labels), _ = digits.load()
    model = train(architecture, pictures(images), labels)
    torch.onnx.export(model, torch.zeros(1, 3, SIZE, SIZE), path, dynamo=False, opset_version=17,
                      input_names=["image"], output_names=["scores"])


if __name__ == "__main__":
    main()
