"""What the tests of this folder share: the test model, its oracle in NumPy, and cases."""

import os
import subprocess
import sys
import tempfile

import numpy

import burnish_runtime
import test_report

MODEL_PATH = os.path.abspath("compiler/runtime/testdata/bundles/format_2.bundle")


def load(**options):
    """Inputs x f32[2,500], index i32[4], image f32[3,3]; see compiler/runtime/test_bundle.h."""
    return burnish_runtime.load(MODEL_PATH, **options)


_folder = tempfile.TemporaryDirectory()


def copy_model(name, **options):
    """A model of testdata/write_bundles.cc, which the arguments of the test's process name."""
    path = os.path.join(_folder.name, name + ".bundle")
    if not os.listdir(_folder.name):
        # Without Python's sanitizer: the program has its own.
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        subprocess.run([*sys.argv[1:3], _folder.name], check=True, env=environment)
    return burnish_runtime.load(path, **options)


def inputs(seed=0):
    random = numpy.random.default_rng(seed)
    return (random.random((2, 500), numpy.float32), random.integers(0, 1000, 4, numpy.int32),
            random.random((3, 3), numpy.float32))


def expected(x, index, image):
    """sum, picked and total: exact but for the last."""
    weights = (0.5 + 0.25 * (numpy.arange(1000) % 7)).astype(numpy.float32)
    reversed_ = (x.reshape(-1) * weights)[::-1]
    # The border of 16 elements is -7.
    total = numpy.array(image.sum(dtype=numpy.float64) - 7 * 16, numpy.float32)
    return reversed_ + x.reshape(-1), reversed_[index], total


def check_outputs(got, want):
    assert isinstance(got, tuple) and len(got) == len(want), got
    for g, w in zip(got, want):
        assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, g.dtype, w.shape, w.dtype)
        # `total` is summed in another order, 25 numbers of at most 7.
        numpy.testing.assert_allclose(g, w, rtol=0, atol=1e-4 if w.shape == () else 0)


def refusal(call, *texts, kind=burnish_runtime.BurnishError, code=None):
    """What `call` raises, whose message must hold each of `texts`."""
    try:
        got = call()
    except kind as error:
        missing = [text for text in texts if text not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        if kind is burnish_runtime.BurnishError:
            assert error.code == code and error.message == str(error), (error.code, error)
        return error
    raise AssertionError(f"no {kind.__name__}, but {got!r}")


def main(module):
    """Each function `test_...` of the module is a case."""
    suite = os.path.splitext(os.path.basename(module.__file__))[0]
    return test_report.run_functions(suite, test_report.functions_of(vars(module)))


def run_cases(name):
    """Last in a test's file, with its __name__: a spawned child imports the file and runs nothing."""
    if name == "__main__":
        sys.exit(main(sys.modules["__main__"]))
