#!/usr/bin/env python3
"""Draws the tables and charts of the pages from the rows beside this file. `./dev figures` runs it.

    draw.py          writes each block of a page that names a figure, and the charts (needs matplotlib)
    draw.py --check  changes nothing; exits with 1 where a page, a chart or a row is not as it should be

A figure is a table of figures.toml. A page holds it between `<!-- figure NAME -->` and
`<!-- /figure -->`. A row names its run, a run of runs.csv its machine, date, commit and command: so no
number stands without them. Charts are compared by a digest of what they show, since two versions of a
library draw the same rows with other bytes.
"""

import csv
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BLOCK = re.compile(r"(<!-- figure (\S+) -->\n).*?(<!-- /figure -->)", re.S)
RUN_FIELDS = ("machine", "date", "commit", "command")


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def suite_row(row, run):
    return {"name": row["name"], "class": row["class"], "ratio": f"{row['ratio']:.2f}", "run": run}


class Data:
    """Rows by file, runs and machines by name, and what is wrong with them."""

    def __init__(self):
        self.wrong = []
        self.machines = {row["machine"]: row["what"] for row in read_csv(HERE / "machines.csv")}
        self.runs = {row["run"]: row for row in read_csv(HERE / "runs.csv")}
        self.rows = {path.stem: read_csv(path) for path in sorted(HERE.glob("*.csv"))
                     if path.stem not in ("machines", "runs")}
        # The operator suite writes its own rows: a file is a run of its name.
        for path in sorted((ROOT / "tests" / "bench").glob("operators_*.jsonl")):
            if path.stem in self.runs:
                self.rows[path.stem] = [suite_row(json.loads(line), path.stem) for line in path.open()]
        self.figures = tomllib.loads((HERE / "figures.toml").read_text(encoding="utf-8"))
        self._check()

    def _check(self):
        used = set()
        for name, rows in self.rows.items():
            seen = set()
            for number, row in enumerate(rows, 2):
                where = f"{name}.csv:{number}: "
                used.add(row["run"])
                if row["run"] not in self.runs:
                    self.wrong.append(f"{where}no run {row['run']} in runs.csv")
                if tuple(row.items()) in seen:
                    self.wrong.append(where + "the row stands twice")
                seen.add(tuple(row.items()))
                if row.get("low") and not float(row["low"]) <= float(row["ratio"]) <= float(row["high"]):
                    self.wrong.append(where + "the ratio lies outside of its interval")
        for name, run in self.runs.items():
            missing = [field for field in RUN_FIELDS if not run[field]]
            if missing or run["machine"] not in self.machines:
                self.wrong.append(f"runs.csv: {name}: no {', '.join(missing) or 'such machine'}")
            if name not in used:
                self.wrong.append(f"runs.csv: {name}: no row is of it")
        for name, figure in self.figures.items():
            if "rows" in figure and not self.of(figure):
                self.wrong.append(f"figures.toml: {name} has no rows")

    def of(self, figure):
        """The rows of a figure, in its order."""
        wanted = figure.get("where", {})
        rows = [row for row in self.rows[figure["rows"]]
                if all(row[key] in (value if isinstance(value, list) else [value])
                       for key, value in wanted.items())]
        if "group" in figure:
            rows = grouped(rows, figure["group"], figure["value"])
        if "sort" in figure:
            rows.sort(key=lambda row: float(row[figure["sort"]]))
        return rows

    def caption(self, rows, folder):
        """Where the rows come from: the machines, and the runs that say the rest."""
        runs = dict.fromkeys(row["run"] for row in rows)
        machines = dict.fromkeys(self.machines[self.runs[run]["machine"]] for run in runs)
        return f"On {'; '.join(machines)}. [Runs]({folder}runs.csv): {', '.join(runs)}."


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def grouped(rows, key, value):
    """A row a group, with the geometric mean and the number of its rows."""
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return [{key: name, value: f"{geometric_mean([float(row[value]) for row in of]):.2f}",
             "count": str(len(of)), "run": of[0]["run"]} for name, of in groups.items()]


def table(figure, rows):
    heads = list(figure["columns"])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        lines.append("| " + " | ".join(text.format(**row) for text in figure["columns"].values()) + " |")
    return lines


def chart_digest(figure, rows):
    return hashlib.sha256(repr((sorted(figure.items()), rows)).encode()).hexdigest()


def draw_chart(path, figure, rows):
    """One bar a row, with its interval where it has one, and a line at 1."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "burnish", "svg.fonttype": "none", "font.size": 9,
                                "text.color": "#777777", "axes.labelcolor": "#777777",
                                "xtick.color": "#777777", "ytick.color": "#777777",
                                "axes.edgecolor": "#777777"})
    from matplotlib import pyplot
    value = figure["value"]
    labels = [figure["label"].format(**row) for row in rows]
    values = [float(row[value]) for row in rows]
    picture, axes = pyplot.subplots(figsize=(7, 0.5 + 0.19 * len(rows)))
    limit = figure.get("limit", 1)
    axes.barh(range(len(rows)), values, height=0.7,
              color=["#3a7ca5" if shown <= limit else "#c8553d" for shown in values])
    for place, row in enumerate(rows):
        if row.get("low"):
            axes.plot([float(row["low"]), float(row["high"])], [place, place], color="#777777", linewidth=1)
        axes.text(0.01, place, row[value], va="center", color="white", fontsize=7)
    axes.axvline(limit, color="#777777", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max([limit * 1.05, *values, *(float(row["high"]) for row in rows if row.get("high"))]))
    axes.set_xlabel(figure["axis"])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    picture.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
    pyplot.close(picture)
    digest = f"<!-- rows {chart_digest(figure, rows)} -->\n"
    path.write_text(path.read_text(encoding="utf-8") + digest, encoding="utf-8")


def summary(figure, rows):
    """The chart in a sentence, for who does not see it."""
    values = [float(row[figure["value"]]) for row in rows]
    worst = max(rows, key=lambda row: float(row[figure["value"]]))
    return (f"{len(rows)} rows, geometric mean {geometric_mean(values):.2f}, least {min(values):.2f}, "
            f"greatest {max(values):.2f} ({figure['label'].format(**worst)})")


def overview(data, figure):
    """A line a chart: how many rows it has, their mean, and the worst."""
    lines = ["| what | rows | geometric mean | least | greatest |", "|---|---|---|---|---|"]
    for name in figure["charts"]:
        chart = data.figures[name]
        values = [float(row[chart["value"]]) for row in data.of(chart)]
        lines.append(f"| {chart['title']} | {len(values)} | {geometric_mean(values):.2f} | {min(values):.2f} | "
                     f"{max(values):.2f} |")
    return "\n".join(lines) + "\n"


def block(data, name, page):
    figure = data.figures[name]
    if "charts" in figure:
        return overview(data, figure)
    rows = data.of(figure)
    folder = os.path.relpath(HERE, page.parent) + "/"
    lines = []
    if "value" in figure:
        text = f"{figure['title']}: {summary(figure, rows)}."
        lines += [f"![{figure['title']}]({folder}{name}.svg)", "", text]
    if "columns" in figure:
        lines += table(figure, rows) + [""]
    return "\n".join([*lines, data.caption(rows, folder)]) + "\n"


def pages():
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], check=True, capture_output=True, text=True)
    return [path for name in listing.stdout.splitlines() if (path := ROOT / name).exists()]


def redraw(data, check):
    shown = set()
    for page in pages():
        before = page.read_text(encoding="utf-8")
        names = [match.group(2) for match in BLOCK.finditer(before)]
        unknown = [name for name in names if name not in data.figures]
        data.wrong += [f"{page.relative_to(ROOT)}: no figure {name} in figures.toml" for name in unknown]
        shown.update(names)
        if not names or unknown:
            continue
        after = BLOCK.sub(lambda match: match[1] + block(data, match[2], page) + match[3], before)
        if after == before:
            continue
        if check:
            data.wrong.append(f"{page.relative_to(ROOT)}: a figure is not as its rows: ./dev figures")
        else:
            page.write_text(after, encoding="utf-8")
    data.wrong += [f"figures.toml: no page shows {name}" for name in data.figures if name not in shown]
    charts = {HERE / f"{name}.svg": figure for name, figure in data.figures.items() if "value" in figure}
    data.wrong += [f"{path.name}: no figure of that name" for path in HERE.glob("*.svg") if path not in charts]
    for path, figure in charts.items():
        rows = data.of(figure)
        digest = chart_digest(figure, rows)
        if path.exists() and digest in path.read_text(encoding="utf-8"):
            continue
        if check:
            data.wrong.append(f"{path.name}: the chart is not as its rows: ./dev figures")
        else:
            draw_chart(path, figure, rows)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    data = Data()
    if not data.wrong:
        redraw(data, check="--check" in sys.argv)
    for line in data.wrong:
        print("figures: " + line, file=sys.stderr)
    sys.exit(1 if data.wrong else 0)


if __name__ == "__main__":
    main()
