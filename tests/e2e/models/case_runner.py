"""The program onnx_case_runner as a child: ONNX models in, outputs of their bundles out."""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile

import ml_dtypes
import numpy as np

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "u8": np.uint8, "i16": np.int16,
    "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "bool": np.bool_,
}


def summary(reply):
    """The size of a model and where the time went, in words; of a reply without error."""
    return (f"{reply['steps']} steps, {reply['kernels']} kernels "
            f"(import {reply['import_ms']:.0f} ms, build {reply['build_ms']:.0f} ms, of that "
            f"schedules {reply['schedule_ms']:.0f} ms; run {reply['run_ms']:.0f} ms)")


class CaseRunner:
    """Starts the program when it is needed, and again when it died.

    `program`: path of onnx_case_runner. Files lie in a temporary folder, one case at a time.
    """

    def __init__(self, program, timeout_s=120):
        self._program = program
        self._timeout_s = timeout_s
        self._child = None
        self._folder = tempfile.mkdtemp(prefix="burnish-models-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, model, input_sets, target=None, values=None, dims=None, names=None, threads=2):
        """`model`: ONNX bytes. `input_sets`: lists of arrays, in the order of the model's inputs; of the
        bundle's, if `names` of the model's are not said. None: the model's default.
        `target`: text of the CPU that it is built for; None: this machine's, with so many `threads`. `values`: texts by the
        names of inputs that are fixed, and then are none of the inputs any more. `dims`: ranges by
        the names of dimensions, within which the sets' shapes may differ.

        Returns the reply and, per set, the outputs in the model's order; no sets after an error.
        """
        self._clear()
        with open(self._path("model.onnx"), "wb") as file:
            file.write(model)
        request = {"threads": threads} if target is None else {"target": target}
        if values:
            request["values"] = values
        if names is not None:
            request["names"] = names
            request["given"] = [name for k, name in enumerate(names)
                                if any(inputs[k] is not None for inputs in input_sets)]
        if dims:
            request["dims"] = dims
            request["input_shapes"] = [[None if array is None else list(array.shape) for array in inputs]
                                       for inputs in input_sets]
        return self._run(request, input_sets)

    def operators(self):
        """Names of all operators that can be imported."""
        return self._ask({"operators": True})["operators"]

    def run_zoo(self, request, input_sets):
        """The same for a model of the zoo; also returns the path of the ONNX file that was written
        from it, which the next call removes."""
        self._clear()
        return (*self._run(request, input_sets), self._path("model.onnx"))

    def _run(self, request, input_sets):
        for i, inputs in enumerate(input_sets):
            for k, array in enumerate(inputs):
                if array is None:
                    continue
                np.ascontiguousarray(array).tofile(self._path(f"input_{i}_{k}.bin"))
        reply = self._ask(dict(request, folder=self._folder, sets=len(input_sets)))
        if reply["error"]:
            return reply, []
        sets = []
        for i in range(len(input_sets)):
            sets.append([
                np.fromfile(self._path(f"output_{i}_{k}.bin"), DTYPES[output["dtype"]])
                .reshape(reply["shapes"][i][k]) for k, output in enumerate(reply["outputs"])
            ])
        return reply, sets

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _clear(self):
        shutil.rmtree(self._folder)
        os.mkdir(self._folder)

    def _ask(self, request):
        if self._child is None:
            self._child = subprocess.Popen(
                [self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._child.stdin.write((json.dumps(request) + "\n").encode())
        self._child.stdin.flush()
        # A reply is one line, written at once, and nothing else is written before the next request.
        ready, _, _ = select.select([self._child.stdout], [], [], self._timeout_s)
        line = self._child.stdout.readline() if ready else b""
        if line.endswith(b"\n"):
            return json.loads(line)
        code = self._end()
        what = f"nothing after {self._timeout_s} s"
        if ready:
            what = f"died: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
        return {"error": f"onnx_case_runner: {what}", "stage": "process"}

    def _end(self):
        """Returns the exit code that the child has, or has after it was killed."""
        if self._child is None:
            return 0
        child, self._child = self._child, None
        child.stdin.close()
        try:
            child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            child.kill()
        child.stdout.close()
        return child.wait()
