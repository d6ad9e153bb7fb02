"""A float model with QuantizeLinear and DequantizeLinear, for all engines alike."""

import numpy as np

ORT, TUNER = "ort", "tuner"
QUANTIZERS = (ORT, TUNER)
# Ranges are those of so many inputs; `tuner quantize` wants ten at least.
EXAMPLES = 16


def _by_ort(source, path, examples):
    """ONNX Runtime's static tool with its defaults but for weights by channel: u8 activations, i8
    weights. Batch norms stay where they are, as in a file that nobody simplified first."""
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)

    class Examples(CalibrationDataReader):
        def __init__(self):
            self.left = iter(examples)

        def get_next(self):
            return next(self.left, None)

    quantize_static(source, path, Examples(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def write(source, path, quantizer, examples, tuner):
    """`examples`: dictionaries of arrays by input. `tuner`: runs the command with these arguments.
    Returns `path`."""
    if quantizer == ORT:
        _by_ort(source, path, examples)
        return str(path)
    folder = path.with_suffix(".data")
    folder.mkdir()
    for name in examples[0]:
        np.save(folder / f"{name.replace('/', '_')}.npy",
                np.stack([each[name] for each in examples]))
    tuner("quantize", "--model", source, "--data", folder, "--out", path)
    return str(path)
