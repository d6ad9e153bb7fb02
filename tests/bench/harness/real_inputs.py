"""Inputs of the models of `./dev bench real`, from what its lists say of them."""

import zlib

import numpy as np

SOUND_RATE_HZ = 16000  # What speech models take.


class Input:
    """One input: `text` is "SHAPE HOW [N]" of real_shipped.toml."""

    def __init__(self, text):
        words = text.split()
        shape, self.how = words[0], words[1]
        self.shape = [] if shape == "scalar" else [int(size) for size in shape.split("x")]
        self.number = float(words[2]) if len(words) > 2 else None

    def array(self, name, dtype):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        return np.asarray(MAKERS[self.how](rng, self.shape, self.number)).astype(dtype)


def _sound(rng, shape, _):
    """Three tones and noise along the last axis that is longer than one."""
    count = int(np.prod(shape))
    time = np.arange(count) / SOUND_RATE_HZ
    tones = sum(0.25 * np.sin(2 * np.pi * hertz * time) for hertz in (220, 554.4, 1318.5))
    return (tones + 0.05 * rng.standard_normal(count)).reshape(shape)


def _everywhere(_rng, shape, number):
    return np.full(shape, number)


MAKERS = {
    "normal": lambda rng, shape, _: rng.standard_normal(shape),
    "image": lambda rng, shape, _: rng.random(shape),
    "sound": _sound,
    "index": lambda rng, shape, number: rng.integers(0, int(number), shape),
    "ones": lambda rng, shape, _: np.ones(shape),
    "zeros": lambda rng, shape, _: np.zeros(shape),
    "value": _everywhere,
    "fixed": _everywhere,
}


def parse(entry):
    """Inputs by name, but for "past", which stands for many."""
    return {name: Input(text) for name, text in entry["inputs"].items() if name != "past"}


def past_length(entry):
    return int(entry["inputs"]["past"].split()[0]) if "past" in entry["inputs"] else 0
