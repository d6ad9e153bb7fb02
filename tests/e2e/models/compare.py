"""How outputs are compared, and how a difference reads."""

import numpy as np


def scaled_error(got, want):
    """max|got - want| / max|want| and the index where it is; infinity where only one is finite."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if want.size == 0:
        return 0.0, ()
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0) or 1.0
    with np.errstate(invalid="ignore"):
        error = np.abs(got - want) / scale
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    error = np.where(same, 0.0, np.where(np.isfinite(got) & np.isfinite(want), error, np.inf))
    where = np.unravel_index(np.argmax(error), error.shape)
    return float(error[where]), tuple(int(i) for i in where)


def type_difference(got, want):
    """"" if dtype and shape are equal."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return (f"got {got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}")
    return ""


# Two units in the last place of 16-bit floats, one for each side's rounding; of small elements, half
# of that of the largest one, since references round in between, where we do not.
LAST_PLACES = {"float16": 2 ** -9, "bfloat16": 2 ** -6}


def close_difference(got, want, rtol, atol):
    """"" if all elements are close as numpy.allclose says, else the worst one."""
    if type_difference(got, want):
        return type_difference(got, want)
    if got.dtype.name in LAST_PLACES:
        unit = LAST_PLACES[got.dtype.name]
        got, want = got.astype(np.float32), want.astype(np.float32)
        finite = np.abs(want[np.isfinite(want)])
        rtol, atol = max(rtol, unit), max(atol, unit / 2 * finite.max(initial=0))
    if np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    error, where = scaled_error(got, want)
    return f"max error {error:.3g} of max|want| at {where}: got {got[where]}, want {want[where]}"


# What whole models must reach: max|got - want| / max|want|.
MODEL_ERROR_MAX = 1e-4


def model_differences(names, got_sets, want_sets):
    """The worst error of all, and a line for each output that is off: where, and how far."""
    worst, lines = 0.0, []
    for i, (got_set, want_set) in enumerate(zip(got_sets, want_sets)):
        for name, got, want in zip(names, got_set, want_set):
            difference = type_difference(got, want)
            if not difference:
                error, where = scaled_error(got, want)
                worst = max(worst, error)
                if error > MODEL_ERROR_MAX:
                    difference = (f"max error {error:.3g} of max|want| at {where}: "
                                  f"got {got[where]}, want {want[where]}")
            if difference:
                lines.append(f"input set {i}, {name}: {difference}")
    return worst, lines


def dull_outputs(sets):
    """Lines for outputs that would be right by chance: constant ones, or equal for two inputs."""
    lines = []
    for i, outputs in enumerate(sets):
        for k, output in enumerate(outputs):
            if not np.std(output) > 0.1 * abs(np.mean(output)):
                lines.append(f"input set {i}: output {k} hardly varies")
    for k, (first, second) in enumerate(zip(*sets)):
        if not np.max(np.abs(first - second)) > 0.01 * np.max(np.abs(first)):
            lines.append(f"output {k}: hardly differs between two inputs")
    return lines
