"""Random programs, by seed: each step is computed as it is added, so that what is drawn next fits what is there."""

import copy
import math
import random
import re

import rows
import rows_of_networks  # noqa: F401  Its rows.
import rows_of_tensors  # noqa: F401
from program import LANES, Input, Program, Ref, Step, Unfit, apply, refs, renumbered

ELEMENTS_MAX = 200
EXTENTS = (1, 2, 3, 4, 5, 7)
RANK_WEIGHTS = (2, 6, 8, 5, 3)
STEPS_MAX = 8
WALKED = ("float32", "int64", "bfloat16", "uint8")
BY_INDEX_SHARE = 0.2  # Of steps: what they refuse is asked, too.
BAD_MAX = 3  # Calls of one program whose index is out of bounds.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.5, math.inf, -math.inf, math.nan, 1e4, -1e4,
           1e-40, 3e-7)  # Denormal in float32 and bfloat16, in float16.
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


class Maker:
    """What rows draw from. `dynamic`: the first extent of inputs is any, and says 5."""

    def __init__(self, seed, dynamic):
        self.rng, self.dynamic = random.Random(seed), dynamic
        self.inputs, self.steps, self.lanes, self.bad = [], [], [[] for _ in range(LANES)], []
        self._apart = frozenset()  # Numbers of values that are indices, or that nothing may read.
        self._name = ""  # Of the row.
        self.special = self.chance(0.5)
        self.zeros = not dynamic and self.chance(0.05)
        self.base = self.rng.choices(rows.ALL, (40, 8, 5, 5, 8, 6, 3, 3, 3, 4))[0]

    # ---- Choices.

    def chance(self, share):
        return self.rng.random() < share

    def flag(self):
        return self.chance(0.5)

    def choice(self, items):
        return self.rng.choice(list(items))

    def up_to(self, most):
        return self.rng.randint(1, max(1, most))

    def shuffled(self, items):
        return self.rng.sample(list(items), len(items))

    def any_shape(self, least_rank=0, most_rank=4):
        rank = self.rng.choices(range(least_rank, most_rank + 1), RANK_WEIGHTS[least_rank:most_rank + 1])[0]
        shape = [self.choice(EXTENTS) for _ in range(rank)]
        while math.prod(shape) > ELEMENTS_MAX:
            shape[shape.index(max(shape))] -= 1
        if self.zeros and shape and self.chance(0.3):
            shape[self.rng.randrange(rank)] = 0
        return shape

    def refactored(self, shape):
        """Another shape of as many elements."""
        size = math.prod(shape)
        found = [n for n in range(1, size + 1) if size % n == 0]
        first = self.choice(found) if found else 0
        return self.choice([[size], [-1], [first, -1] if first else [size], list(shape) + [1]])

    # ---- What a value is.

    def value(self, ref):
        return self.lanes[0][ref.number]

    def shape(self, ref):
        return list(self.value(ref).shape)

    def dtype(self, ref):
        return str(self.value(ref).dtype).removeprefix("torch.")

    def dim(self, ref):
        """Of a scalar 0 or -1, as PyTorch has it."""
        rank = max(1, len(self.shape(ref)))
        return self.rng.randrange(rank) - (rank if self.chance(0.3) else 0)

    def dims(self, ref):
        rank = max(1, len(self.shape(ref)))
        back = rank if self.chance(0.2) else 0
        return [dim - back for dim in sorted(self.rng.sample(range(rank), self.rng.randint(1, rank)))]

    def dims_of_row(self):
        """Of windows: the operator's name says it."""
        return int(re.search(r"([123])d", self._name)[1])

    # ---- Tensors.

    def _add(self, one):
        """Inputs come first: so their number is open until all are there."""
        self.inputs.append(one)
        tensor = one.tensor()
        for lane in self.lanes:
            lane.append(tensor.clone() if one.strides is None else one.tensor())
        return Ref(len(self.lanes[0]) - 1)

    def _values(self, dtype, count):
        if dtype == "bool":
            return [self.flag() for _ in range(count)]
        if dtype in _BITS:
            bits, signed = _BITS[dtype], dtype != "uint8"
            least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
            edges = [least, most, 0, 1, least + 1]
            small = (-5 if signed else 0, 9)
            return [self.choice(edges) if self.special and self.chance(0.3) else self.rng.randint(*small) for _ in range(count)]
        return [self.choice(SPECIAL) if self.special and self.chance(0.5) else round(self.rng.uniform(-3, 3), 3)
                for _ in range(count)]

    def fresh(self, dtype, shape):
        return self._add(self._input(dtype, list(shape)))

    def _input(self, dtype, shape):
        strides = None
        if len(shape) > 1 and 0 not in shape and self.chance(0.15):
            order, strides, step = self.shuffled(range(len(shape))), [0] * len(shape), self.choice([1, 1, 2])
            for axis in order:
                strides[axis] = step
                step *= shape[axis]
        dynamic = self.dynamic and bool(shape) and shape[0] == 5
        return Input(self._values(dtype, math.prod(shape)), shape, dtype, strides, dynamic)

    def tensor(self, types, least_rank=0, most_rank=4):
        """One that is there, or an input more. Where one dimension is enough, now and then a scalar."""
        if least_rank == 1 and self.chance(0.05):
            least_rank = 0
        there = [i for i, value in enumerate(self.lanes[0]) if str(value.dtype)[6:] in types and
                 least_rank <= value.dim() <= most_rank and i not in self._apart]
        if there and self.chance(0.75):
            return Ref(self.choice(there[-4:]))
        dtype = self.base if self.base in types and self.chance(0.7) else self.choice(types)
        shape = self.any_shape(least_rank, most_rank)
        if self.dynamic and shape:
            shape[0] = 5
        return self.fresh(dtype, shape)

    def images(self, types, dims, unbatched=True):
        """Of so many dimensions behind channels, and a batch or none."""
        rank = dims + (1 if unbatched and self.chance(0.3) else 2)
        there = [i for i, value in enumerate(self.lanes[0]) if str(value.dtype)[6:] in types and value.dim() == rank]
        if there and self.flag():
            return Ref(self.choice(there))
        extents = [self.choice((1, 2, 3)) for _ in range(rank - dims)] + [self.choice((2, 3, 4)) for _ in range(dims)]
        if self.dynamic:
            extents[0] = 5
        dtype = self.base if self.base in types and self.chance(0.7) else self.choice(types)
        return self.fresh(dtype, extents)

    def plain(self, dtype, shape):
        """Of no special numbers."""
        values = [round(self.rng.uniform(-3, 3), 3) for _ in range(math.prod(shape))]
        return self._add(Input(values, list(shape), dtype))

    def positive(self, dtype, shape):
        return self._add(Input([self.choice([0.0, 0.5, 3.0, math.inf, 1e4]) for _ in range(math.prod(shape))], list(shape), dtype))

    def same(self, ref):
        return self._like(self.shape(ref), self.dtype(ref))

    def _like(self, shape, dtype):
        there = [i for i, value in enumerate(self.lanes[0]) if list(value.shape) == shape and str(value.dtype)[6:] == dtype]
        return Ref(self.choice(there)) if there and self.chance(0.4) else self.fresh(dtype, shape)

    def beside(self, ref, dtype=None):
        """One that is broadcast to it."""
        shape = [1 if self.chance(0.2) else size for size in self.shape(ref)]
        shape = shape[self.rng.randint(0, len(shape)) if self.chance(0.2) else 0:]
        return self._like(shape, dtype or self.dtype(ref))

    def whole(self, dtype):
        """Of numbers that every type of integers has."""
        shape = self.any_shape()
        ref = self._add(Input([float(self.rng.randint(0, 100)) for _ in range(math.prod(shape))], shape, dtype))
        return ref

    def distinct(self, types):
        """Of elements that are all different: orders of equal ones are nobody's."""
        shape = self.any_shape(least_rank=1)
        values = [value / 4 for value in range(math.prod(shape))]
        self.rng.shuffle(values)
        return self._add(Input(values, shape, self.choice(types)))

    # ---- Indices.

    def inside(self, ref, dim):
        """A shape that is no larger, but for the dimension."""
        shape = self.shape(ref)
        return [self.choice([1, 2, size]) if axis == dim % len(shape) else self.rng.randint(min(1, size), size)
                for axis, size in enumerate(shape)]

    def index(self, extent, shape, types=rows.INDICES, from_end=False):
        if not extent:
            raise Unfit("an axis without elements")
        least = -extent if from_end else 0
        count = math.prod(shape)
        values = [self.choice([least, extent - 1, self.rng.randint(least, extent - 1)]) for _ in range(count)]
        return self._index(values, extent, shape, types)

    def once(self, extent, shape, dim, from_end=False, becomes=None):
        """Of which no two along the dimension are equal; `becomes`: the shape that it gets then."""
        dim %= len(shape)
        if not extent or shape[dim] > extent:
            raise Unfit("fewer elements than indices")
        after = math.prod(shape[dim + 1:])
        values = [0] * math.prod(shape)
        lines = {(i // (after * shape[dim]), i % after): None for i in range(len(values))}
        for line in lines:
            lines[line] = self.rng.sample(range(extent), shape[dim])
        for i in range(len(values)):
            value = lines[i // (after * shape[dim]), i % after][i // after % shape[dim]]
            values[i] = value - extent if from_end and self.flag() else value
        return self._index(values, extent, becomes or shape, ("int64",))

    def _index(self, values, extent, shape, types):
        ref = self._add(Input(values, list(shape), self.choice(types)))
        self._apart = self._apart | {ref.number}
        if values:
            self._add_bad(ref.number, self.rng.randrange(len(values)), beyond(extent, self.inputs[-1].dtype))
        return ref

    def _add_bad(self, number, element, values):
        """But for one with a single legal value, where nobody could see whether a result depends on it (fuzz.py)."""
        if len(self.bad) < BAD_MAX and self.flag() and values[0] > 1:
            self.bad.append((number, element, self.choice(values)))

    # ---- Steps.

    def step(self, name):
        """Adds one; raises `Unfit`, and what was drawn stays."""
        kind, make = rows.ROWS[name]
        self._name = name
        given = make(self)
        args, kwargs = given if isinstance(given, tuple) else (given, {})
        step = Step(rows.overload_of(name), args, kwargs, kind)
        before = copy.deepcopy(self.lanes) if step.writes else None
        try:
            step.results = apply(step, self.lanes)
        except Unfit:
            self.lanes = before or self.lanes
            raise
        first = len(self.lanes[0]) - step.results
        self.steps.append((step, first))
        self._apart = self._apart | set(range(first + rows.READ.get(name, step.results), len(self.lanes[0])))

    def is_read(self, number):
        """Whether it may be an output."""
        return number not in self._apart


def beyond(extent, dtype):
    """Indices of which an operator refuses the first ones always, and -1 and -extent where none counts from the end."""
    least, most = -2 ** 31, 2 ** 31 - 1
    wide = [2 ** 32, -2 ** 63, 2 ** 63 - 1] if dtype == "int64" else []  # Whose lower half is an index.
    return [extent, -extent - 1, least, most, *wide, -1, -extent]


class IndexMaker(Maker):
    """Of one step whose index is out of bounds in all ways."""

    def _add_bad(self, number, element, values):
        self.bad += [(number, element, value) for value in values]


class SpecialMaker(Maker):
    """Of one step on every pair of special numbers: side by side in two tensors, or as rows of one."""

    def _pairs(self, dtype):
        numbers = SPECIAL if dtype in rows.FLOATS else (False, True) if dtype == "bool" else (
            0, 1, 2, 3, 7, 127) + ((-1, -2, -7, -128) if dtype != "uint8" else (255,))
        return [(a, b) for a in numbers for b in numbers]

    def tensor(self, types, least_rank=0, most_rank=4):
        dtype = self.base if self.base in types else self.choice(types)
        pairs = self._pairs(dtype)
        if least_rank > 1 or most_rank == 1:
            return super().tensor(types, least_rank, most_rank)
        if least_rank == 1:
            return self._add(Input([value for pair in pairs for value in pair], [len(pairs), 2], dtype))
        return self._add(Input([a for a, _ in pairs], [len(pairs)], dtype))

    def beside(self, ref, dtype=None):
        pairs = self._pairs(dtype or self.dtype(ref))
        count = math.prod(self.shape(ref))
        return self._add(Input([pairs[i % len(pairs)][1] for i in range(count)], self.shape(ref), dtype or self.dtype(ref)))


def of_one(kind, name, seed, base=None):
    """A program of one step; None where none is found."""
    for attempt in range(20):
        maker = kind(f"{seed}/{name}/{attempt}", False)
        maker.zeros, maker.special, maker.base = False, True, base or maker.base
        try:
            maker.step(name)
        except (Unfit, IndexError, ValueError):
            continue
        return _in_order(maker)
    return None


def walk_of_indices():
    """Each operator that takes an index, out of bounds in all ways."""
    return [one for name in rows.by_index() for seed in range(3)
            if (one := of_one(IndexMaker, name, seed, WALKED[seed % 2])) is not None]


def walk_of_special_numbers(types):
    """Each operator on each pair of special numbers, in types that differ in what their kernels do."""
    found = []
    for name in rows.ROWS:
        if name not in rows.by_index():
            made = [of_one(SpecialMaker, name, i, base) or of_one(Maker, name, i, base) for i, base in enumerate(types)]
            of_type = [one for one, base in zip(made, types)
                       if one is not None and any(given.dtype == base for given in one.inputs)]
            found += of_type or [one for one in made if one is not None][:1]  # Of operators that have other types.
    return found


def generate(seed, dynamic=False, may_write=True):
    """A program by its seed."""
    maker = Maker(seed, dynamic)
    names = [name for name in sorted(rows.ROWS) if may_write or not name.split(".")[1].endswith("_")]
    indexed = [name for name in rows.by_index() if name in names]
    wanted, tries = maker.rng.randint(1, STEPS_MAX), 0
    while len(maker.steps) < wanted and tries < 10 * STEPS_MAX:
        tries += 1
        before = len(maker.lanes[0])
        try:
            maker.step(maker.choice(indexed if maker.chance(BY_INDEX_SHARE) else names))
        except (Unfit, IndexError, ValueError):
            _forget(maker, before)
    if not maker.steps:
        return generate(f"{seed}'", dynamic, may_write)
    return _in_order(maker)


def _forget(maker, count):
    """What a step has drawn that is none."""
    gone = len(maker.lanes[0]) - count
    if gone:
        del maker.inputs[len(maker.inputs) - gone:]
        for lane in maker.lanes:
            del lane[count:]
    maker.bad = [one for one in maker.bad if one[0] < count]
    maker._apart = frozenset(number for number in maker._apart if number < count)


def _in_order(maker):
    """The program of what was drawn: inputs first."""
    made = {number + i for step, number in maker.steps for i in range(step.results)}
    inputs = [number for number in range(len(maker.lanes[0])) if number not in made]
    order = {old: new for new, old in enumerate([*inputs, *sorted(made)])}
    steps = [Step(step.op, renumbered(step.args, order.get), renumbered(step.kwargs, order.get), step.kind, step.results)
             for step, _ in maker.steps]
    read = {number for step in steps for number in refs([step.args, step.kwargs])}
    own = {new for old, new in order.items() if maker.is_read(old)}
    ends = [number for number in range(len(inputs), len(order)) if number in own and (number not in read or maker.chance(0.2))]
    bad = [(order[number], at, value) for number, at, value in maker.bad]
    return Program(maker.inputs, steps, ends, bad).used()

