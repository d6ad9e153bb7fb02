"""The handwritten digits that scikit-learn ships: 1,797 images of 8x8 with what they show.

Read as data: scikit-learn itself is not imported. Two of five images train testdata/digits.onnx, the
other 1,077 are held out.
"""

import gzip
import importlib.util
import os

import numpy as np


def load():
    """(images f32[n,1,8,8] in 0..1, labels) to train with, and the same held out."""
    package = os.path.dirname(importlib.util.find_spec("sklearn").origin)
    with gzip.open(os.path.join(package, "datasets", "data", "digits.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    images = (table[:, :-1] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = table[:, -1].astype(np.int64)
    train = np.arange(len(labels)) % 5 < 2
    return (images[train], labels[train]), (images[~train], labels[~train])
