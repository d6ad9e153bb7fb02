"""What `./dev bench operators` says of its rows: geometric means, the worst ones, a table."""

import math
import statistics

import real_judge

SLOW_RATIOS = (1.1, 1.25)  # The goals with and without trials.
WORST_COUNT = 12
HEADER = ("class", "row", "ratio (95 % interval)", "before", "a/a", "ours", "ONNX Runtime", "OpenVINO",
          "error")


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def _timed(rows):
    return {row["name"]: row["ratio"] for row in rows
            if row["state"] == real_judge.RIGHT and row.get("ratio")}


def summarize(rows, before):
    """Of rows as they are written, and rows of an earlier run by name. A row that is not right has
    no part in a mean: it is a failure, which the caller ends with."""
    classes = list(dict.fromkeys(row["class"] for row in rows))
    timed = _timed(rows)
    # Means before and after are over the same rows.
    earlier = {name: ratio for name, ratio in _timed(before.values()).items() if name in timed}
    both = [timed[name] for name in earlier]
    return {
        "rows_timed": len(timed),
        "geometric_mean": geometric_mean(timed.values()),
        "by_class": {kind: geometric_mean(_timed([row for row in rows if row["class"] == kind]).values())
                     for kind in classes},
        "slower": {str(limit): sum(ratio > limit for ratio in timed.values()) for limit in SLOW_RATIOS},
        "worst": dict(sorted(timed.items(), key=lambda item: -item[1])[:WORST_COUNT]),
        "before": {"rows": len(earlier), "geometric_mean": geometric_mean(earlier.values()),
                   "now": geometric_mean(both)},
        "failures": {row["name"]: row["state"] for row in rows if row["state"] != real_judge.RIGHT},
    }


def _cell(value, form):
    return "" if value is None else form.format(value)


def row_text(row, before):
    """A line of the table; what failed says why in place of the numbers."""
    ratio = _cell(row.get("ratio"), "{:.2f}")
    if ratio:
        ratio += " ({:.2f} to {:.2f})".format(*row["interval"])
    if row["state"] != real_judge.RIGHT:
        ratio = " ".join([row["state"], *row.get("detail", "").split(), ratio]).replace("|", "/")
    times = row.get("microseconds", {})
    cells = (row["class"], row["name"], ratio.strip(),
             _cell(before.get(row["name"], {}).get("ratio"), "{:.2f}"), _cell(row.get("a_a"), "{:.2f}"),
             *(_cell(times.get(name), "{:.1f} us") for name in ("ours", "ort", "openvino")),
             _cell(row.get("error"), "{:.1e}"))
    return "| " + " | ".join(cells) + " |"


def table(rows, before):
    return "\n".join(["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER),
                      *(row_text(row, before) for row in rows)])


def conditions(how):
    """How the rows were measured, in words."""
    schedules = f"{how['trials']} trials a row" if how["trials"] else "default schedules"
    text = f"{how['threads']} threads, {schedules}, "
    return text + ("ratios of CPU time, under whatever load there was" if how["measure"] == "cpu"
                   else "ratios of latency")


def summary_text(result):
    lines = []
    for kind, mean in result["by_class"].items():
        lines.append(f"{kind:24} {_cell(mean, '{:.2f}') or 'none'}")
    slower = ", ".join(f"{count} above {limit}" for limit, count in result["slower"].items())
    lines.append(f"geometric mean of {result['rows_timed']} rows "
                 f"{_cell(result['geometric_mean'], '{:.3f}') or 'none'}; {slower}")
    earlier = result["before"]
    if earlier["rows"]:
        lines.append(f"of the {earlier['rows']} rows measured before: {earlier['geometric_mean']:.3f} "
                     f"before, {earlier['now']:.3f} now")
    if result["worst"]:
        lines.append("worst: " + ", ".join(f"{name} {ratio:.2f}"
                                           for name, ratio in result["worst"].items()))
    if result["failures"]:
        lines.append("failed: " + ", ".join(f"{name} {state}"
                                            for name, state in result["failures"].items()))
    return "\n".join(lines)
