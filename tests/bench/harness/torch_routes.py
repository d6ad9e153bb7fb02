"""Tasks of a model by the importer of PyTorch's graphs and by PyTorch's ONNX exporter: how many are the same."""

import re
import subprocess

# The newest that PyTorch 2.15 writes, and the first in which an attention is one operator.
OPSET = 23


def compared(model, args, kwargs, folder, graph_main, opset=OPSET):
    """Numbers of tasks: by the importer, by ONNX, of both."""
    import burnish
    import torch
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point():  # Zeros and ones of a new model are left out by the exporter.
            tensor.data += 0.1 * torch.rand_like(tensor)
    direct, onnx = folder / "direct.graph", folder / "exported.onnx"
    with torch.no_grad():
        burnish.from_torch(torch.export.export(model, args, kwargs)).save(direct)
        torch.onnx.export(model, args, onnx, kwargs=kwargs, dynamo=True, verbose=False, external_data=False,
                          opset_version=opset)
    found = [workloads(path, graph_main) for path in (direct, onnx)]
    return {"direct": len(found[0]), "onnx": len(found[1]), "same": len(found[0] & found[1])}


def workloads(path, graph_main):
    """The tasks' programs, without how often each is there: what databases know them by."""
    text = subprocess.run([graph_main, path, "--stage=workloads"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return {part.partition("\n")[2] for part in re.split("^# ", text, flags=re.MULTILINE)[1:]}
