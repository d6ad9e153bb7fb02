"""Networks of the zoo that were compiled with --refit and get other weights, against bundles that
were compiled with these, bit for bit, and against ONNX Runtime.

usage: refit_zoo_test.py TUNER
"""

import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

import burnish_runtime
import harness

# max|got - want| / max|want|. Rounding is amplified through 50 layers with random weights.
ERROR_MAX = 1e-3
_folder = tempfile.TemporaryDirectory()
_random = numpy.random.default_rng(13)


def tuner(*arguments):
    # One cache: the second bundle of a network has the kernels of the first. The table: a machine
    # that is measured twice may get other schedules, which round otherwise.
    subprocess.run([sys.argv[1], "compile", *arguments, "--cache", _folder.name + "/cache", "--db",
                    _folder.name + "/empty.db", "--calibration", "table"], check=True,
                   capture_output=True)


def jittered(array):
    """Ten percent off each; what is positive (a variance) stays so."""
    return (array * (1 + 0.1 * numpy.clip(_random.standard_normal(array.shape), -3, 3))
            ).astype(numpy.float32)


def check(network):
    path = os.path.join(_folder.name, network)
    tuner("--task", network, "--emit", "onnx", "--out", path + ".onnx")
    tuner("--model", path + ".onnx", "--out", path + ".bundle", "--refit")
    model = onnx.load(path + ".onnx")
    weights = {}
    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype == numpy.float32 and array.size > 1:
            weights[tensor.name] = jittered(array)
            tensor.CopyFrom(onnx.numpy_helper.from_array(weights[tensor.name], tensor.name))
    onnx.save(model, path + ".new.onnx")
    tuner("--model", path + ".new.onnx", "--out", path + ".new.bundle", "--refit")

    before = burnish_runtime.load(path + ".bundle")
    fresh = burnish_runtime.load(path + ".new.bundle")
    assert len(weights) > 200 and {p.name for p in before.parameters} == set(weights)
    after = before.refit(weights)
    image = _random.standard_normal(before.inputs[0].shape).astype(numpy.float32)
    got = after(image)
    assert (got == fresh(image)).all() and not (got == before(image)).all()
    session = onnxruntime.InferenceSession(path + ".new.onnx", providers=["CPUExecutionProvider"])
    want = session.run(None, {session.get_inputs()[0].name: image})[0]
    error = numpy.abs(got - want).max() / numpy.abs(want).max()
    assert error <= ERROR_MAX, error


def test_resnet50():
    check("resnet50")


def test_mobilenet_v2():
    check("mobilenet_v2")


harness.run_cases(__name__)
