"""A failing case made small: fewer outputs, nodes, attributes, sets, dimensions and elements, other
types, as long as the failure is of the same kind."""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import evaluate
from case import Case
from evaluate import Unfit

FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16}


def copy(case):
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    return Case(model, [dict(arrays) for arrays in case.sets], dict(case.dims), case.threads)


def without_dead(graph):
    """Drops nodes and initializers that nothing reads, in bodies, too; returns the names that are read."""
    read, kept = {output.name for output in graph.output}, []
    for node in reversed(graph.node):
        if read & set(node.output):
            for body in evaluate.in_bodies(node):
                without_dead(body)
            kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
            read |= set(evaluate.names_read(node))
    del graph.node[:]
    graph.node.extend(reversed(kept))
    keep_named(graph.initializer, read)
    return read


def keep_named(items, names):
    left = [item for item in items if item.name in names]
    del items[:]
    items.extend(left)


def cleaned(case):
    """Without what no output needs: nodes, initializers, inputs, dimensions."""
    graph = case.model.graph
    keep_named(graph.input, without_dead(graph))
    names = {value.name for value in graph.input}
    case.sets = [{n: array for n, array in arrays.items() if n in names} for arrays in case.sets]
    said = {part for value in graph.input for dim in value.type.tensor_type.shape.dim
            for part in dim.dim_param.split(" + ")}
    case.dims = {name: text for name, text in case.dims.items() if name in said}
    return case


class Reducer:
    """`kind_of(case)`: what fails, "" if nothing does. Raises nothing."""

    def __init__(self, kind_of, tries=400):
        self._kind_of, self._left = kind_of, tries

    def reduce(self, case):
        kind = self._kind_of(case)
        if not kind:
            return case
        best, before = case, None
        while before is not best and self._left > 0:
            before = best
            for step in (fewer_outputs, fewer_sets, cut_nodes, passed_by, fewer_attributes, inner_nodes,
                         static_dims, smaller_extents, plain_types, plain_values):
                best = self._apply(step, best, kind)
        return best

    def _apply(self, step, best, kind):
        position = 0
        while self._left > 0:
            attempts = step(best)
            for _ in range(position):
                if next(attempts, None) is None:
                    return best
            found = None
            for attempt in attempts:
                self._left -= 1
                if self._left <= 0:
                    return best
                small = cleaned(attempt)
                if small.model.graph.node and self._kind_of(small) == kind:
                    found = small
                    break
                position += 1
            if found is None:
                return best
            best = found
        return best


def fewer_outputs(case):
    count = len(case.model.graph.output)
    for k in range(count if count > 1 else 0):
        attempt = copy(case)
        only = attempt.model.graph.output[k]
        keep = onnx.ValueInfoProto.FromString(only.SerializeToString())
        del attempt.model.graph.output[:]
        attempt.model.graph.output.append(keep)
        yield attempt
    for k in range(count if count > 1 else 0):
        attempt = copy(case)
        del attempt.model.graph.output[k]
        yield attempt


def fewer_sets(case):
    for i in range(len(case.sets) if len(case.sets) > 1 else 0):
        attempt = copy(case)
        attempt.sets = [attempt.sets[i]]
        yield attempt


def values_of(case):
    try:
        return evaluate.evaluate_graph(case.model, case.sets)
    except Unfit:
        return None


def cut_nodes(case):
    """What a node gives becomes an input or a constant; from the last to the first, so that much goes
    at once."""
    values = values_of(case)
    if values is None:
        return
    for k in reversed(range(len(case.model.graph.node))):
        for as_input in (True, False):
            attempt = copy(case)
            node = attempt.model.graph.node[k]
            outputs = [name for name in node.output if name]
            del attempt.model.graph.node[k]
            if not as_input and len(case.sets) > 1:
                continue
            for name in outputs:
                value = values[name]
                if as_input and value.static():
                    attempt.model.graph.input.append(evaluate.info_of(value))
                    for arrays, array in zip(attempt.sets, value.arrays):
                        arrays[name] = array
                elif value.static():
                    attempt.model.graph.initializer.append(numpy_helper.from_array(value.arrays[0], name))
            if all(values[name].static() for name in outputs) and not set(outputs) & {
                    value.name for value in attempt.model.graph.output}:
                yield attempt


def renamed(graph, old, new):
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new
        for body in evaluate.in_bodies(node):
            renamed(body, old, new)
    for value in graph.output:
        if value.name == old:
            value.name = new


def passed_by(case):
    """What reads a node's output reads its input instead."""
    for k, node in enumerate(case.model.graph.node):
        for source in node.input:
            if source and len(node.output) == 1:
                attempt = copy(case)
                del attempt.model.graph.node[k]
                outputs = {value.name for value in attempt.model.graph.output}
                if node.output[0] in outputs:
                    continue
                renamed(attempt.model.graph, node.output[0], source)
                yield attempt


def fewer_attributes(case):
    for k, node in enumerate(case.model.graph.node):
        for i, attribute in enumerate(node.attribute):
            if not attribute.HasField("g"):
                attempt = copy(case)
                del attempt.model.graph.node[k].attribute[i]
                yield attempt
        for i in range(len(node.input)):
            attempt = copy(case)
            shorter = attempt.model.graph.node[k]
            if i == len(node.input) - 1:
                del shorter.input[i]
            else:
                shorter.input[i] = ""
            yield attempt


def inner_nodes(case):
    """The same two steps inside of bodies: nodes passed by, outputs dropped with their node's."""
    for k, node in enumerate(case.model.graph.node):
        for j, body in enumerate(evaluate.in_bodies(node)):
            for i, inner in enumerate(body.node):
                for source in inner.input:
                    if source and len(inner.output) == 1:
                        attempt = copy(case)
                        there = evaluate.in_bodies(attempt.model.graph.node[k])[j]
                        del there.node[i]
                        renamed(there, inner.output[0], source)
                        yield attempt
        if node.op_type in ("If", "Loop", "Scan"):
            for i in range(len(node.output)):
                attempt = copy(case)
                there = attempt.model.graph.node[k]
                del there.output[i]
                for body in evaluate.in_bodies(there):
                    del body.output[i + (node.op_type == "Loop")]
                if node.op_type == "Loop" and i + 2 < len(node.input):
                    del there.input[i + 2]
                    del evaluate.in_bodies(there)[0].input[i + 2]
                yield attempt


def set_shapes(case, sets):
    case.sets = sets
    for value in case.model.graph.input:
        shape = value.type.tensor_type.shape
        for i, dim in enumerate(shape.dim):
            if not dim.dim_param and value.name in sets[0]:
                dim.dim_value = sets[0][value.name].shape[i]
    return case


def static_dims(case):
    if case.dims and len(case.sets) == 1:
        attempt = copy(case)
        for value in attempt.model.graph.input:
            for i, dim in enumerate(value.type.tensor_type.shape.dim):
                if value.name in case.sets[0]:
                    dim.dim_value = case.sets[0][value.name].shape[i]
        attempt.dims = {}
        yield attempt


def smaller_extents(case):
    """Each extent of inputs and initializers, everywhere at once, or where it is; shapes that are
    given as numbers stay, so that some attempts are no models."""
    tensors = [numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer]
    extents = sorted({e for array in tensors for e in array.shape if e > 1} | {
        e for array in case.sets[0].values() for e in array.shape if e > 1}, reverse=True)
    for extent in extents:
        for smaller in sorted({1, 2, extent - 1} - {extent}):
            if smaller >= extent:
                continue
            attempt = copy(case)

            def cut(array, extent=extent, smaller=smaller):
                for axis, e in enumerate(array.shape):
                    if e == extent:
                        array = array.take(range(smaller), axis)
                return array
            del attempt.model.graph.initializer[:]
            attempt.model.graph.initializer.extend(
                numpy_helper.from_array(cut(array), tensor.name)
                for array, tensor in zip(tensors, case.model.graph.initializer))
            if not case.dims:
                yield set_shapes(attempt, [{n: cut(a) for n, a in arrays.items()} for arrays in case.sets])


def plain_types(case):
    """f64 and f16 to f32, everywhere at once."""
    attempt = copy(case)
    changed = False
    for value in list(attempt.model.graph.input) + list(attempt.model.graph.output):
        kind = value.type.tensor_type
        if kind.elem_type in FLOATS - {TensorProto.FLOAT}:
            kind.elem_type, changed = TensorProto.FLOAT, True
    for tensor in attempt.model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype in (np.float64, np.float16):
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float32), tensor.name))
    if changed:
        attempt.sets = [{n: a.astype(np.float32) if a.dtype in (np.float64, np.float16) else a
                         for n, a in arrays.items()} for arrays in attempt.sets]
        yield attempt


def plain_values(case):
    """Small whole numbers for an input's; zero points and conditions stay what they are."""
    for name, array in case.sets[0].items():
        plain = (np.arange(array.size) % 5 + 1).reshape(array.shape).astype(array.dtype)
        if array.dtype.kind == "f" and not np.array_equal(array, plain):
            attempt = copy(case)
            attempt.sets = [dict(arrays, **{name: np.resize(plain, arrays[name].shape)})
                            for arrays in attempt.sets]
            yield attempt
