"""What counts as right, as a failure and as the denominator in `./dev bench real` (README.md)."""

import math
import statistics

import numpy as np

RANGE_ERROR_MAX = 1e-3
RATIO_MAX = 1.1
DISTURBED_PERCENT_MAX = 15  # As ./dev bench has it of a machine before it starts.
RIGHT, WRONG, REFUSED, CRASHED, SLOW, LARGE = "right", "wrong", "refused", "crashed", "slow", "large"
FAILURES = (WRONG, REFUSED, CRASHED, SLOW, LARGE)
# No ONNX model, or none that the reference runs: in no denominator.
NOT_EXPORTED, NO_REFERENCE = "not exported", "no reference"


def distance(got, want):
    """max|got - want|; infinite where shapes differ, or one has a value that is not finite and the
    other has not the same."""
    if got.shape != want.shape:
        return math.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return math.inf
    if not np.isfinite(got[finite]).all():
        return math.inf
    return float(np.abs(got[finite] - want[finite]).max(initial=0.0))


def extent(want):
    """max - min over finite values; their magnitude where all are equal, and 1 where all are 0."""
    values = want.astype(np.float64)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return 1.0
    return float(values.max() - values.min()) or float(np.abs(values).max()) or 1.0


def _is_row_of_numbers(array, kinds):
    return array.ndim == 1 and array.dtype.kind in kinds


def is_detections(outputs):
    """Whether they are a detector's list: boxes [n, 4], scores [n], labels [n] and what else has n."""
    count = {output.shape[0] if output.ndim else 0 for output in outputs}
    return (len(count) == 1 and any(output.shape[1:] == (4,) for output in outputs)
            and any(_is_row_of_numbers(output, "f") for output in outputs)
            and any(_is_row_of_numbers(output, "iu") for output in outputs))


def paired(got, want):
    """The detections of `got`, each in the place of the one in `want` that it is nearest to among those
    with the same label. A list is in the order of its scores, so that a last digit of a score decides
    in which row a box stands. The scores as they stood come last: only where two scores are as
    good as equal may rows change places. Lists of other shapes stay as they are."""
    if len(want[0]) == 0 or [each.shape for each in got] != [each.shape for each in want]:
        return got + _scores(got)
    cost = np.zeros((len(want[0]), len(want[0])))
    for ours, theirs in zip(got, want):
        if _is_row_of_numbers(theirs, "iu"):
            cost[ours[:, None] != theirs[None]] = np.inf
        elif _is_row_of_numbers(theirs, "f") or theirs.shape[1:] == (4,):
            apart = np.abs(ours[:, None].astype(np.float64) - theirs[None]) / extent(theirs)
            cost = np.maximum(cost, apart.reshape(*cost.shape, -1).max(axis=2))
    places, left, free = np.zeros(len(cost), int), *(set(range(len(cost))) for _ in range(2))
    # The surest pairs first, those of unequal labels last. Errors are measured on whatever is paired.
    for flat in np.argsort(cost, axis=None, kind="stable"):
        ours, theirs = divmod(int(flat), len(cost))
        if ours in left and theirs in free:
            places[theirs] = ours
            left.remove(ours)
            free.remove(theirs)
    return [each[places] for each in got] + _scores(got)


def _scores(outputs):
    return [output for output in outputs if _is_row_of_numbers(output, "f")]


def judge(got, plain, optimised):
    """{"state", "error", "spread"}: the worst output's error against ONNX Runtime's plain graph, and
    the distance between its two graphs, both as shares of that output's range."""
    if len(got) != len(plain):
        return {"state": WRONG, "error": math.inf, "spread": 0.0,
                "detail": f"{len(got)} outputs, want {len(plain)}"}
    if is_detections(plain):
        got, optimised = paired(got, plain), paired(optimised, plain)
        plain = plain + _scores(plain)
    state, worst = RIGHT, (0.0, 0.0)
    for ours, want, other in zip(got, plain, optimised):
        scale = extent(want)
        error, spread = distance(ours, want) / scale, distance(other, want) / scale
        # Where the reference's two graphs differ in shape or in what is finite, there is no floor.
        if not error <= max(RANGE_ERROR_MAX, spread if math.isfinite(spread) else 0.0):
            state = WRONG
        worst = max(worst, (error, spread))
    return {"state": state, "error": worst[0], "spread": worst[1]}


def is_timed(row):
    """Whether it has a ratio, taken on a quiet machine."""
    return bool(row.get("ratio")) and \
        row["others_percent"] + row["stolen_percent"] <= DISTURBED_PERCENT_MAX


def summarize(rows):
    """Of rows {"name", "state", "apart": has 8 or 16-bit numbers, "ratio" or None}."""
    counted = [row for row in rows if not row["apart"] and row["state"] in (RIGHT, *FAILURES)]
    right = [row for row in counted if row["state"] == RIGHT]
    timed = {row["name"]: row["ratio"] for row in right if row.get("ratio")}
    disturbed = [row["name"] for row in right if row["name"] in timed and not is_timed(row)]
    return {
        "models": len(counted),
        "right": len(right),
        "right_share": len(right) / len(counted) if counted else 0.0,
        "failures": {state: sum(row["state"] == state for row in counted) for state in FAILURES},
        "timed": len(timed),
        "median_ratio": statistics.median(timed.values()) if timed else None,
        "slower": {name: ratio for name, ratio in timed.items() if ratio > RATIO_MAX},
        "disturbed": disturbed,
        "apart": sum(row["apart"] and row["state"] in (RIGHT, *FAILURES) for row in rows),
        "no_model": [row["name"] for row in rows if row["state"] in (NOT_EXPORTED, NO_REFERENCE)],
    }


HEADER = ("model", "kind", "from", "state", "error", "floor", "peak", "ours", "ONNX Runtime",
          "ratio (95 % interval)", "a/a")


def row_text(row):
    """A line of the table; what failed says why in place of the numbers."""
    def number(value, form):
        return "" if value is None else form.format(value)

    ratio = number(row.get("ratio"), "{:.2f}")
    if ratio:
        ratio += " ({:.2f} to {:.2f})".format(*row["interval"]) + ("" if is_timed(row) else " disturbed")
    state = row["state"] + (" (apart)" if row["apart"] else "")
    if row["state"] != RIGHT and row.get("detail"):
        state += ": " + " ".join(row["detail"].split()).replace("|", "/")
    times = row.get("microseconds", {})
    cells = (row["name"], row["kind"], row["source"], state, number(row.get("error"), "{:.1e}"),
             number(row.get("spread"), "{:.1e}"), number(row.get("compile_peak_mib"), "{:.0f} MiB"),
             *(number(times.get(name), "{:.0f} us") for name in ("ours", "ort")), ratio,
             number(row.get("a_a"), "{:.2f}"))
    return "| " + " | ".join(cells) + " |"


def table(rows):
    return "\n".join(["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER),
                      *map(row_text, rows)])


def summary_text(result):
    failures = ", ".join(f"{count} {state}" for state, count in result["failures"].items() if count)
    lines = [f"{result['right']} of {result['models']} right ({100 * result['right_share']:.1f} %)"
             + (f"; {failures}" if failures else "")
             + f"; {result['apart']} with 8 or 16-bit numbers apart"]
    if result["timed"]:
        lines.append(f"median ratio to ONNX Runtime {result['median_ratio']:.2f} over "
                     f"{result['timed']} models; {len(result['slower'])} above {RATIO_MAX}")
    if result["disturbed"]:
        lines.append("timed beside other work: " + ", ".join(result["disturbed"]))
    if result.get("not_judged"):
        lines.append("not judged yet: " + ", ".join(result["not_judged"]))
    if result["no_model"]:
        lines.append("no model, in no denominator: " + ", ".join(result["no_model"]))
    return "\n".join(lines)
