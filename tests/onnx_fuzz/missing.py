"""The importer's operators that the table has no row for, and why."""

MISSING = {
    "CausalConvWithState": "of operator set 27, which ONNX Runtime 1.31 does not read",
    "LinearAttention": "likewise",
    "SimplifiedLayerNormalization": "ONNX Runtime's, in ONNX's domain: the checker takes no such model",
    "SwiGLU": "of operator set 28, likewise",
    "ai.onnx.preview.FlexAttention": "likewise",
    "com.microsoft.DynamicQuantizeLSTM": "what it rounds decides all that follows; tests/onnx_suite/quantized_cases.py",
    "com.microsoft.GroupQueryAttention": "its lengths must be fixed by --value; tests/onnx_suite/contrib_cases.py",
}
