#!/usr/bin/env python3
"""ONNX Runtime beside a bundle, for `tuner bench --against onnxruntime`, which starts it with a Python of
the user's. Needs nothing but onnxruntime, which brings NumPy.

Speaks in frames (base/frame.h) on stdin and stdout. First comes {"model", "threads", "inputs", "outputs",
"fixed"}, inputs and outputs names, and a .npy file for each input; "fixed" has further inputs by name, each a
number or a list 1,2,3. The answer is {"version"} and a .npy file for each output.
Then each frame with seconds is a turn, answered by {"median_ns"} of an inference. Instead of any answer
{"error", "message"} may come: "missing", "model" or "inputs"; it ends the process, as the end of stdin does.
"""

import io
import json
import os
import statistics
import struct
import sys
import time

WARM_UP_SHARE = 0.2  # Of a turn, as in tuner/app/turns.cc: caches, and the clock that wide vectors leave.


class Refused(Exception):
    """The kind of error, and what it says."""


def read_frame():
    header = sys.stdin.buffer.read(4)
    if len(header) < 4:
        sys.exit(0)
    return sys.stdin.buffer.read(struct.unpack("<I", header)[0])


def write_frame(answers, data):
    answers.write(struct.pack("<I", len(data)) + data)
    answers.flush()


def check_inputs(session, arrays):
    """By name, not by order: another model's inputs must not be taken for these."""
    wanted = {value.name for value in session.get_inputs()}
    if wanted != set(arrays):
        raise Refused("inputs", f"the model's inputs are {', '.join(sorted(wanted))}, "
                                f"the bundle's {', '.join(sorted(arrays))}")


def add_fixed(session, fixed, arrays):
    """Inputs that the bundle has no more, of the model's types."""
    import numpy

    values = {value.name: value for value in session.get_inputs()}
    for name, text in fixed.items():
        if name not in values:
            raise Refused("inputs", f"the model has no input {name}; it has {', '.join(sorted(values))}")
        kind = values[name].type.removeprefix("tensor(").removesuffix(")")
        kind = {"float": "float32", "double": "float64"}.get(kind, kind)
        try:
            numbers = [float(part) if kind.startswith("float") else int(part) for part in text.split(",")]
            array = numpy.array(numbers, kind)
            arrays[name] = array.reshape([each if isinstance(each, int) else -1
                                          for each in values[name].shape])
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused("inputs", f"--value {name}={text}: {error}; the model wants {values[name].type}"
                                    f" of shape {values[name].shape}") from error


def open_session(job, arrays):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Refused("model", str(error)) from error
    add_fixed(session, job["fixed"], arrays)
    check_inputs(session, arrays)
    return session


def turn(run, seconds):
    end = time.perf_counter_ns() + int(WARM_UP_SHARE * seconds * 1e9)
    while True:
        run()
        if time.perf_counter_ns() >= end:
            break
    times, start = [], time.perf_counter_ns()
    end = start + int(seconds * 1e9)
    while not times or start < end:
        run()
        finish = time.perf_counter_ns()
        times.append(finish - start)
        start = finish
    return statistics.median(times)


def serve(answers):
    job = json.loads(read_frame())
    files = [read_frame() for _ in job["inputs"]]
    try:
        import numpy
        import onnxruntime
    except Exception as error:  # Also what a broken installation raises.
        raise Refused("missing", f"{sys.executable}: {error}") from error
    arrays = dict(zip(job["inputs"], (numpy.load(io.BytesIO(file)) for file in files)))
    session = open_session(job, arrays)
    try:
        outputs = session.run(job["outputs"], arrays)
    except Exception as error:
        raise Refused("inputs", str(error)) from error
    write_frame(answers, json.dumps({"version": onnxruntime.__version__}).encode())
    for output in outputs:
        file = io.BytesIO()
        numpy.save(file, numpy.ascontiguousarray(output).reshape(numpy.shape(output)))
        write_frame(answers, file.getvalue())
    while True:
        seconds = float(read_frame())
        median = turn(lambda: session.run(job["outputs"], arrays), seconds)
        write_frame(answers, json.dumps({"median_ns": median}).encode())


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a library prints is no answer.
    try:
        serve(answers)
    except Refused as refused:
        kind, message = refused.args
        write_frame(answers, json.dumps({"error": kind, "message": message[:4000]}).encode())


if __name__ == "__main__":
    main()
