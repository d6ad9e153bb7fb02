"""Exports one model of real_exported.toml: real_export.py ENTRY FILE.onnx, with ENTRY as JSON.

Runs in an environment of its own, with torch, torchvision and transformers (requirements-real.txt).
Prints which exporter wrote the file.
"""

import inspect
import json
import sys

import numpy as np
import real_inputs
import torch

STATISTICS_BATCHES = 4
STATISTICS_BATCH = 4  # More than one value a channel, also after global pooling.
ZERO_DEVIATION = 0.02  # What transformers initialises weights with.
LEAST_THRESHOLD = 1e-6
EXPORTERS = ("dynamo", "torchscript")


def tensors(value):
    """All tensors of a result, in order; caches and None are left out."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in tensors(part)]
    return []


class Vision(torch.nn.Module):
    """A model of torchvision with a batch in and tensors out."""

    def __init__(self, model, takes_list):
        super().__init__()
        self.model, self.takes_list = model, takes_list

    def forward(self, x):
        return tuple(tensors(self.model(list(x) if self.takes_list else x)))


class Named(torch.nn.Module):
    """A model of transformers with inputs by name."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names
        self.extra = {"use_cache": False} if hasattr(model.config, "use_cache") else {}
        parameters = inspect.signature(model.forward).parameters
        self.extra = {name: value for name, value in self.extra.items() if name in parameters}

    def forward(self, *inputs):
        return tuple(tensors(self.model(**dict(zip(self.names, inputs)), **self.extra)))


class Generator(torch.nn.Module):
    """One step of a decoder: a token, keys and values of each layer, and what an encoder gave;
    logits and the longer keys and values."""

    def __init__(self, model, layers, has_states):
        super().__init__()
        self.model, self.layers, self.has_states = model, layers, has_states

    def forward(self, token, *rest):
        from transformers import DynamicCache, EncoderDecoderCache

        states, past = (rest[0], rest[1:]) if self.has_states else (None, rest)
        cache = DynamicCache()
        for layer in range(self.layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        if self.has_states:
            position = {}
            if "decoder_position_ids" in inspect.signature(self.model.forward).parameters:
                position["decoder_position_ids"] = torch.full((1, 1), past[0].shape[2])
            result = self.model(decoder_input_ids=token, encoder_outputs=(states,), use_cache=True,
                                past_key_values=EncoderDecoderCache(cache, DynamicCache()), **position)
        else:
            result = self.model(input_ids=token, past_key_values=cache, use_cache=True)
        grown = [each for layer in cache.layers for each in (layer.keys, layer.values)]
        return (result.logits, *grown)


def torchvision_model(name):
    import torchvision

    arguments = {"weights": None}
    builder = torchvision.models.get_model_builder(name)
    if "weights_backbone" in inspect.signature(builder).parameters:
        arguments["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        arguments |= {"aux_logits": False, "init_weights": False}
    return Vision(builder(**arguments), ".detection." in builder.__module__)


def past_shape(config, length):
    """(layers, shape) of the keys of a decoder."""
    layers = getattr(config, "decoder_layers", None) or config.num_hidden_layers
    heads = getattr(config, "decoder_attention_heads", None) or config.num_attention_heads
    width = getattr(config, "d_kv", None) or config.hidden_size // heads
    return layers, (1, getattr(config, "num_key_value_heads", None) or heads, length, width)


def transformers_model(path, settings, inputs, length):
    """The model and {name: example} with keys and values in it."""
    import transformers

    name, *attributes = path.split(".")
    kind = getattr(transformers, name)
    model = kind(kind.config_class(**settings))
    for attribute in attributes:
        model = getattr(model, attribute)
    if not length:
        return Named(model, list(inputs)), inputs
    layers, shape = past_shape(model.config, length)
    for layer in range(layers):
        for part in ("key", "value"):
            inputs[f"past_{layer}_{part}"] = torch.randn(shape)
    return Generator(model, layers, "states" in inputs), inputs


def redraw_zeros(model):
    """Weights that start as zeros, as the last layer of torchvision's ViT: nothing would depend on
    the input."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim >= 2 and not weight.any():
                weight.normal_(0, ZERO_DEVIATION)


def take_statistics(model, inputs):
    """Batch normalization's means and variances, from random inputs."""
    norms = [each for each in model.modules()
             if isinstance(each, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = None  # The average of all batches.
        norm.train()
    with torch.no_grad():
        for _ in range(STATISTICS_BATCHES):
            model(*(torch.rand(STATISTICS_BATCH, *each.shape[1:]) for each in inputs.values()))
    model.eval()


def lower_threshold(model, inputs):
    """Scores of random weights are those of chance, and a detector that finds nothing leaves nothing
    to compare: its threshold is halved until it finds something."""
    holder = getattr(model, "model", None)
    holder = getattr(holder, "roi_heads", holder)
    if not hasattr(holder, "score_thresh"):
        return
    with torch.no_grad():
        while holder.score_thresh > LEAST_THRESHOLD:
            if any(each.numel() for each in tensors(model(*inputs.values()))):
                return
            holder.score_thresh /= 2


def export(model, inputs, exporter, path):
    arguments = {"input_names": list(inputs), "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        arguments["external_data"] = False
    with torch.no_grad():
        torch.onnx.export(model, tuple(inputs.values()), path, **arguments)


def main():
    entry, path = json.loads(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    library, _, name = entry["builder"].partition(":")
    inputs = {}
    for key, value in real_inputs.parse(entry).items():
        whole = value.how in ("index", "ones")
        inputs[key] = torch.from_numpy(value.array(key, np.int64 if whole else np.float32))
    if library == "torchvision":
        model = torchvision_model(name)
    else:
        model, inputs = transformers_model(name, entry.get("config", {}), inputs,
                                           real_inputs.past_length(entry))
    model.eval()
    redraw_zeros(model)
    take_statistics(model, inputs)
    lower_threshold(model, inputs)
    others = [each for each in EXPORTERS if each != entry["exporter"]]
    for exporter in (entry["exporter"], *others):
        try:
            export(model, inputs, exporter, path)
            print(json.dumps({"exporter": exporter}))
            return 0
        except Exception as error:  # torch's own, of many classes.
            print(f"{exporter}: {type(error).__name__}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
