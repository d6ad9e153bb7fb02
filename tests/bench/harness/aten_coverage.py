"""How much of core ATen the importer of PyTorch's graphs runs: ./dev bench pytorch --operators.

An operator counts where at least 90 % of PyTorch's own samples for it (OpInfo) in f32, i64 and bool are
converted, compiled, and right. All samples of one operator are one graph, so that the compiler runs once.
"""

import argparse
import collections
import json
import os
import sys

import numpy
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db

import burnish
from burnish import _programs
from burnish._torch import importer
from burnish._torch.builder import GraphBuilder

DTYPES = (torch.float32, torch.int64, torch.bool)
SHARE = 0.9  # Of its samples, for an operator to count.
# Core operators without an OpInfo of their own, by one that traces to them.
OF_OTHER = {"_adaptive_avg_pool2d": "nn.functional.adaptive_avg_pool2d",
            "_adaptive_avg_pool3d": "nn.functional.adaptive_avg_pool3d",
            "adaptive_avg_pool1d": "nn.functional.adaptive_avg_pool1d",
            "_cdist_forward": "cdist", "_embedding_bag": "nn.functional.embedding_bag",
            "_log_softmax": "log_softmax", "_softmax": "softmax", "_pdist_forward": "nn.functional.pdist",
            "_native_batch_norm_legit_no_training": "nn.functional.batch_norm",
            "_to_copy": "to", "alias": "view", "avg_pool1d": "nn.functional.avg_pool1d",
            "avg_pool2d": "nn.functional.avg_pool2d", "avg_pool3d": "nn.functional.avg_pool3d",
            "col2im": "nn.functional.fold", "constant_pad_nd": "constant_pad_nd",
            "convolution": "nn.functional.conv2d", "elu": "nn.functional.elu",
            "embedding": "nn.functional.embedding", "gelu": "nn.functional.gelu",
            "grid_sampler_2d": "nn.functional.grid_sample", "hardtanh": "nn.functional.hardtanh",
            "index": "__getitem__", "leaky_relu": "nn.functional.leaky_relu",
            "max_pool2d_with_indices": "nn.functional.max_pool2d",
            "max_pool3d_with_indices": "nn.functional.max_pool3d",
            "native_dropout": "nn.functional.dropout", "native_group_norm": "nn.functional.group_norm",
            "reflection_pad1d": "nn.functional.pad", "reflection_pad2d": "nn.functional.pad",
            "reflection_pad3d": "nn.functional.pad", "relu": "nn.functional.relu",
            "replication_pad2d": "nn.functional.pad", "replication_pad3d": "nn.functional.pad",
            "upsample_bilinear2d": "nn.functional.interpolate",
            "upsample_nearest2d": "nn.functional.interpolate"}
VARIANT = {"upsample_bilinear2d": "bilinear", "upsample_nearest2d": "nearest", "reflection_pad1d": "reflect",
           "reflection_pad2d": "reflect", "reflection_pad3d": "reflect", "replication_pad2d": "replicate",
           "replication_pad3d": "replicate"}


# Whose calls PyTorch writes into a graph as other operators: what those become is what runs.
WRITTEN_AS_OTHERS = ("adaptive_avg_pool1d", "alias", "avg_pool1d", "to")


def _batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    assert not training and mean is not None and var is not None, "a sample of training"
    return torch.ops.aten._native_batch_norm_legit_no_training(x, weight, bias, mean, var, momentum, eps)[0]


# What a sample calls in place of its own function, which becomes another operator without gradients.
CALLED = {"_native_batch_norm_legit_no_training": _batch_norm}


def core_operators():
    """{name without overload: [overloads]} of what PyTorch calls core."""
    found = collections.defaultdict(list)
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in getattr(packet, "overloads", list)():
            operator = getattr(packet, overload)
            if torch.Tag.core in operator.tags and not overload.endswith("out"):
                found[name].append(operator)
    return {name: operators for name, operators in found.items()
            if not name.startswith("sym_") and "backward" not in name}


def infos_of(name):
    wanted = OF_OTHER.get(name, name)
    infos = [info for info in op_db if info.name == wanted]
    infos = infos or [info for info in op_db if info.aten_name == name and info.variant_test_name == ""]
    variant = VARIANT.get(name)
    return [info for info in infos if variant is None or info.variant_test_name in ("", variant)]


def tensors_in(value, found):
    """`value` with each tensor replaced by its number in `found`."""
    if isinstance(value, torch.Tensor):
        found.append(value)
        return ("tensor", len(found) - 1)
    if isinstance(value, (list, tuple)):
        return type(value)(tensors_in(one, found) for one in value)
    if isinstance(value, dict):
        return {key: tensors_in(one, found) for key, one in value.items()}
    return value


def with_tensors(value, tensors):
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "tensor":
        return tensors[value[1]]
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(one, tensors) for one in value)
    if isinstance(value, dict):
        return {key: with_tensors(one, tensors) for key, one in value.items()}
    return value


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for one in value for leaf in leaves(one)]
    return [value] if isinstance(value, torch.Tensor) else []


class Sample:
    """One call, traced; `names` are the operators that it became, before and after decomposition."""

    def __init__(self, function, sample):
        tensors = []
        call = tensors_in([sample.input, list(sample.args), dict(sample.kwargs)], tensors)

        def run(*given):
            first, args, kwargs = with_tensors(call, given)
            return leaves(function(first, *args, **kwargs))

        self.tensors = [tensor.detach() for tensor in tensors]
        with torch.no_grad():
            self.wanted = run(*self.tensors)
            self.module = make_fx(run, tracing_mode="fake",
                                  decomposition_table=importer.decompositions())(*self.tensors)
            plain = make_fx(run, tracing_mode="fake")(*self.tensors)
        self.module.graph.eliminate_dead_code()
        # Also what a decomposition has taken away.
        self.names = {importer.full_name(node.target).split(".")[1]
                      for module in (plain, self.module) for node in module.graph.nodes
                      if importer.full_name(node.target).count(".") == 2}

    def trivial(self):
        """Of nothing, or from nothing: what such a call gives is known without a compiler."""
        return not self.wanted or any(x.numel() == 0 for x in (*self.wanted, *self.tensors))

    def unsupported(self):
        return importer.names_of(importer.reasons(self.module.graph))


def samples_of(name, limit):
    for info in infos_of(name):
        for dtype in DTYPES:
            if dtype not in info.dtypes:
                continue
            taken = 0
            for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
                if taken >= limit:
                    break
                try:
                    one = Sample(CALLED.get(name, info.op), sample)
                except Exception:  # Of PyTorch's tracing: not ours to judge.
                    continue
                if not one.trivial() and (name in one.names or name in WRITTEN_AS_OTHERS):
                    taken += 1
                    yield dtype, one


def outcome(samples):
    """What is wrong with each sample ("": nothing)."""
    builder, counts = GraphBuilder(), []
    for i, sample in enumerate(samples):
        results = importer.Written(builder, sample.module, {}, f"s{i}_").results()
        for k, tensor in enumerate(results):
            builder.graph.output(tensor.value, f"o{i}_{k}")
        counts.append(len(results))
    try:
        model = burnish.compile(builder.graph, accuracy="strict")
        inputs = [x for sample in samples for x, node in zip(
            sample.tensors, sample.module.graph.find_nodes(op="placeholder"))]
        got = model(*inputs)
    except burnish.BurnishError as error:
        if len(samples) == 1:
            return [f"compiler or run: {error}"]
        half = len(samples) // 2
        return outcome(samples[:half]) + outcome(samples[half:])
    got = list(got) if isinstance(got, tuple) else [got]
    found = []
    for sample, count in zip(samples, counts):
        found.append(difference(got[:count], sample.wanted,
                                not any(name.startswith(("empty", "new_empty")) for name in sample.names)))
        got = got[count:]
    return found


def difference(got, wanted, values=True):
    """`values`: not of what is allocated and not filled."""
    for g, w in zip(got, wanted, strict=True):
        w = w.detach().numpy()
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"got {g.dtype}{g.shape}, want {w.dtype}{w.shape}"
        if not values:
            continue
        if not numpy.issubdtype(w.dtype, numpy.floating):
            if not numpy.array_equal(g, w):
                return f"got {g.ravel()[:6]}, want {w.ravel()[:6]}"
        elif not numpy.allclose(g, w, rtol=1e-4, atol=1e-4, equal_nan=True):
            return f"got {g.ravel()[:6]}, want {w.ravel()[:6]}"
    return ""


def coverage(name, limit):
    """{operator, right, total, wrong}: its samples, how many are right, and what is wrong with how many."""
    converted, wrong, total = [], collections.Counter(), 0
    for dtype, sample in samples_of(name, limit):
        total += 1
        missing = sample.unsupported()
        if missing:
            wrong[f"{str(dtype)[6:]}: {missing}"] += 1
        else:
            converted.append(sample)
    results = outcome(converted) if converted else []
    wrong.update(result for result in results if result)
    return {"operator": name, "right": sum(not result for result in results), "total": total,
            "wrong": wrong.most_common(4)}


def counts(row):
    return row["total"] > 0 and row["right"] >= SHARE * row["total"]


def table(rows):
    """What the test in CI is held to: an operator a line, with its samples that are right and all of them."""
    return "".join(f"{row['operator']} {row['right']} {row['total']}\n"
                   for row in sorted(rows, key=lambda row: row["operator"]))


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return [{"operator": name, "right": int(right), "total": int(total)}
                for name, right, total in (line.split() for line in file)]


def one(name, limit):
    try:
        return coverage(name, limit)
    except Exception as error:  # pylint: disable=broad-except
        return {"operator": name, "right": 0, "total": 0, "wrong": [[f"{type(error).__name__}: {error}", 1]]}


def printed(row):
    print(f"{row['operator']}: {'counts' if counts(row) else 'no'}, {row['right']} of {row['total']}")
    for what, count in row["wrong"]:
        print(f"    {count} x {what[:300]}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --operators")
    parser.add_argument("--only")
    parser.add_argument("--samples", type=int, default=8, help="of each type")
    parser.add_argument("--out", metavar="FILE", help="a line of JSON for each operator; started again it goes on")
    parser.add_argument("--table", metavar="FILE", help="writes what the test in CI is held to")
    options = parser.parse_args()
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    rows = []
    if options.out and os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    done = {row["operator"] for row in rows}
    for name in options.only.split(",") if options.only else sorted(core_operators()):
        if name in done:
            continue
        rows.append(one(name, options.samples))
        printed(rows[-1])
        if options.out:
            with open(options.out, "a", encoding="utf-8") as file:
                print(json.dumps(rows[-1]), file=file)
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write(table(rows))
    counting = sum(map(counts, rows))
    print(f"{counting} of {len(rows)} core operators count ({counting / len(rows):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
