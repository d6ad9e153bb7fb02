"""A program: operators of ATen in a row, on inputs that are known; its text, its file, and what eager PyTorch makes of it.

What an operator rounds is known in four lanes: as eager computes it, and with all that was rounded before moved by a few
units in the last place: up, down, and each element one way or the other, since what all elements share may cancel. In the
last lane a norm's inputs are moved, too: of a row of one number it makes much of their rounding. Four times the lanes' distance is how far right results may lie apart;
where nothing was rounded they are equal. A step whose lanes differ in what is no float, in where NaN and infinity are,
or by much, is decided by rounding, and no oracle: `Unfit`. Denormal numbers may count as zero: where there are some, a
right result is eager's with them or without.
"""

import copy
import dataclasses
import json
import math
import operator

import torch

EXACT, ROUNDED, FUNCTION, SUM, NORM, BLEND = "exact", "rounded", "function", "sum", "norm", "blend"
# Units in the last place by which a lane is moved: an operation may be a product with a reciprocal, or one step with its
# neighbour; a function of the compiler's is right to a few of them, one of 16 bits computed in f32 is right to one; a sum
# is of up to 64 terms in any order; a distance from a mean is rounded as the greatest of its row is; a mean by
# exponentials has the error of their sums, too.
_UNITS = {ROUNDED: 2, FUNCTION: 16, SUM: 32, NORM: 32, BLEND: 256}
_UNITS_OF_16_BITS = {NORM: 4, BLEND: 8}  # Else 2: a sum of 16-bit numbers is one of f32, rounded once.
_SHARE_MAX = 2.0 ** -7
LANES = 4


class Unfit(Exception):
    """A step that eager refuses, or whose result is no oracle."""


@dataclasses.dataclass(frozen=True)
class Ref:
    """A value by its number: inputs, then what steps make."""
    number: int


@dataclasses.dataclass
class Input:
    values: list  # Of all elements.
    shape: list
    dtype: str
    strides: list | None = None  # Of memory that may be larger; none: dense.
    dynamic: bool = False  # Whether the first extent is any.

    def tensor(self, first=None):
        """With so many rows as `first` says, which repeat."""
        tensor = torch.tensor(self.values, dtype=getattr(torch, self.dtype)).reshape(self.shape)
        if first is not None and self.dynamic:
            tensor = tensor[torch.arange(first) % self.shape[0]].contiguous()
        if self.strides is not None:
            extents = [max(1, size) for size in tensor.shape]
            count = 1 + sum((size - 1) * stride for size, stride in zip(extents, self.strides))
            whole = torch.zeros(count, dtype=tensor.dtype)
            whole.as_strided(tensor.shape, self.strides).copy_(tensor)
            return whole.as_strided(tensor.shape, self.strides)
        return tensor


@dataclasses.dataclass
class Step:
    op: str  # "aten.add.Tensor"
    args: list
    kwargs: dict
    kind: str = EXACT
    results: int = 1

    def call(self, values):
        return flat(overload(self.op)(*_given(self.args, values), **_given(self.kwargs, values)))

    @property
    def many(self):
        """Whether results come in a list or tuple."""
        returns = overload(self.op)._schema.returns
        return len(returns) > 1 or "List" in str(returns[0].type)

    @property
    def writes(self):
        return self.op.split(".")[1].endswith("_")


@dataclasses.dataclass
class Program:
    inputs: list
    steps: list
    outputs: list  # Numbers of values.
    bad: list = dataclasses.field(default_factory=list)  # (input, element, value): each makes a call that may raise.

    def source(self, name):
        names = [f"v{i}" for i in range(len(self.inputs))]
        lines = [f"def {name}({', '.join(names)}):"]
        for step in self.steps:
            made = [f"v{len(names) + i}" for i in range(step.results)]
            lines.append(f"    {', '.join(made)}{',' if step.many else ''} = torch.ops.{step.op}({_text(step)})")
            names += made
        return "\n".join([*lines, f"    return ({''.join(names[i] + ', ' for i in self.outputs)})"])

    def add_to(self, graph, given):
        """Writes the steps into an FX graph; returns the nodes of outputs."""
        values = list(given)
        for step in self.steps:
            node = graph.call_function(overload(step.op), tuple(_given(step.args, values)), _given(step.kwargs, values))
            values += [graph.call_function(operator.getitem, (node, i)) for i in range(step.results)] if step.many else [node]
        return [values[i] for i in self.outputs]

    def tensors(self, bad=None, first=None):
        given = [one.tensor(first) for one in self.inputs]
        if bad is not None:
            given[bad[0]].view(-1)[bad[1]] = bad[2]
        return given

    def used(self):
        """Without steps and inputs that no output needs, and that write nothing which one needs."""
        ends, begin = [], len(self.inputs)
        for step in self.steps:
            ends.append(range(begin, begin + step.results))
            begin += step.results
        wanted, kept = set(self.outputs), []
        for step, made in reversed(list(zip(self.steps, ends))):
            if step.writes or wanted & set(made):
                wanted |= set(refs([step.args, step.kwargs]))
                kept.insert(0, (step, made))
        inputs = [i for i in range(len(self.inputs)) if i in wanted] or [0]
        numbers = {old: new for new, old in enumerate(inputs + [n for _, made in kept for n in made])}
        steps = [dataclasses.replace(step, args=renumbered(step.args, numbers.get), kwargs=renumbered(step.kwargs, numbers.get))
                 for step, _ in kept]
        return Program([self.inputs[i] for i in inputs], steps, [numbers[n] for n in self.outputs],
                       [(numbers[i], at, value) for i, at, value in self.bad if i in inputs])


def overload(name):
    namespace, operator, variant = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), variant)


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _given(value, values):
    return _mapped(value, lambda ref: values[ref.number],
                   lambda text: getattr(torch, text[6:]) if text.startswith("torch.") else text)


def renumbered(value, number_of):
    """An argument with other numbers of values."""
    return _mapped(value, lambda ref: Ref(number_of(ref.number)))


def _mapped(value, of, of_text=str):
    """An argument with its references, and its texts, replaced."""
    if isinstance(value, Ref):
        return of(value)
    if isinstance(value, (list, tuple)):
        return [_mapped(one, of, of_text) for one in value]
    if isinstance(value, dict):
        return {key: _mapped(one, of, of_text) for key, one in value.items()}
    return of_text(value) if isinstance(value, str) else value


def refs(value):
    found = []
    _mapped(value, lambda ref: found.append(ref.number))
    return found


def _text(step):
    def one(value):
        if isinstance(value, Ref):
            return f"v{value.number}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(one, value))}]"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return value if isinstance(value, str) and value.startswith("torch.") else repr(value)
    return ", ".join([*map(one, step.args), *(f"{key}={one(value)}" for key, value in step.kwargs.items())])


# ---- Lanes.

def _mixed(tensor):
    """1 or -1: neighbours in any dimension differ."""
    at = _places(tensor.shape, [1] * tensor.dim())
    return (at % 2 * 2 - 1).to(tensor.dtype)


def _inputs_moved(lane):
    """Of a norm, by as much as the order of a sum may move their mean."""
    def one(value):
        if not (isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel()):
            return value
        scale = torch.nan_to_num(value.abs(), 0.0, 0.0, 0.0).max()
        eps = min(torch.finfo(kind).eps for kind in (value.dtype, torch.float32))  # Means of 16 bits are in float32.
        return value + _mixed(value) * 8 * eps * scale
    return [one(value) for value in lane]


def _moved(tensor, first, amount, direction):
    """Away from the first lane: a function that falls would else take back what moved its argument."""
    away = torch.where(tensor == first, direction * torch.ones_like(tensor), (tensor - first).sign())
    return torch.where(torch.isfinite(tensor), tensor + torch.nan_to_num(away) * amount, tensor)


def _amount(step, values, result, which):
    """By how much a lane of a step's result is moved."""
    info = torch.finfo(result.dtype)
    scale = result.abs()
    if step.kind == SUM:
        sizes = [value.abs() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                 for value in values]
        scale = torch.maximum(scale, step.call(sizes)[which].abs().to(result.dtype))
    scale = torch.nan_to_num(scale, 0.0, 0.0, 0.0)
    if step.kind in (NORM, BLEND) and scale.numel():
        scale = scale.max().expand_as(scale)
    narrow = step.kind != ROUNDED and info.eps > 1e-4
    units = _UNITS_OF_16_BITS.get(step.kind, 2) if narrow else _UNITS[step.kind]
    return units * info.eps * scale + 4 * info.tiny


def apply(step, lanes):
    """Does a step in all lanes, which are lists of values, and adds its results. Raises `Unfit`."""
    before = copy.deepcopy(lanes[0]) if step.kind == SUM else None
    # Which of several writes to one element is the last, eager does not say.
    if step.writes and any(map(_overlaps, (lanes[0][number] for number in refs(step.args[:1])))):
        raise Unfit(f"{step.op} writes to elements that lie in one place")
    if step.op.split(".")[1].strip("_") in ("remainder", "fmod") and _wraps_by_chance(step, lanes):
        raise Unfit(f"{step.op} is decided by rounding")
    finite = all(torch.isfinite(lanes[0][number]).all() for number in refs(step.args))
    try:
        made = [step.call(lane) for lane in lanes[:-1]]
        made.append(step.call(_inputs_moved(lanes[-1]) if "_norm" in step.op else lanes[-1]))
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        raise Unfit(f"{step.op}: {error}") from error
    if step.kind != EXACT:
        for i, result in enumerate(made[0]):
            if result.is_floating_point():
                amount = _amount(step, before or lanes[0], result, i)
                for lane, direction in ((1, 1), (2, -1), (3, _mixed(result))):
                    moved = _moved(made[lane][i], result, amount, direction)
                    if step.writes:
                        made[lane][i].copy_(moved)
                    else:
                        made[lane][i] = moved
    for results in zip(*made, strict=True):
        _check(step, results)
        # In a kernel what follows reads the number before it is rounded to 16 bits.
        if finite and results[0].dtype == torch.float16 and torch.isinf(results[0]).any():
            raise Unfit(f"{step.op} leaves the range of float16")
    for lane, results in zip(lanes, made):
        lane.extend(results)
    return len(made[0])


def _overlaps(tensor):
    """Whether two elements lie in one place."""
    return _places(tensor.shape, tensor.stride()).unique().numel() < tensor.numel()


def _places(shape, strides):
    """Of elements, in memory."""
    at = torch.zeros(shape, dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(shape, strides)):
        at += (torch.arange(size) * stride).reshape([-1] + [1] * (len(shape) - 1 - axis))
    return at


def _wraps_by_chance(step, lanes):
    """Whether what was rounded before decides how often the divisor goes in."""
    (dividend, *others), (divisor, *_) = zip(*([torch.as_tensor(one).double() for one in _given(step.args[:2], lane)]
                                               for lane in lanes))
    return any(bool((_distance(dividend, other) > _SHARE_MAX * divisor.abs()).any()) for other in others)


def _check(step, results):
    first = results[0]
    if not isinstance(first, torch.Tensor):
        raise Unfit(f"{step.op} makes no tensor")
    if not first.is_floating_point():
        if not all(torch.equal(first, other) for other in results[1:]):
            raise Unfit(f"{step.op} is decided by rounding")
        return
    scale = torch.nan_to_num(first.double().abs(), 0, 0, 0).max().item() if first.numel() else 0
    for other in results[1:]:
        if other.shape != first.shape or not torch.equal(_special(first), _special(other)) or (
                first.numel() and _distance(first, other).max().item() > _SHARE_MAX * scale):
            raise Unfit(f"{step.op} is decided by rounding")


def _special(tensor):
    """1 where it is infinite, -1 where minus that, 2 for NaN, else 0."""
    one = torch.where(torch.isinf(tensor), tensor.sign(), torch.zeros_like(tensor))
    return torch.where(torch.isnan(tensor), torch.full_like(one, 2), torch.nan_to_num(one)).to(torch.int8)


def _distance(a, b):
    both = torch.isfinite(a) & torch.isfinite(b)
    return torch.where(both, (a.double() - b.double()).abs(), torch.zeros(a.shape, dtype=torch.float64))


@dataclasses.dataclass
class Answer:
    """What eager makes: outputs and inputs afterwards, in lanes."""
    values: list  # By lane.
    count: int  # Of outputs.
    flushed: list  # One lane without denormal numbers, where there are some; else the first.


def answer(program, first=None):
    lanes = [program.tensors(first=first) for _ in range(LANES)]
    for step in program.steps:
        if apply(step, lanes) != step.results:
            raise Unfit(f"{step.op} makes another number of results of this size")
    small = any(map(_has_small, [*program.tensors(first=first), *lanes[0]]))  # Inputs as they were, too.
    flushed = _flushed(program, first) if small else lanes[0]

    def told(lane):
        return [lane[i] for i in program.outputs] + lane[:len(program.inputs)]

    return Answer([told(lane) for lane in lanes], len(program.outputs), told(flushed))


def _small(tensor):
    return (tensor != 0) & (tensor.abs() < torch.finfo(tensor.dtype).tiny)


def _has_small(tensor):
    return tensor.is_floating_point() and bool(_small(tensor).any())


def _without_small(tensor):
    if not _has_small(tensor):
        return tensor
    flushed = torch.where(_small(tensor), 0 * tensor, tensor)
    # Where it lies as before: eager refuses some strides.
    return flushed if _overlaps(tensor) else torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(flushed)


def _flushed(program, first):
    """A lane in which denormal numbers are zero from the beginning and behind each step."""
    lane = [_without_small(value) for value in program.tensors(first=first)]
    for step in program.steps:
        lane += [_without_small(value) for value in step.call(lane)]
    return lane


def _steps(tensor):
    """Strides, but for dimensions of one element, where any is right."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1]


def difference(got, wanted, traced=lambda: None):
    """What is wrong with outputs and inputs after a call; empty: nothing. `traced`: outputs that lie as PyTorch's tracing
    has them, which is not always as eager does; the code around a compiled graph relies on either."""
    for i, (one, flushed, *lanes) in enumerate(zip(got, wanted.flushed, *wanted.values, strict=True)):
        want = lanes[0]
        where = f"output {i}" if i < wanted.count else f"input {i - wanted.count} afterwards"
        if one.dtype != want.dtype or one.shape != want.shape:
            return f"{where} is {one.dtype}{list(one.shape)}, want {want.dtype}{list(want.shape)}"
        if i < wanted.count and _steps(one) != _steps(want) and want.numel():
            other = traced()
            if other is None or _steps(one) != _steps(other[i]):
                return f"{where} has strides {one.stride()}, want {want.stride()}"
        if not want.is_floating_point():
            wrong = (one != want) & (one != flushed)
        else:
            apart = 4 * torch.stack([_distance(want, lane) for lane in lanes[1:]]).amax(0)
            tiny = torch.finfo(want.dtype).tiny if apart.any() else 0

            def differs(one, right):
                return (_special(one) != _special(right)) | (_distance(one, right) > apart + tiny)

            wrong = differs(one, want)
            wrong = wrong & differs(_without_small(one), flushed) if wrong.any() else wrong
        if wrong.any():
            at = wrong.nonzero()[0].tolist()
            return f"{where} at {at}: got {one[tuple(at)].item()}, want {want[tuple(at)].item()}"
    return ""


# ---- Files.

def _number(value):
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value):
    if isinstance(value, Ref):
        return {"value": value.number}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _parsed(value):
    if isinstance(value, dict) and set(value) == {"value"}:
        return Ref(value["value"])
    if isinstance(value, dict) and set(value) == {"number"}:
        return float(value["number"])
    if isinstance(value, list):
        return [_parsed(one) for one in value]
    return value


def save(program, path, why):
    data = {"why": why, "bad": program.bad, "outputs": program.outputs,
            "inputs": [{**dataclasses.asdict(one), "values": [_number(value) for value in one.values]}
                       for one in program.inputs],
            "steps": [{"op": one.op, "args": _plain(one.args), "kwargs": _plain(one.kwargs), "kind": one.kind,
                       "results": one.results} for one in program.steps]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


def load(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    inputs = [Input(**{**one, "values": [float(value) if isinstance(value, str) else value for value in one["values"]]})
              for one in data["inputs"]]
    steps = [Step(one["op"], _parsed(one["args"]), {key: _parsed(value) for key, value in one["kwargs"].items()},
                  one["kind"], one["results"]) for one in data["steps"]]
    return Program(inputs, steps, data["outputs"], [tuple(one) for one in data["bad"]])
