"""ONNX Runtime as the reference for whole models."""

import onnxruntime


def run(model, input_sets):
    """`model`: ONNX bytes or a path. Returns the outputs of each set, in the model's order."""
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return [session.run(None, dict(zip(names, inputs))) for inputs in input_sets]
