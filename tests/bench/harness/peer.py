"""One engine with one model in a process of its own, which takes turns with others.

usage: peer.py JOB, where JOB is a JSON object:
  engine    a key of peer_engines.ENGINES
  model     the bundle, or the ONNX file
  library   libburnish.so.0; of burnish only
  inputs    .npz file: the model's inputs by name, in its order
  outputs   .npz file to write: the results of the first inference, "0", "1", ...
  cpus      the CPUs to run on, one thread each
  touch_bytes  so much free memory is written to and freed before the start (memory.touch_free)
Loads, runs once, and prints a line of JSON about itself: {"about": what the engine says, and
import_seconds, load_seconds (from the model's file to ready), first_run_seconds, cpu_seconds of both
and peak_bytes (memory.Growth) of this start}, or {"error": text}, which ends it. Then each line SECONDS on stdin
is a turn, answered by a line of JSON: latency_ns of each inference after a warm-up, the
involuntary_switches and timed_cpu_seconds meanwhile, and cpu_seconds of the turn with its warm-up.
A line "memory" is answered by resident_bytes. The end of stdin ends it.
"""

import gc
import json
import os
import resource
import sys
import time
import traceback

import memory
from peer_engines import ENGINES

WARM_UP_SHARE = 0.2  # Of a turn: caches, and the clock that wide vectors leave.


def turn(run, arrays, seconds):
    end = time.perf_counter() + WARM_UP_SHARE * seconds
    while time.perf_counter() < end:
        run(arrays)
    before = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = time.process_time()
    latency_ns = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    start = time.perf_counter_ns()
    # Once at least: on a busy machine the turn may be over before its first inference begins.
    while start < end or not latency_ns:
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
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's threads would spin beside the engine.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What an engine prints is no answer.

    import numpy as np

    from c_runtime import aligned_copy

    with np.load(job["inputs"]) as file:
        arrays = [aligned_copy(file[name]) for name in file.files]
    memory.touch_free(job["touch_bytes"])
    grown = memory.Growth()
    seconds, used = [time.perf_counter()], 0.0
    try:
        open_model = ENGINES[job["engine"]](job)
        seconds.append(time.perf_counter())
        used = time.process_time()
        run, about = open_model()
        seconds.append(time.perf_counter())
        outputs = run(arrays)
        seconds.append(time.perf_counter())
        used = time.process_time() - used
    except Exception as error:  # A library's own: what it says goes to the parent.
        traceback.print_exc()
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return 1
    peak_bytes = grown.peak()
    np.savez(job["outputs"], **{str(i): array for i, array in enumerate(outputs)})
    names = ("import_seconds", "load_seconds", "first_run_seconds")
    print(json.dumps({"about": about, "peak_bytes": peak_bytes, "cpu_seconds": used,
                      **dict(zip(names, (b - a for a, b in zip(seconds, seconds[1:]))))}),
          file=answers, flush=True)
    gc.disable()
    for line in sys.stdin:
        gc.collect()
        if line.strip() == "memory":
            answer = {"resident_bytes": grown.now()}
        else:
            used = time.process_time()
            answer = turn(run, arrays, float(line))
            answer["cpu_seconds"] = time.process_time() - used
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
