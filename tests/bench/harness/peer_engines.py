"""How each engine takes a model in. ENGINES: name to function(job), which imports the library and
returns open(): from the model's file to (run, about). run(arrays) is one inference: C-contiguous
arrays in the model's order to a list of arrays. about: what is worth printing of the engine.

A failure is a RuntimeError with a text; other exceptions are the library's.
"""

import functools


def openvino_engine(job):
    import openvino

    def open_model():
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

    return open_model


def ort_engine(job, plain=False):
    """`plain`: the graph as it is, node by node."""
    import onnxruntime

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


def burnish_engine(job):
    from c_runtime import Model, load_library

    library = load_library(job["library"])

    def open_model():
        model = Model(library, job["model"], job["cpus"])
        return model.run, {"target": model.target, "step_origins": model.step_origins()}

    return open_model


ENGINES = {"burnish": burnish_engine, "openvino": openvino_engine, "ort": ort_engine,
           "ort_plain": functools.partial(ort_engine, plain=True),
           "inductor": inductor_engine}
