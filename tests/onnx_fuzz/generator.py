"""Random cases: a graph of 8 to 30 nodes from the table of operators."""

import random

from onnx import helper, numpy_helper

import evaluate
from builder import ALL, Builder
from case import Case, expected
from evaluate import Unfit
from rows import ROWS

OPSETS = [*range(7, 27), 11, 13, 17, 18, 19, 21, 24, 26]
# All sizes of `a` are run, and as many of `b`: a graph that is legal at these is so at all.
RANGES = {"a": (1, 4, [3, 1, 4, 2]), "b": (2, 5, [2, 5, 4, 3])}
NODES = (8, 30)  # How many there are of them; another most gives a seed another graph.
OUTPUTS_MAX = 10
THREADS = (2, 2, 2, 1, 3, 5, 7)  # By seed.
# What moves elements may become a view of another buffer, and bodies have rules of their own: more of
# them than their share of the table.
VIEWS = ["Concat", "Split", "Slice", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand",
         "Identity", "Pad", "Gather"]
CONTROL = ["If", "Loop", "Scan"]
# Nodes that are drawn for each one wanted, at most: many are illegal for what is there.
TRIES = 12


def add_some_node(b):
    """One more operator, and what it needs; nothing where that is not possible."""
    name = b.choice(b.rng.choices([VIEWS, CONTROL, ROWS], [25, 4, 71])[0])
    try:
        b.choice(ROWS[name])(b, name)
    except (Unfit, OverflowError, ZeroDivisionError, FloatingPointError):
        pass


def start(b, rng, dims):
    """The inputs that most graphs have; in one with dimensions each has at least one of them."""
    for _ in range(rng.randint(1, 3)):
        shape = list(b.shape(1 if dims else 0, 5 if dims else 9))
        if dims:
            shape[0 if rng.random() < 0.7 else rng.randrange(len(shape))] = rng.choice(dims)
            if len(shape) > 1 and len(dims) > 1 and rng.random() < 0.5:
                shape[-1] = rng.choice([*dims, "a + b"])
        b.input(b.dtype(ALL), tuple(shape))


def generate(seed, nodes_max=NODES[1]):
    """(case, lanes of its outputs by set). Raises Unfit where nothing came of the seed."""
    rng = random.Random(seed)
    dims = rng.choice([[], [], [], ["a"], ["a", "b"]])
    sizes = {name: RANGES[name][2] for name in dims}
    b = Builder(seed, rng.choice(OPSETS), 4 if dims else 2, sizes, special=rng.random() < 0.1,
                zeros=rng.random() < 0.12, reference=rng.random() < 0.15)
    count = rng.randint(NODES[0], nodes_max)
    start(b, rng, dims)
    for _ in range(TRIES * count):
        if len(b.nodes) >= count:
            break
        add_some_node(b)
    outputs = some_outputs(b, rng)
    if outputs and rng.random() < 0.1:
        outputs.append(b.emit("Identity", [rng.choice(outputs)]))
    without_dead(b, {value.name for value in outputs}, rng)
    if not b.nodes:
        raise Unfit("empty")
    model = evaluate.with_header(b.graph(outputs), b.opset)
    sets = [{value.name: value.arrays[i] for value, _ in b.inputs} for i in range(b.sets)]
    said = {part for _, shape in b.inputs for extent in shape for part in str(extent).split(" + ")}
    alone = {extent for _, shape in b.inputs for extent in shape if isinstance(extent, str)}
    if not said & set(dims) <= alone:
        raise Unfit("a size that no input has alone")
    case = Case(model, sets, {name: "{}..{}".format(*RANGES[name][:2]) for name in dims if name in said},
                THREADS[seed % len(THREADS)])
    lanes = [[value.lanes[i] for value in outputs] for i in range(b.sets)]
    return with_defaults(case, lanes, rng) if rng.random() < 0.2 else (case, lanes)


def with_defaults(case, lanes, rng):
    """Some initializers are inputs, too, and some sets give them; as it was where that is no model."""
    model = type(case.model).FromString(case.model.SerializeToString())
    sets = [dict(arrays) for arrays in case.sets]
    for tensor in model.graph.initializer:
        if rng.random() < 0.5:
            continue
        array = numpy_helper.to_array(tensor)
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, array.shape))
        for arrays in sets:
            if rng.random() < 0.5:
                arrays[tensor.name] = another(array, rng)
    made = Case(model, sets, case.dims, case.threads)
    try:
        evaluate.check(model)
        return made, expected(made)
    except (Unfit, ValueError, IndexError):
        return case, lanes


def another(array, rng):
    """Of the same kind: most numbers are shapes, axes and scales, of which few are legal."""
    if array.dtype == bool:
        return ~array
    if array.dtype.kind == "f":
        return array * array.dtype.type(rng.choice([0.5, 0.75, 1.25]))
    return array + array.dtype.type(rng.choice([0, 0, 0, 1]))


def some_outputs(b, rng):
    """What nothing reads, and some of the rest."""
    sinks = b.sinks()
    inner = [value for value in b.values if value.name in b.used]
    outputs = sinks if len(sinks) <= OUTPUTS_MAX else rng.sample(sinks, OUTPUTS_MAX)
    given = {value.name for value, _ in b.inputs}
    outputs = [value for value in outputs if value.name not in given]
    outputs += rng.sample(inner, min(len(inner), rng.choice([0, 0, 1, 2])))
    rng.shuffle(outputs)
    return outputs


def without_dead(b, read, rng):
    """Drops nodes that no output needs; in some graphs they stay."""
    if rng.random() < 0.1:
        return
    kept = []
    for node in reversed(b.nodes):
        if read & set(node.output):
            kept.append(node)
            read |= set(evaluate.names_read(node))
    b.nodes = kept[::-1]
    b.inputs = [pair for pair in b.inputs if pair[0].name in read or rng.random() < 0.1]


def names(node):
    """Importer's names of a node and of what its bodies have."""
    return [f"{one.domain}.{one.op_type}" if one.domain else one.op_type for one in evaluate.nodes_of(node)]


def runs_in_onnx_runtime(case, lanes):
    """Raises Unfit unless the checker takes the whole model, and ONNX Runtime, where it has all kernels,
    runs it to the lanes."""
    evaluate.check(case.model)
    try:
        session = evaluate.session_of(case.model)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            return  # ONNX's own reference has computed such nodes.
        raise Unfit(f"session: {error}") from error
    try:
        sets = [evaluate.run_session(session, arrays) for arrays in case.sets]
    except Exception as error:
        raise Unfit(f"run: {error}") from error
    for outputs, wanted in zip(sets, lanes):
        for output, lane in zip(outputs, wanted):
            if evaluate.difference(output, lane):
                raise Unfit("ONNX Runtime differs from its own nodes")
