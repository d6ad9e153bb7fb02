"""How each engine takes a model in. ENGINES: name to function(job), which imports the library and
returns open(): from the model's file to (run, about). run(arrays) is one inference: C-contiguous
arrays in the model's order to a list of arrays. about: what is worth printing of the engine.
NAME_bound: the same on the memory of the first call's arrays, into arrays that each call writes again,
so that nothing is copied that the engine does not copy by itself. The model's shapes are fixed.

A failure is a RuntimeError with a text; other exceptions are the library's.
"""

import functools
import os


def openvino_engine(job, bound=False):
    import openvino

    def bind(compiled, request, arrays):
        outputs = [_output_like(each.get_shape(), each.get_element_type().to_dtype())
                   for each in compiled.outputs]
        for i, array in enumerate(arrays):
            request.set_input_tensor(i, openvino.Tensor(array, shared_memory=True))
        for i, array in enumerate(outputs):
            request.set_output_tensor(i, openvino.Tensor(array, shared_memory=True))

        def run():
            request.start_async()
            request.wait()
            return outputs

        return run

    def open_model():
        core = openvino.Core()
        compiled = core.compile_model(core.read_model(job["model"]), "CPU", {
            "INFERENCE_NUM_THREADS": len(job["cpus"]),
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": os.environ.get("OPENVINO_PRECISION", "f32"),
        })
        request = compiled.create_infer_request()

        def run(arrays):
            result = request.infer(arrays)
            return [result[i] for i in range(len(compiled.outputs))]

        if bound:
            run = _bound_by(functools.partial(bind, compiled, request))
        return run, {"version": openvino.__version__}

    return open_model


def _output_like(shape, dtype):
    from c_runtime import aligned_empty

    return aligned_empty(tuple(shape), dtype)


def _bound_by(bind):
    """run(arrays) of an engine whose bind(arrays), called once, returns a function."""
    calls = []

    def run(arrays):
        if not calls:
            calls.append(bind(arrays))
        return calls[0]()

    return run


def ort_engine(job, plain=False, bound=False):
    """`plain`: the graph as it is, node by node."""
    import onnxruntime

    def bind(session, arrays):
        import numpy as np

        binding = session.io_binding()
        for each, array in zip(session.get_inputs(), arrays):
            binding.bind_input(each.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
        outputs = [_output_like(each.shape, types[each.type]) for each in session.get_outputs()]
        for each, array in zip(session.get_outputs(), outputs):
            binding.bind_output(each.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

        def run():
            session.run_with_iobinding(binding)
            return outputs

        return run

    def open_model():
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(job["cpus"])
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        if plain:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(job["model"], options,
                                               providers=["CPUExecutionProvider"])
        if bound:
            return (_bound_by(functools.partial(bind, session)),
                    {"version": onnxruntime.__version__})
        names = [each.name for each in session.get_inputs()]
        return (lambda arrays: session.run(None, dict(zip(names, arrays))),
                {"version": onnxruntime.__version__})

    return open_model


def inductor_engine(job):
    """TorchInductor on the network that the ONNX file describes, with its weights as constants
    ("freezing"), so that it folds and packs them as the others do."""
    import torch
    import torch._inductor.config

    import onnx_torch

    torch.set_num_threads(len(job["cpus"]))
    torch._inductor.config.freezing = True

    def open_model():
        compiled = torch.compile(onnx_torch.load(job["model"]))

        def run(arrays):
            with torch.no_grad():
                outputs = compiled(*(torch.from_numpy(array) for array in arrays))
            return [output.numpy() for output in outputs]

        return run, {"version": torch.__version__}

    return open_model


def burnish_engine(job, bound=False):
    from c_runtime import Model, load_library

    library = load_library(job["library"])

    def open_model():
        model = Model(library, job["model"], job["cpus"])
        if None not in job["cpus"]:
            # Where its threads are pinned a caller with a wider mask is pinned and given the mask
            # back in each call, by system calls of some 2 us each, which peers do not make.
            os.sched_setaffinity(0, job["cpus"][:1])
        run = _bound_by(model.bind) if bound else model.run
        return run, {"target": model.target, "step_origins": model.step_origins()}

    return open_model


ENGINES = {"burnish": burnish_engine, "openvino": openvino_engine, "ort": ort_engine,
           "ort_plain": functools.partial(ort_engine, plain=True),
           "inductor": inductor_engine,
           "burnish_bound": functools.partial(burnish_engine, bound=True),
           "openvino_bound": functools.partial(openvino_engine, bound=True),
           "ort_bound": functools.partial(ort_engine, bound=True)}
