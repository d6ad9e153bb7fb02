"""The oracle: a model node by node in ONNX Runtime, and how far right results may lie apart.

Each value is known for every input set in three lanes: as ONNX Runtime computes it, and twice with
all that was rounded before moved by a few units in the last place, once up and once down. Where lanes
differ is what rounding makes of a result: four times their distance is the tolerance. A node whose
lanes differ by more than a small share of its values decides by rounding (a tie, a truncation, a
cancellation), and is no oracle: `Unfit`.

The second lane has 0 for subnormal numbers, too, since the compiler's float mode takes them for 0.
"""

import dataclasses
import functools
import warnings
import zlib

import numpy as np
import onnxruntime
from onnx import checker, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

F16, F32, F64 = (np.dtype(kind) for kind in ("float16", "float32", "float64"))
# Half a unit in the last place of 1, the least normal number, and the share of a tensor's largest
# value by which lanes may differ.
FORMATS = {F16: (2.0**-11, 2.0**-14, 2.0**-3), F32: (2.0**-24, 2.0**-126, 2.0**-7),
           F64: (2.0**-53, 2.0**-1022, 2.0**-7)}

BYTES = {np.dtype("int8"), np.dtype("uint8")}  # Quantized numbers, mostly: 1 apart is right.
# What moves, compares or chooses, and so rounds nothing.
EXACT = set("""Abs And ArgMax ArgMin BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike
    Ceil CenterCropPad Clip Compress Concat Constant ConstantOfShape ConvInteger DepthToSpace Dropout
    Equal Expand EyeLike Flatten Floor Gather GatherElements GatherND GlobalMaxPool Greater GreaterOrEqual
    Hardmax Identity IsInf IsNaN Less LessOrEqual MatMulInteger Max MaxPool MaxUnpool Min Neg NonZero
    Not OneHot OptionalHasElement Or Pad Range ReduceMax ReduceMin Relu Reshape ReverseSequence Round
    ScatterND Shape Sign Size Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unique Unsqueeze
    Where Xor""".split())
# One rounding; a kernel may do it as a product with a reciprocal, or together with its neighbour.
ONE_ROUNDING = {"Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Sum", "Mean", "DequantizeLinear"}
# What computes with numbers about 1 on its way, whatever its results are: gates, exp(x) - 1, log(1 + x).
AROUND_1 = {"LSTM", "GRU", "RNN", "Elu", "Selu", "Celu", "Softplus", "Mish", "Gelu", "LogSoftmax", "Asinh",
            "Acosh", "Atanh", "Sinh", "ReduceLogSumExp", "FastGelu", "QuickGelu", "BiasGelu", "SoftmaxCrossEntropyLoss"}
# Roots of sums of squares: squares of numbers far below 1 are subnormal, and those of great ones overflow.
ROOTS_OF_SQUARES = {"ReduceL2", "LpNormalization", "LpPool", "GlobalLpPool"}
# ONNX Runtime's Sigmoid ends at an argument of -18, where the result has all its digits still, and its
# Gelu of f64 is one of f32.
BY_REFERENCE = {"Sigmoid", "Gelu"}
# Whose results are as large as data says.
FINDS = {"NonZero", "Compress", "Unique", "NonMaxSuppression"}
# Tensors are small: a node that makes more is no node for a quick test.
ELEMENTS_MAX = 4096


class Unfit(Exception):
    """A node that ONNX or ONNX Runtime refuses, or whose results are no oracle."""


class NoKernel(Unfit):
    """ONNX Runtime has no kernel for these types."""


@dataclasses.dataclass
class Value:
    """A tensor by name; `lanes[set]` are three arrays, one object where they are equal."""
    name: str
    lanes: list
    const: bool = False  # An initializer.
    # Its shape is data: no extent is known, even where all sets have the same by chance.
    found: bool = False

    @property
    def dtype(self):
        return self.lanes[0][0].dtype

    @property
    def shape(self):
        return self.lanes[0][0].shape

    @property
    def rank(self):
        return len(self.shape)

    @property
    def arrays(self):
        return [lane[0] for lane in self.lanes]

    @property
    def shapes(self):
        return [lane[0].shape for lane in self.lanes]

    def static(self, axis=None):
        """Whether an axis, or all of them, have one extent in every set."""
        if self.found:
            return False
        if axis is None:
            return all(shape == self.shape for shape in self.shapes)
        return all(shape[axis] == self.shape[axis] for shape in self.shapes)


def flushed(array):
    """0 for subnormal numbers; the array itself where it has none. Subnormal f16 are kept (they are
    normal as f32)."""
    if array.dtype not in (F32, F64):
        return array
    small = (np.abs(array) < FORMATS[array.dtype][1]) & (array != 0)
    return np.where(small, array.dtype.type(0), array) if small.any() else array


def given(name, arrays, const=False):
    return Value(name, [(array, flushed(array), array) for array in arrays], const)


def in_bodies(node):
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def free_names(graph):
    """Names that a body takes from outside, in order."""
    known = {value.name for value in graph.input} | {value.name for value in graph.initializer}
    free = {}
    for node in graph.node:
        for name in names_read(node):
            if name not in known:
                free[name] = None
        known |= set(node.output)
    free.update({value.name: None for value in graph.output if value.name not in known})
    return list(free)


def names_read(node):
    """Inputs that are there, and what bodies take from outside."""
    names = [name for name in node.input if name]
    return names + [name for body in in_bodies(node) for name in free_names(body)]


def info_of(value):
    shape = [extent if value.static(i) else f"{value.name}_{i}" for i, extent in enumerate(value.shape)]
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)


def with_header(graph, opset, **more):
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    # Older versions want initializers among the inputs.
    version = max(8, helper.find_min_ir_version_for(imports[:1], ignore_unknown=True))
    return helper.make_model(graph, opset_imports=imports, ir_version=version, **more)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def run_session(session, arrays):
    """Outputs, copied: one that is a constant lies in the session's own memory."""
    outputs = session.run(
        None, {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()})
    if not all(isinstance(output, np.ndarray) for output in outputs):
        raise Unfit("no tensor")
    return [np.array(output) for output in outputs]


def check(model):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checker.check_model(model, full_check=True)
    except Exception as error:  # The checker raises what it likes.
        raise Unfit(f"checker: {error}") from error


def check_typed(model, arrays):
    """The checker wants types and ranks of outputs, which are known by now."""
    for output, array in zip(model.graph.output, arrays):
        output.CopyFrom(helper.make_tensor_value_info(
            output.name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    check(model)


def run_by_reference(model):
    """What runs a model without a kernel in ONNX Runtime: ONNX's own reference."""
    def run(arrays):
        return [np.asarray(output) for output in ReferenceEvaluator(model).run(None, arrays)]
    return run


def run_node(node, values, opset, reference):
    """Outputs by lane of a node over `values` (by name): a list of sets of three lists of arrays."""
    if any({value.name for value in body.input} & {value.name for value in body.output}
           for one in nodes_of(node) if one.op_type == "Scan" for body in in_bodies(one)):
        raise Unfit("ONNX Runtime does not copy a state that a Scan's body passes on")
    names = list(dict.fromkeys(names_read(node)))
    # An initializer that has subnormal numbers is another one in the second lane.
    fixed = {name for name in names if values[name].const and len({id(array) for array in values[name].lanes[0]}) == 1}
    consts = [numpy_helper.from_array(values[name].arrays[0], name) for name in names if name in fixed]
    inputs = [values[name] for name in names if name not in fixed]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    model = with_header(helper.make_graph(
        [node], "node", [info_of(value) for value in inputs], outputs, consts), opset)
    try:
        session = session_of(model)
        run = run_by_reference(model) if node.op_type in BY_REFERENCE else functools.partial(run_session, session)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error):
            raise Unfit(f"session: {error}") from error
        if not reference:
            raise NoKernel(str(error)) from error
        if any(one.op_type == "Loop" and not "".join(one.input[1:2]) for one in nodes_of(node)):
            raise Unfit("the reference runs a loop without a condition not once") from error
        run = run_by_reference(model)
    done, sets = {}, []
    for lanes in zip(*[value.lanes for value in inputs]) if inputs else [()]:
        lists = []
        for lane in range(3):
            arrays = [each[lane] for each in lanes]
            key = tuple(map(id, arrays))
            if key not in done:
                try:
                    done[key] = run({value.name: array for value, array in zip(inputs, arrays)})
                except Exception as error:
                    raise Unfit(f"run: {error}") from error
            lists.append(done[key])
        sets.append(lists)
    check_typed(model, sets[0][0])
    count = len(next(iter(values.values())).lanes) if values else 1
    return sets * count if len(sets) == 1 and not inputs else sets


def nodes_of(node):
    """The node, and those of its bodies."""
    yield node
    for body in in_bodies(node):
        for inner in body.node:
            yield from nodes_of(inner)


def rounds_bytes(node):
    return node.op_type.startswith("QLinear") or node.op_type == "DynamicQuantizeLinear"


def finite_or_0(array):
    return np.where(np.isfinite(array), array, 0)


def moved(array, amount, signs):
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array), array + signs * amount, array).astype(array.dtype)


def with_rounding(node, lists, rng):
    """Three lanes of one output, with what this node itself rounds."""
    exact, up, down = lists
    if exact.dtype in BYTES and any(map(rounds_bytes, nodes_of(node))):
        # Multipliers are rounded in other ways: docs/low-precision.md.
        info, signs = np.iinfo(exact.dtype), rng.choice([-1, 1], exact.shape).astype(np.int16)
        up, down = (np.clip(np.asarray(lane + step), info.min, info.max).astype(exact.dtype)
                    for lane, step in ((up, signs), (down, -signs)))
    if exact.dtype not in FORMATS or exact.shape != up.shape or exact.shape != down.shape:
        return exact, up, down
    # What lies between operators of a kernel may keep the digits that a narrow type would lose.
    narrow = exact.dtype == F16 and node.op_type in ("Cast", "CastLike")
    if node.op_type in EXACT and not narrow:
        return exact, flushed(up), down
    unit = FORMATS[exact.dtype][0]
    with np.errstate(all="ignore"):
        size = finite_or_0(np.abs(exact.astype(np.float64)))
        largest = size.max(initial=1 if node.op_type in AROUND_1 else 0)
        # Sums are rounded in an order of their own, of terms that may be larger than the result.
        amount = 3 * unit * size if node.op_type in ONE_ROUNDING or narrow else (
            unit * (16 * size + 4 * largest))
        if node.op_type in ROOTS_OF_SQUARES:
            amount = amount + np.sqrt(FORMATS[exact.dtype][1])
    signs = rng.uniform(0.5, 1, exact.shape) * rng.choice([-1, 1], exact.shape)
    return (exact, flushed(apart(exact, moved(up, amount, signs), amount, signs)),
            apart(exact, moved(down, amount, -signs), amount, -signs))


def tolerance(exact, up, down):
    """By element; of types that round."""
    if exact.dtype in BYTES:
        far = np.maximum(*[np.abs(lane.astype(np.int16) - exact) for lane in (up, down)])
        return np.where(far > 1, 4 * far, far)  # 1 is this node's own.
    with np.errstate(all="ignore"):
        far = np.maximum(np.abs(up.astype(np.float64) - exact), np.abs(down.astype(np.float64) - exact))
    far = finite_or_0(far)
    # 16-bit numbers have as many digits below their least normal one.
    least = 2.0**-23 if exact.dtype == F16 else 2 * FORMATS[exact.dtype][1]
    return 4 * far + 2 * (far.mean() if far.size else 0) + least


def same_kind(a, b):
    """NaN and each infinity in the same places."""
    return (np.isfinite(a) & np.isfinite(b)) | (a == b) | (np.isnan(a) & np.isnan(b))


def see_whether_decided(lane):
    exact, up, down = lane
    for other in (up, down):
        if other is exact:
            continue
        if exact.shape != other.shape:
            raise Unfit("rounding decides the shape")
        if exact.dtype not in FORMATS:
            if not np.array_equal(exact, other) and (exact.dtype not in BYTES or tolerance(*lane).max() > 2):
                raise Unfit("rounding decides an integer or a bool")
        elif not same_kind(exact, other).all():
            raise Unfit("rounding decides what is finite")
    if exact.dtype in FORMATS:
        finite = np.abs(exact[np.isfinite(exact)].astype(np.float64))
        far = tolerance(*lane)
        if far.size and far.max() > FORMATS[exact.dtype][2] * max(finite.max(initial=0), 1e-30):
            raise Unfit("rounding decides the result")


def see_whether_said(node, made, read):
    """Raises Unfit where ONNX leaves a result to the one who computes. `read`: what the node reads."""
    if node.op_type in ("Loop", "Scan") and made.ndim > 1 and made.shape[0] == 0 and 0 in made.shape[1:]:
        raise Unfit("extents of a row where a loop has made none")
    if "Normalization" in node.op_type:
        for array in read:
            if array.dtype not in (F32, F64):
                continue
            # A mean and a deviation that are given need no squares.
            most = np.finfo(array.dtype).max ** (1 if node.op_type == "BatchNormalization" else 0.5)
            if np.abs(array).max(initial=0, where=np.isfinite(array)) > most / 64:
                raise Unfit("a distance from a mean overflows, its square or their sum, or the order knows how not to")
    if node.op_type in ROOTS_OF_SQUARES and np.isinf(made).any() and all(
            np.isfinite(array).all() for array in read):
        raise Unfit("squares overflow, or the sum knows how not to")


def apart(exact, lane, amount, signs):
    """The lane, but for where earlier roundings and this one cancel by chance."""
    with np.errstate(all="ignore"):
        close = np.abs(lane.astype(np.float64) - exact) < amount / 2
    return np.where(close, moved(exact, amount, signs), lane)


def nearby(node, values, rng):
    """Inputs of what computes by many roundings, a unit in the last place away in two lanes: what lies
    between may cancel, so that results of inputs nearby are as good."""
    if node.op_type in EXACT | ONE_ROUNDING:
        return values
    made = {}
    # Of a constant, and a number that is none, the number alone is enough.
    varies = any(value.dtype in FORMATS and not value.const for value in values.values())
    for name, value in values.items():
        if value.dtype not in FORMATS or (value.const and varies):
            made[name] = value
            continue
        lanes = []
        for exact, up, down in value.lanes:
            amount = 2 * FORMATS[value.dtype][0] * finite_or_0(np.abs(exact).astype(np.float64))
            # A long sum's error is one of all its terms' sizes, whatever it comes to.
            signs = 1 if node.op_type in ("ReduceSum", "ReduceMean") else rng.choice([-1, 1], exact.shape)
            lanes.append((exact, moved(up, amount, signs), moved(down, amount, -signs)))
        made[name] = dataclasses.replace(value, lanes=lanes)
    return made


def evaluate(node, values, opset, reference=True):
    """The outputs of a node, as Values by name. `values` are those that may be read. `reference`: ONNX's
    own computes what ONNX Runtime has no kernel for; else NoKernel is raised."""
    rng = np.random.default_rng(zlib.crc32(" ".join(node.output).encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sets = run_node(node, nearby(node, values, rng), opset, reference)
        made = {}
        found = node.op_type in FINDS or any(value.found for value in values.values())
        for k, name in enumerate(name for name in node.output if name):
            lanes = [with_rounding(node, [lane[k] for lane in lists], rng) for lists in sets]
            for lane in lanes:
                if lane[0].size > ELEMENTS_MAX:
                    raise Unfit("too large")
                see_whether_decided(lane)
            for at, lane in enumerate(lanes):
                see_whether_said(node, lane[0], [value.lanes[min(at, len(value.lanes) - 1)][0] for value in values.values()])
            if len({lane[0].ndim for lane in lanes}) > 1:
                raise Unfit("the rank depends on data")
            made[name] = Value(name, lanes, found=found)
    return made


def evaluate_graph(model, sets):
    """Every value of a model's main graph, by name, for `sets` of arrays by input."""
    opset = next(entry.version for entry in model.opset_import if not entry.domain)
    defaults = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input]
    values = {name: given(name, [arrays.get(name, defaults.get(name)) for arrays in sets]) for name in names}
    for name in defaults.keys() - set(names):
        values[name] = given(name, [defaults[name]] * len(sets), True)
    for node in model.graph.node:
        read = {name: values[name] for name in names_read(node)}
        made = evaluate(node, read, opset)
        if not read:
            made = {name: Value(name, value.lanes[:1] * len(sets)) for name, value in made.items()}
        values.update(made)
    return values


def difference(got, lane):
    """"" where an output is right, else the first element that is not."""
    want = lane[0]
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"got {got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}"
    if want.dtype in BYTES:
        wrong = np.abs(got.astype(np.int16) - want) > tolerance(*lane)
    elif want.dtype not in FORMATS:
        wrong = got != want
    else:
        with np.errstate(all="ignore"):
            near = np.abs(got.astype(np.float64) - want.astype(np.float64)) <= tolerance(*lane)
            wrong = ~(same_kind(got, want) & (near | ~np.isfinite(want)))
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {want.size} wrong, at {list(at)} got {got[at]!r}, want {want[at]!r}"
