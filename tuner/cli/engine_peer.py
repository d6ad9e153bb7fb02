#!/usr/bin/env python3
"""Another engine beside a bundle, for `tuner bench --against ENGINE`, which starts it with a Python of the user's. Needs
nothing but the engine's package, and NumPy, which comes with that: onnxruntime, openvino or torch.

Speaks in frames (base/frame.h) on stdin and stdout. First comes {"engine", "model", "threads", "inputs", "outputs",
"fixed"}, inputs and outputs names, and a .npy file for each input; "fixed" has further inputs by name, each a
number or a list 1,2,3. The answer is {"version"} and a .npy file for each output.
Then each frame with seconds is a turn, answered by {"median_ns"} of an inference. Instead of any answer
{"error", "message"} may come: "missing", "model" or "inputs"; it ends the process, as the end of stdin does.
"""

import importlib
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


def check_inputs(wanted, arrays):
    """By name, not by order: another model's inputs must not be taken for these."""
    if set(wanted) != set(arrays):
        raise Refused("inputs", f"the model's inputs are {', '.join(sorted(wanted))}, "
                                f"the bundle's {', '.join(sorted(arrays))}")


def add_fixed(wanted, fixed, arrays):
    """Inputs that the bundle has no more; `wanted`: {name: (type of NumPy, shape)} of all that the model has."""
    import numpy

    for name, text in fixed.items():
        if name not in wanted:
            raise Refused("inputs", f"the model has no input {name}; it has {', '.join(sorted(wanted))}")
        kind, shape = wanted[name]
        try:
            numbers = [float(part) if kind.startswith("float") else int(part) for part in text.split(",")]
            array = numpy.array(numbers, kind)
            arrays[name] = array.reshape([each if isinstance(each, int) else -1 for each in shape])
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused("inputs", f"--value {name}={text}: {error}; the model wants {kind} of shape {shape}") from error


def onnxruntime_engine(onnxruntime, job, arrays):
    """A function that runs once, and returns the outputs that the job names."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Refused("model", str(error)) from error
    names = {"float": "float32", "double": "float64"}
    kinds = {value.name: value.type.removeprefix("tensor(").removesuffix(")") for value in session.get_inputs()}
    wanted = {value.name: (names.get(kinds[value.name], kinds[value.name]), value.shape) for value in session.get_inputs()}
    add_fixed(wanted, job["fixed"], arrays)
    check_inputs(wanted, arrays)
    return lambda: session.run(job["outputs"], arrays)


def openvino_engine(openvino, job, arrays):
    """As onnxruntime_engine."""
    core = openvino.Core()
    try:
        model = core.read_model(job["model"])
    except Exception as error:
        raise Refused("model", str(error)) from error
    wanted = {each.get_any_name(): (each.get_element_type().to_dtype().name,
                                    [size.get_length() if size.is_static else None for size in each.get_partial_shape()])
              for each in model.inputs}
    add_fixed(wanted, job["fixed"], arrays)
    check_inputs(wanted, arrays)
    try:
        model.reshape({name: list(array.shape) for name, array in arrays.items()})
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": job["threads"], "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:
        raise Refused("model", str(error)) from error
    places = {name: place for place, each in enumerate(compiled.outputs) for name in each.get_names()}
    missing = [name for name in job["outputs"] if name not in places]
    if missing:
        raise Refused("inputs", f"the model has no output {', '.join(missing)}; it has {', '.join(sorted(places))}")
    order = [places[name] for name in job["outputs"]]
    request = compiled.create_infer_request()

    def run():
        result = request.infer(arrays)
        return [result[place] for place in order]

    return run


def torch_engine(torch, job, arrays):
    """As onnxruntime_engine, of a file of torch.export.save, operator by operator as PyTorch runs it."""
    torch.set_num_threads(job["threads"])
    if not job["model"].endswith(".pt2"):
        raise Refused("model", f"{job['model']} is no .pt2 file, which torch.export.save writes")
    if job["fixed"]:
        raise Refused("inputs", f"a program of torch.export has no input to fix: {', '.join(job['fixed'])}")
    try:
        program = torch.export.load(job["model"])
    except Exception as error:
        raise Refused("model", str(error)) from error
    names = program.graph_signature.user_inputs
    check_inputs(names, arrays)
    module, tensors = program.module(), [torch.from_numpy(arrays[name]) for name in names]

    def run():
        with torch.inference_mode():
            results = module(*tensors)
        return list(results) if isinstance(results, (tuple, list)) else [results]

    return run


ENGINES = {"onnxruntime": onnxruntime_engine, "openvino": openvino_engine, "torch": torch_engine}


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
        library = importlib.import_module(job["engine"])
    except Exception as error:  # Also what a broken installation raises.
        raise Refused("missing", f"{sys.executable}: {error}") from error
    arrays = dict(zip(job["inputs"], (numpy.load(io.BytesIO(file)) for file in files)))
    run = ENGINES[job["engine"]](library, job, arrays)
    try:
        outputs = run()
    except Exception as error:
        raise Refused("inputs", str(error)) from error
    if len(outputs) != len(job["outputs"]):  # Of an engine that has no names for them.
        raise Refused("inputs", f"the program has {len(outputs)} outputs, the bundle {len(job['outputs'])}")
    write_frame(answers, json.dumps({"version": library.__version__}).encode())
    for output in outputs:
        file = io.BytesIO()
        numpy.save(file, numpy.ascontiguousarray(output).reshape(numpy.shape(output)))
        write_frame(answers, file.getvalue())
    while True:
        seconds = float(read_frame())
        median = turn(run, seconds)
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
