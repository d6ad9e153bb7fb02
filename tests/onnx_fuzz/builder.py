"""A graph that grows node by node, each computed when it is added: what operators' rows draw from."""

import random

import numpy as np
from onnx import helper, numpy_helper

import evaluate
from evaluate import Unfit, Value

FLOATS = [np.dtype(kind) for kind in ("float32", "float64", "float16")]
SIGNED = [np.dtype(kind) for kind in ("int8", "int16", "int32", "int64")]
UNSIGNED = [np.dtype(kind) for kind in ("uint8", "uint16", "uint32", "uint64")]
INTEGERS = SIGNED + UNSIGNED
BOOL = [np.dtype(bool)]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + BOOL
F32, I64 = FLOATS[0], SIGNED[3]
RANKS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
RANK_WEIGHTS = [4, 14, 22, 22, 20, 6, 4, 2, 2, 1]
EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16]
FRESH_ELEMENTS_MAX = 300
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -1e30, 65504.0, 1.0, -1.0, 0.5, 1.5, 2.5]


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Builder:
    """`rng` chooses. `sets`: how many inputs each graph runs on. `sizes`: of each symbolic dimension
    its extent in each set. `reference`: ONNX's own computes what ONNX Runtime lacks. A body has an
    `outer` builder, whose values it may take."""

    def __init__(self, seed, opset, sets, sizes=None, outer=None, special=False, zeros=False,
                 reference=False):
        self.rng = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.opset, self.sets, self.sizes, self.outer = opset, sets, sizes or {}, outer
        self.special, self.zeros, self.reference = special, zeros, reference
        self.values, self.nodes, self.inputs, self.consts = [], [], [], []
        self.used = set()
        self.depth = outer.depth + 1 if outer else 0
        self.base = outer.base if outer else self.rng.choices(
            FLOATS + [SIGNED[2], I64], [60, 12, 10, 8, 10])[0]
        self._names = outer._names if outer else iter(f"v{i}" for i in range(10**6))

    # --- choices

    def chance(self, p):
        return self.rng.random() < p

    def choice(self, items):
        return self.rng.choice(list(items))

    def dtype(self, types):
        types = list(types)
        if self.base in types and self.chance(0.6):
            return self.base
        return F32 if F32 in types and self.chance(0.5) else self.choice(types)

    def shape(self, low=0, high=9):
        rank = self.rng.choices(RANKS[low:high + 1], RANK_WEIGHTS[low:high + 1])[0]
        shape = [self.choice(EXTENTS) for _ in range(rank)]
        while np.prod(shape) > FRESH_ELEMENTS_MAX:
            shape[shape.index(max(shape))] //= 2
        shape = [max(1, extent) for extent in shape]
        if self.zeros and shape and self.chance(0.15):
            shape[self.rng.randrange(rank)] = 0
        return tuple(shape)

    def array(self, dtype, shape, low=None, high=None):
        """Values with signal; with `low` and `high` uniform between them, ends included for integers."""
        dtype = np.dtype(dtype)
        if dtype == bool:
            return np.asarray(self.np.random(shape) < 0.5)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            special = self.special and low is None
            if low is None:
                low, high = (-9, 9) if self.chance(0.7) else (int(info.min), int(info.max))
            low, high = max(int(low), int(info.min)), min(int(high), int(info.max))
            made = np.asarray(self.np.integers(low, high, shape, dtype, endpoint=True))
            if special and made.size and self.chance(0.3):
                made.flat[self.rng.randrange(made.size)] = self.choice([info.min, info.max, 0])
            return made
        if low is not None:
            return np.asarray(self.np.uniform(low, high, shape)).astype(dtype)
        made = np.asarray(self.np.standard_normal(shape) * self.choice([1, 1, 1, 4])).astype(dtype)
        if self.special and made.size:
            for _ in range(self.rng.randrange(3)):
                with np.errstate(all="ignore"):
                    made.flat[self.rng.randrange(made.size)] = self.choice(SPECIAL)
        return made

    # --- values

    def _name(self):
        return next(self._names)

    def visible(self):
        return self.values + (self.outer.visible() if self.outer else [])

    def const(self, array):
        """An initializer."""
        value = evaluate.given(self._name(), [np.asarray(array)] * self.sets, True)
        self.consts.append(value)
        return value

    def ints(self, numbers, dtype=np.int64):
        return self.const(np.array(numbers, dtype))

    def input(self, dtype, shape, low=None, high=None):
        """A graph input; in a body an initializer. `shape` may have names of dimensions."""
        if self.outer:
            return self.const(self.array(dtype, self._sized(shape, 0), low, high))
        arrays = [self.array(dtype, self._sized(shape, i), low, high) for i in range(self.sets)]
        value = evaluate.given(self._name(), arrays)
        self.inputs.append((value, shape))
        self.values.append(value)
        return value

    def _sized(self, shape, i):
        return tuple(sum(self.sizes[part][i] for part in extent.split(" + "))
                     if isinstance(extent, str) else extent for extent in shape)

    def fresh(self, dtype, shape, low=None, high=None, const=0.4):
        """Of this type and shape: given, or cut from something that is there."""
        plain = low is None and all(isinstance(extent, int) for extent in shape)
        if plain and 0 < np.prod(shape) and self.chance(0.4):
            found = self.pick([dtype], where=lambda v: v.static() and v.lanes[0][0].size >= np.prod(shape))
            if found is not None:
                return self._cut(found, shape)
        if plain and self.chance(const):
            return self.const(self.array(dtype, shape))
        if low is not None and self.chance(const):
            return self.const(self.array(dtype, shape, low, high))
        return self.input(dtype, shape, low, high)

    def _cut(self, value, shape):
        """The first elements, in another shape: a chain of views."""
        count = int(np.prod(shape))
        if value.lanes[0][0].size != count:
            value = self.emit("Reshape", [value, self.ints([-1])])
            ends = [[0], [count], [0]]
            if self.opset < 10:
                value = self.emit("Slice", [value], starts=[0], ends=[count], axes=[0])
            else:
                value = self.emit("Slice", [value, *[self.ints(end) for end in ends]])
        return self.emit("Reshape", [value, self.ints(list(shape))])

    def pick(self, types=ALL, low=0, high=9, where=None, full=False):
        """One that is there, those of late more often; None without any. `full`: no element is missing."""
        types = set(types)
        found = [v for v in self.visible() if v.dtype in types and low <= v.rank <= high
                 and (where is None or where(v))
                 and not (full and any(array.size == 0 for array in v.arrays))]
        if not found:
            return None
        return found[-1 - int(len(found) * self.rng.random() ** 2)] if self.chance(0.7) else self.choice(found)

    def value(self, types=ALL, low=0, high=9, where=None, full=False, shape=None):
        """One that is there, or else a new one. `shape()`: of the new one."""
        found = self.pick(types, low, high, where, full) if self.chance(0.88) else None
        if found is not None:
            return found
        made = shape() if shape else self.shape(low, high)
        if full:
            made = tuple(max(1, extent) for extent in made)
        value = self.fresh(self.dtype(types), made)
        if where is not None and not where(value):
            raise Unfit("no such value")
        return value

    def partner(self, x, types=None, low=None, high=None, const=0.5):
        """What broadcasts with x."""
        def fits(v):
            if v.found or x.found:
                return False  # Such a dimension never broadcasts.
            try:
                for a, b in zip(v.shapes, x.shapes):
                    np.broadcast_shapes(a, b)
                return True
            except ValueError:
                return False
        types = types or [x.dtype]
        if low is None and self.chance(0.5):
            found = self.pick(types, where=fits)
            if found is not None:
                return found
        shape = [extent if x.static(i) and self.chance(0.7) else 1 for i, extent in enumerate(x.shape)]
        shape = shape[self.rng.randrange(len(shape) + 1):] if self.chance(0.4) else shape
        return self.fresh(self.dtype(types), tuple(shape), low, high, const)

    def axis(self, x, static=False, low=0):
        """An axis, counted from either end."""
        axes = [i for i in range(low, x.rank) if not static or x.static(i)]
        if not axes:
            raise Unfit("no axis")
        axis = self.choice(axes)
        return axis - x.rank if self.chance(0.4) else axis

    def axes(self, x, least=1):
        axes = self.rng.sample(range(x.rank), self.rng.randint(min(least, x.rank), x.rank))
        return [axis - x.rank if self.opset >= 11 and self.chance(0.3) else axis for axis in axes]

    # --- nodes

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = [self._name() for _ in range(outputs)] if isinstance(outputs, int) else [
            self._name() if wanted else "" for wanted in outputs]
        return helper.make_node(op, [v.name if v is not None else "" for v in inputs], names,
                                domain=domain, **attributes)

    def add(self, node):
        """Computes a node and takes it in; returns its outputs."""
        known = {value.name: value for value in self.visible() + self._all_consts()}
        # What a run finds may be as large as it likes in any set: each is a case of its own.
        made = evaluate.evaluate(node, {n: known[n] for n in evaluate.names_read(node)}, self.opset,
                                 reference=self.reference)
        outputs = [self._as_sets(made[name]) if name else None for name in node.output]
        for value in outputs:
            if value is not None:
                self._see_signal(value)
        self.nodes.append(node)
        self.used |= set(evaluate.names_read(node))
        self.values += [value for value in outputs if value is not None]
        return outputs

    def emit(self, op, inputs, outputs=1, domain="", **attributes):
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        made = self.add(self.node(op, inputs, outputs, domain, **attributes))
        return made[0] if outputs == 1 else made

    def _all_consts(self):
        return self.consts + (self.outer._all_consts() if self.outer else [])

    def _as_sets(self, value):
        return Value(value.name, value.lanes * self.sets, found=value.found) if len(value.lanes) < self.sets else value

    def _see_signal(self, value):
        """Mostly NaN, or all the same huge number, would hide what comes behind it."""
        array = value.lanes[0][0]
        if array.dtype.kind == "f" and array.size:
            finite = np.isfinite(array)
            if finite.mean() < 0.5 and self.chance(0.9):
                raise Unfit("mostly not finite")
            with np.errstate(all="ignore"):
                if not self.special and finite.any() and np.abs(array[finite]).max() > 1e4:
                    raise Unfit("too large")

    def sinks(self):
        return [value for value in self.values if value.name not in self.used]

    def graph(self, outputs, name="fuzz", input_infos=None):
        infos = input_infos if input_infos is not None else [
            helper.make_tensor_value_info(value.name, onnx_type(value.dtype), shape)
            for value, shape in self.inputs]
        # Some tools write extents of outputs, others leave them to inference.
        results = [helper.make_tensor_value_info(value.name, onnx_type(value.dtype), [
            extent if value.static(i) and said else None for i, extent in enumerate(value.shape)])
            for value in outputs for said in [self.chance(0.5)]]
        read = {n for node in self.nodes for n in evaluate.names_read(node)} | {v.name for v in outputs}
        consts = [numpy_helper.from_array(value.arrays[0], value.name)
                  for value in self.consts if value.name in read]
        return helper.make_graph(self.nodes, name, infos, results, consts)
