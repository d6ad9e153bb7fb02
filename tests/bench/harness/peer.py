"""One engine with one model in a process of its own, which takes turns with others.

usage: peer.py JOB, where JOB is a JSON object:
  engine    "burnish", "openvino" or "ort"
  model     the bundle, or the ONNX file
  library   libburnish_runtime.so; of burnish only
  inputs    .npz file: the model's inputs by name, in its order
  outputs   .npz file to write: the results of the first inference, "0", "1", ...
  cpus      the CPUs to run on, one thread each
Loads, runs once, and prints a line of JSON about itself. Then each line SECONDS on stdin is a turn,
answered by a line of JSON: latency_ns of each inference after a warm-up, the involuntary_switches
and timed_cpu_seconds meanwhile, and cpu_seconds of the turn with its warm-up. The end of stdin ends it.
"""

import gc
import json
import os
import resource
import sys
import time

WARM_UP_SHARE = 0.2  # Of a turn: caches, and the clock that wide vectors leave.


def openvino_engine(job):
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(job["model"]), "CPU", {
        "INFERENCE_NUM_THREADS": len(job["cpus"]),
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    })
    request = compiled.create_infer_request()

    def run(arrays):
        result = request.infer(arrays)
        return [result[i] for i in range(len(compiled.outputs))]

    return run, {"version": openvino.__version__}


def ort_engine(job):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(job["cpus"])
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    session = onnxruntime.InferenceSession(job["model"], options,
                                           providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return (lambda arrays: session.run(None, dict(zip(names, arrays))),
            {"version": onnxruntime.__version__})


def burnish_engine(job):
    from burnish_runtime import Model

    model = Model(job["library"], job["model"], job["cpus"])
    return model.run, {"target": model.target, "step_origins": model.step_origins()}


ENGINES = {"burnish": burnish_engine, "openvino": openvino_engine, "ort": ort_engine}


def turn(run, arrays, seconds):
    end = time.perf_counter() + WARM_UP_SHARE * seconds
    while time.perf_counter() < end:
        run(arrays)
    before = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = time.process_time()
    latency_ns = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    start = time.perf_counter_ns()
    while start < end:
        run(arrays)
        finish = time.perf_counter_ns()
        latency_ns.append(finish - start)
        start = finish
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {"latency_ns": latency_ns,
            "timed_cpu_seconds": time.process_time() - cpu_seconds,
            "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw}


def main():
    job = json.loads(sys.argv[1])
    # Before any import that starts threads, so that they inherit both.
    os.sched_setaffinity(0, job["cpus"])
    os.environ["OMP_NUM_THREADS"] = str(len(job["cpus"]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What an engine prints is no answer.

    import numpy as np

    with np.load(job["inputs"]) as file:
        arrays = [np.ascontiguousarray(file[name]) for name in file.files]
    start = time.perf_counter()
    try:
        run, about = ENGINES[job["engine"]](job)
        load_seconds = time.perf_counter() - start
        outputs = run(arrays)
    except RuntimeError as error:
        sys.exit(f"{job['engine']}: {error}")
    np.savez(job["outputs"], **{str(i): array for i, array in enumerate(outputs)})
    print(json.dumps({"load_seconds": load_seconds, **about}), file=answers, flush=True)
    gc.disable()
    for line in sys.stdin:
        used = time.process_time()
        answer = turn(run, arrays, float(line))
        answer["cpu_seconds"] = time.process_time() - used
        print(json.dumps(answer), file=answers, flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
