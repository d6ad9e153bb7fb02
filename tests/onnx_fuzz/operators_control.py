"""Rows: If, Loop and Scan, with bodies that are random graphs and end in what may become a view."""

import numpy as np
from onnx import helper

import generator
from builder import ALL, BOOL, FLOATS, Builder, onnx_type
from evaluate import Unfit, Value
from rows import row

DEPTH_MAX = 2


def body_of(b):
    if b.depth >= DEPTH_MAX:
        raise Unfit("too deep")
    return Builder(b.rng.getrandbits(32), b.opset, b.sets, b.sizes, outer=b, special=b.special, zeros=b.zeros,
                   reference=b.reference)


def grow(body):
    for _ in range(body.choice([0, 1, 2, 3, 5])):
        generator.add_some_node(body)


def parameter(body, lanes):
    value = Value(body._name(), lanes)
    body.values.append(value)
    return value


def info(value, shape=True):
    known = [e if value.static(i) else None for i, e in enumerate(value.shape)] if shape else None
    return helper.make_tensor_value_info(value.name, onnx_type(value.dtype), known)


def same(a, b):
    return a.dtype == b.dtype and a.shapes == b.shapes


def ending(body, value):
    """The same shape behind some chain that moves elements, or hardly computes."""
    kind = body.choice(["", "Identity", "Concat", "Reshape", "Transpose", "Slice", "Expand", "Add", "Pad"])
    axes = [i for i, e in enumerate(value.shape) if value.static(i) and e > 1]
    if kind == "Concat" and axes:
        axis = body.choice(axes)
        cut = body.rng.randint(1, value.shape[axis] - 1)
        sizes = [cut, value.shape[axis] - cut]
        if body.opset >= 13:
            parts = body.emit("Split", [value, body.ints(sizes)], 2, axis=axis)
        else:
            parts = body.emit("Split", [value], 2, axis=axis, split=sizes)
        if body.chance(0.5) and sizes[0] == sizes[1]:
            parts = parts[::-1]
        return body.emit("Concat", parts, axis=axis)
    if kind == "Reshape" and value.static() and value.rank:
        flat = body.emit("Reshape", [value, body.ints([-1])])
        return body.emit("Reshape", [flat, body.ints(list(value.shape))])
    if kind == "Transpose" and value.rank > 1:
        perm = body.rng.sample(range(value.rank), value.rank)
        there = body.emit("Transpose", [value], perm=perm)
        return body.emit("Transpose", [there], perm=[perm.index(i) for i in range(value.rank)])
    if kind == "Slice" and value.rank and body.opset >= 10:
        return body.emit("Slice", [value, body.ints([0]), body.ints([1 << 40]), body.ints([0])])
    if kind == "Expand" and value.rank:
        return body.emit("Expand", [value, body.ints([1])])
    if kind == "Add" and value.dtype in FLOATS:
        return body.emit("Add", [value, body.const(np.array(0.25, value.dtype))])
    if kind == "Pad" and value.dtype in FLOATS[:1] and value.rank and body.opset >= 11:
        return body.emit("Pad", [value, body.ints([0] * (2 * value.rank))])
    return body.emit("Identity", [value]) if kind == "Identity" else value


def made_here(body, value):
    """A body gives what it has made, not what lies outside of it."""
    made = {name for node in body.nodes for name in node.output}
    return value if value.name in made else body.emit("Identity", [value])


def like(body, wanted):
    """Something of the same type and shapes, or a new one."""
    found = body.pick([wanted.dtype], where=lambda v: same(v, wanted))
    if found is None:
        if not wanted.static():
            raise Unfit("no value of this shape")
        found = body.const(body.array(wanted.dtype, wanted.shape))
    return made_here(body, ending(body, found))


def apart(body, values):
    """One that is there twice ONNX Runtime gives once."""
    return [value if value not in values[:i] else body.emit("Identity", [value])
            for i, value in enumerate(values)]


@row("If")
def conditional(b, op):
    then = body_of(b)
    grow(then)
    results = []
    for _ in range(b.choice([1, 1, 2])):
        value = then.pick(ALL, where=lambda v: v.static() or any(same(v, o) for o in b.visible()))
        if value is None:
            raise Unfit("nothing to give")
        results.append(made_here(then, ending(then, value)))
    results = apart(then, results)
    other = body_of(b)
    grow(other)
    others = apart(other, [like(other, value) for value in results])
    condition = b.input(BOOL[0], b.choice([(), (1,)])) if b.chance(0.7) else decided(b)
    node = helper.make_node(op, [condition.name], [b._name() for _ in results],
                            then_branch=then.graph(results, "then", []), else_branch=other.graph(others, "else", []))
    b.add(node)


def decided(b):
    """A condition that a run computes."""
    x = b.pick(FLOATS[:1], full=True)
    if x is None:
        raise Unfit("no number")
    flat = b.emit("Reshape", [x, b.ints([-1])])
    first = b.emit("Gather", [flat, b.ints(0)])
    return b.emit("Greater", [first, b.const(np.array(0, x.dtype))])


def states_of(b, body, count):
    """Initial values, and what they are in the body."""
    first = [b.value(ALL, full=True) for _ in range(count)]
    return first, [parameter(body, value.lanes) for value in first]


def next_states(body, states):
    """What each state becomes: something that depends on it, where its type lets it."""
    results = []
    for state in states:
        value = state
        if state.dtype in FLOATS and body.chance(0.7):
            value = body.emit("Mul", [state, body.const(np.array(body.choice([0.5, -0.75]), state.dtype))])
            if body.chance(0.5):
                value = body.emit("Add", [value, body.const(body.array(state.dtype, ()))])
        elif body.chance(0.4):
            value = body.pick([state.dtype], where=lambda v, state=state: same(v, state)) or state
        results.append(made_here(body, ending(body, value)))
    return results


@row("Loop")
def loop(b, op):
    body = body_of(b)
    trips = b.choice([0, 1, 2, 3, 5]) if b.zeros else b.choice([1, 2, 3, 5])
    first, states = states_of(b, body, b.choice([0, 1, 1, 2]))
    number = parameter(body, [(np.array(0, np.int64),) * 3] * b.sets)
    go = parameter(body, [(np.array(True),) * 3] * b.sets)
    grow(body)
    results = next_states(body, states)
    stacked = []
    for _ in range(b.choice([0, 1, 1, 2]) if results else 1):
        # Without an iteration ONNX Runtime has 0 for an extent that it cannot infer.
        value = body.pick(ALL, full=True, where=lambda v: v.name != go.name and (trips or not v.found))
        if value is None:
            raise Unfit("nothing to give")
        stacked.append(made_here(body, ending(body, value)))
    goes_on = body.emit("Identity", [go])
    if b.chance(0.25):
        goes_on = body.emit("Less", [number, body.ints(b.choice([0, 1, 3]))])
    infos = [info(number), info(go)] + [info(state, b.chance(0.5)) for state in states]
    condition = b.choice([None, None, b.const(np.array(True))])
    names = [b.ints(trips).name, condition.name if condition else "", *[value.name for value in first]]
    b.add(helper.make_node(op, names, [b._name() for _ in results + stacked],
                           body=body.graph([goes_on, *results, *stacked], "body", infos)))


@row("Scan")
def scan(b, op):
    if b.opset < 9:
        raise Unfit("lengths of its own")
    body = body_of(b)
    x = b.value(ALL, 1, 5, full=True)
    axis = b.rng.randrange(x.rank)
    sources, axes = [x], [axis]
    more = b.pick(ALL, 1, 5, lambda v: [s[0] for s in v.shapes] == [s[axis] for s in x.shapes])
    if more is not None and b.chance(0.4):
        sources, axes = [x, more], [axis, 0]
    first, states = states_of(b, body, b.choice([0, 1, 1]))
    parts = [parameter(body, [tuple(np.take(array, 0, at) for array in lane) for lane in value.lanes])
             for value, at in zip(sources, axes)]
    grow(body)
    results = next_states(body, states)
    given = [made_here(body, ending(body, body.choice([*parts, body.pick(ALL, full=True)])))
             for _ in range(b.choice([1, 1, 2]))]
    attributes = {"num_scan_inputs": len(sources), "scan_input_axes": axes}
    if b.chance(0.4):
        attributes["scan_input_directions"] = [b.choice([0, 1]) for _ in sources]
        attributes["scan_output_directions"] = [b.choice([0, 1]) for _ in given]
    if b.chance(0.3):
        attributes["scan_output_axes"] = [b.rng.randint(0, value.rank) for value in given]
    b.add(helper.make_node(op, [value.name for value in first + sources], [b._name() for _ in results + given],
                           body=body.graph([*results, *given], "body", [info(v) for v in states + parts]),
                           **attributes))
