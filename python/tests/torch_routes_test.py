"""A model by the importer of PyTorch's graphs has the tasks that it has by ONNX, so that records of one are found by the
other: at least 95 % of them, over what classifiers of all kinds consist of."""

import torch_harness

torch_harness.start(__file__, "onnxscript")

import pathlib  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import torch  # noqa: E402
import torch_routes  # noqa: E402
import torchvision  # noqa: E402

SHARE_MIN = 0.95
SIZE = 64  # Of images: tasks differ by it, and not in kind.


def swin():
    return torchvision.models.SwinTransformer([4, 4], 32, [2, 2], [2, 4], [4, 4], num_classes=10)


def vision_transformer():
    return torchvision.models.VisionTransformer(SIZE, 16, 2, 4, 64, 128, num_classes=10)


MODELS = (torchvision.models.efficientnet_b0, vision_transformer, swin)


def test_tasks_of_both_routes():
    torch.manual_seed(0)
    rows = []
    for make in MODELS:
        with tempfile.TemporaryDirectory() as name:
            rows.append(torch_routes.compared(make().eval(), (torch.randn(1, 3, SIZE, SIZE),), {}, pathlib.Path(name),
                                              sys.argv[4]))
        print(make.__name__, rows[-1])
    # As many as a route that has more of them has: one that splits what the other has whole loses.
    most = sum(max(row["direct"], row["onnx"]) for row in rows)
    assert sum(row["same"] for row in rows) >= SHARE_MIN * most, rows
    assert all(row["onnx"] > 10 for row in rows), rows


torch_harness.run_cases(__name__)
