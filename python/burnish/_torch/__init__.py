"""PyTorch's models: from ATen graphs to `burnish.Graph`. Read `importer.py` first.

`registry.py` and `builder.py` are all that `import burnish` loads; they do not import torch.
"""
