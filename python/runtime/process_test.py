"""Several threads, forked and spawned processes."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading

import numpy

import burnish_runtime
import harness

THREADS = 10
HANGS_S = 60  # Never reached when all is well.


def in_threads(*calls):
    """Runs them at the same time, and raises what the first one has raised."""
    errors = []
    start = threading.Barrier(len(calls))

    def run(call):
        try:
            start.wait()
            call()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)
    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def repeat(model, seed, times=100):
    tensors = harness.inputs(seed)
    want = harness.expected(*tensors)
    out = tuple(numpy.empty(each.shape, each.dtype) for each in model.outputs)
    for _ in range(times):
        harness.check_outputs(model(*tensors), want)
        harness.check_outputs(model.run(*tensors, out=out), want)


def test_ten_threads_on_one_model():
    model = harness.load(threads=2)
    in_threads(*(lambda seed=seed: repeat(model, seed) for seed in range(THREADS)))


def test_ten_threads_on_models_of_their_own():
    first = harness.load(threads=1)
    models = [first] + [harness.load(threads=2, share_with=first) for _ in range(THREADS - 1)]
    del first
    in_threads(*(lambda seed=seed: repeat(models[seed], seed) for seed in range(THREADS)))


def test_ten_threads_on_models_that_share_threads():
    threads = burnish_runtime.Threads(2)
    assert threads.count == 2 and repr(threads) == "burnish_runtime.Threads(2)"
    models = [harness.load(threads=threads) for _ in range(THREADS)]
    assert all(model.thread_count == 2 for model in models)
    del threads
    in_threads(*(lambda seed=seed: repeat(models[seed], seed, times=30) for seed in range(THREADS)))


def test_models_that_open_and_close_in_threads():
    def open_and_close():
        for seed in range(5):
            repeat(harness.load(threads=2), seed, times=1)
    in_threads(*[open_and_close] * THREADS)


def test_pinned_threads():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    threads = burnish_runtime.Threads(cpus=cpus, spin_us=10)
    assert threads.count == len(cpus)
    repeat(harness.load(threads=threads), 0, times=3)


def test_cpus_of_a_model():
    cpus = sorted(os.sched_getaffinity(0))
    model = harness.load(cpus=cpus[-1:])
    assert model.thread_count == 1 and harness.load(threads=1, cpus=(cpus[0],)).thread_count == 1
    repeat(model, 0, times=3)
    assert sorted(os.sched_getaffinity(0)) == cpus
    missing = max(cpus) + 1
    harness.refusal(lambda: harness.load(cpus=[missing]), f"got CPU {missing}", "may not use",
                    f"it has {cpus[0]}")
    harness.refusal(lambda: burnish_runtime.Threads(cpus=[missing]), f"got CPU {missing}")
    harness.refusal(lambda: harness.load(cpus=[]), "no CPUs", kind=ValueError)
    harness.refusal(lambda: harness.load(threads=2, cpus=cpus[:1]), "1 CPUs", "2 threads",
                    kind=ValueError)
    harness.refusal(lambda: harness.load(cpus="01"), kind=TypeError)
    harness.refusal(lambda: harness.load(threads=burnish_runtime.Threads(1), cpus=cpus[:1]),
                    "Threads(cpus=...)", kind=TypeError)


def test_models_at_the_same_time_on_threads_of_their_own():
    for threads in burnish_runtime.Threads.disjoint(2), burnish_runtime.Threads.disjoint(3, threads=2):
        assert {each.count for each in threads} == {threads[0].count}
        first = harness.load(threads=threads[0])
        models = [first] + [harness.load(threads=each, share_with=first) for each in threads[1:]]
        in_threads(*(lambda seed=seed: repeat(models[seed], seed, times=30)
                     for seed in range(len(models))))
    assert len(burnish_runtime.Threads.disjoint(count=1)) == 1
    for count, threads in ((0, 0), (-1, 0), (1025, 0), (1, -1)):
        harness.refusal(lambda: burnish_runtime.Threads.disjoint(count, threads), f"count={count}",
                        kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads.disjoint(1, 2000), "2000 threads")


def test_refusals_in_threads_keep_their_texts():
    model = harness.load()
    _, *others = harness.inputs(0)

    def refuse(count):
        x = numpy.zeros((count, 500), numpy.float32)
        for _ in range(100):
            harness.refusal(lambda: model(x, *others), f"got f32[{count},500]", code="B0404")
    in_threads(*(lambda count=count: refuse(count) for count in range(10, 10 + THREADS)))


def test_other_threads_run_during_a_call_on_the_callers_own_memory():
    """The model waits until its input is not 0. A thread that writes it can run only when the call
    lets go of the interpreter's lock, and is seen only where no copy was made."""
    model = harness.copy_model("wait", threads=2)
    x = burnish_runtime.empty(4, numpy.float32)
    x[:] = 0
    called = threading.Lock()

    def write():
        with called:
            x[0] = 3
    with called:
        writer = threading.Thread(target=write)
        writer.start()
        before = sys.getswitchinterval()
        # From here on no thread is made to let go: the writer waits for this one to let go.
        sys.setswitchinterval(1000)
    try:
        got = model(x)
    finally:
        sys.setswitchinterval(before)
    writer.join()
    assert got[0] == 3, got


def test_a_model_and_tensors_that_are_dropped_during_a_call():
    model = harness.copy_model("wait", threads=2)
    x = burnish_runtime.empty(4, numpy.float32)
    x[:] = 0
    first = x[:1]  # Keeps the memory, and not the array.
    results = []
    caller = threading.Thread(target=lambda given: results.append(given.pop()(given.pop())),
                              args=([x, model],))
    caller.start()
    del model, x
    first[0] = 2
    caller.join()
    assert results[0][0] == 2


def run_in_child(call):
    """Exit code 0: `call` returned. A child that hangs is ended by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS_S)
        try:
            call()
            os._exit(0)
        except BaseException as error:  # pylint: disable=broad-except
            print("in the child:", repr(error), flush=True)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)


def test_forked_children_go_on_with_a_model():
    for options in ({"threads": 2}, {"threads": burnish_runtime.Threads(2)}, {"threads": 1}):
        model = harness.load(**options)
        repeat(model, 0, times=2)
        for seed in range(3):
            run_in_child(lambda model=model, seed=seed: repeat(model, seed, times=3))
        run_in_child(lambda: repeat(harness.load(threads=2, share_with=model), 1, times=3))
        repeat(model, 4, times=2)


def libgomp():
    """Its functions' addresses, and how many threads of it this process has."""
    library = ctypes.CDLL("libgomp.so.1")  # As whatever GCC compiled with OpenMP loads it.
    return tuple(ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                 for name in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads"))


def thread_count():
    return len(os.listdir("/proc/self/task"))


def test_runs_take_place_on_openmps_threads():
    openmp, before = libgomp(), thread_count()
    threads = burnish_runtime.Threads(3, openmp=openmp)
    model, other = harness.load(threads=threads), harness.load(threads=threads)
    del threads
    assert thread_count() == before
    for seed in range(3):
        repeat(model, seed, times=2)
        repeat(other, seed, times=2)
    assert thread_count() == before + 2  # libgomp's, which it keeps.
    in_threads(*(lambda seed=seed: repeat(model, seed, times=20) for seed in range(4)))
    for seed in range(3):  # Where libgomp's threads are gone: a call of them would wait for ever.
        run_in_child(lambda seed=seed: repeat(model, seed, times=3))
    repeat(other, 1)


def test_fork_while_other_threads_run_the_model():
    model = harness.load(threads=2)
    stop = threading.Event()

    def keep_running():
        while not stop.is_set():
            repeat(model, 7, times=1)
    others = [threading.Thread(target=keep_running) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for seed in range(5):
            run_in_child(lambda seed=seed: repeat(model, seed, times=2))
    finally:
        stop.set()
        for other in others:
            other.join()


def load_and_repeat(seed):
    repeat(harness.load(threads=2), seed, times=3)


def test_spawned_children_load_the_file():
    repeat(harness.load(threads=2), 0, times=1)
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=load_and_repeat, args=(seed,)) for seed in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(HANGS_S)
        assert child.exitcode == 0, child.exitcode


harness.run_cases(__name__)
