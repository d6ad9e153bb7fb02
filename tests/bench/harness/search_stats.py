"""What `./dev bench search` makes of replayed searches: regrets, tests, verdicts, a table of text."""

import math
import statistics

from scipy import stats

CHECKPOINTS = (1, 8, 16, 32, 64, 128, 200, 500)
# Of a run's one number, the mean of its log regrets: from where a search has been told something, to
# where even chance has found most.
SUMMED = (16, 32, 64, 128, 200)
# Tasks with as many points are large: there a search has something to choose, and 500 random draws do
# not see everything.
LARGE_ROWS = 1000
SIGNIFICANT = 0.01
RANDOM, AGAIN, ORACLE, ALL = "random", "random again", "oracle", "all"
# The search that is told nothing beforehand, and after how many trials it is to be where chance is after 500.
LEARNED, LEARNED_TRIALS = "learned", 64


def after(curve, trials):
    """Best latency after so many trials; a space that is exhausted stays as it was."""
    return curve[min(trials, len(curve)) - 1]


def log_regret(curve, table, trials):
    """ln(best so far / best of the table); while nothing ran, as if the slowest point had."""
    return math.log((after(curve, trials) or table["worst_ns"]) / table["best_ns"])


def regrets(result, arm, trials, chosen):
    """{(table, seed): log regret} over the chosen tables."""
    return {(run["table"], run["seed"]): log_regret(run["best_ns"], result["tables"][run["table"]], trials)
            for run in result["runs"] if run["arm"] == arm and run["table"] in chosen}


def mean_regrets(result, arm, chosen):
    """{(table, seed): mean of the log regrets at SUMMED}."""
    each = [regrets(result, arm, trials, chosen) for trials in SUMMED]
    return {key: statistics.fmean(values[key] for values in each) for key in each[0]}


def wilcoxon(first, second):
    """Two-sided signed-rank test of pairs: p, the matched-pairs rank-biserial correlation (-1: `first`
    is less in every pair), and how many pairs differ."""
    differences = [a - b for a, b in zip(first, second) if a != b]
    if not differences:
        return {"p": 1.0, "effect": 0.0, "n": 0}
    ranks = stats.rankdata([abs(d) for d in differences])
    up = sum(rank for rank, d in zip(ranks, differences) if d > 0)
    p = float(stats.wilcoxon(differences).pvalue)
    return {"p": p, "effect": (2 * up - sum(ranks)) / sum(ranks), "n": len(differences)}


def compare(first, second):
    """Of two {(table, seed): log value}: the test over task x seed; the same over means of tasks, which
    says whether it holds for further tasks; and the ratio of the geometric means."""
    keys = sorted(first)
    tables = sorted({table for table, _ in keys})

    def by_table(values):
        return [statistics.fmean(values[key] for key in keys if key[0] == table) for table in tables]

    return {**wilcoxon([first[key] for key in keys], [second[key] for key in keys]),
            "p_tasks": wilcoxon(by_table(first), by_table(second))["p"],
            "ratio": math.exp(statistics.fmean(first[key] - second[key] for key in keys))}


def large_tables(result):
    return {i for i, table in enumerate(result["tables"]) if table["rows"] >= LARGE_ROWS}


def percent(values):
    return 100 * (math.exp(statistics.fmean(values)) - 1)


def curve(result, arm, chosen):
    """Regret in percent at each checkpoint, geometric mean over tasks and seeds."""
    return [percent(regrets(result, arm, trials, chosen).values()) for trials in CHECKPOINTS]


def trials_to(result, arm, chosen, level):
    """The least number of trials after which the mean regret is at most `level` percent; None: never."""
    most = max(len(run["best_ns"]) for run in result["runs"] if run["table"] in chosen)
    for trials in range(1, most + 1):
        if percent(regrets(result, arm, trials, chosen).values()) <= level + 1e-9:
            return trials
    return None


def noise(table):
    """Median over rows that were measured again of (most - least) / least; None: there are none."""
    spreads = [max(row) / min(row) - 1 for row in table["repeated"]]
    return statistics.median(spreads) if spreads else None


def over_peers(result, arm, chosen, peers):
    """What the arm's find of LEARNED_TRIALS trials takes of the better peer's time, geometric mean over
    tasks and seeds. `peers`: {table: what 64 trials of both spaces take of it, by the operators' suite},
    which the arm `ALL` stands for: an estimate, since the two were not timed in one run."""
    own = regrets(result, arm, LEARNED_TRIALS, chosen)
    of_all = regrets(result, ALL, LEARNED_TRIALS, chosen)
    return math.exp(statistics.fmean(own[key] - of_all[key] + math.log(peers[result["tables"][key[0]]["name"]])
                                     for key in own))


def summarize(result, peers=None):
    """Groups of tasks with curves and comparisons with `random`, and what the controls say. `peers`: see
    `over_peers`; a task that it lacks has no such figure."""
    arms = result["arms"]
    peers = peers or {}
    groups = {"large": large_tables(result), "all": set(range(len(result["tables"])))}
    summary = {"groups": {}, "classes": {}, "controls": {}}
    for name, chosen in groups.items():
        if not chosen:
            continue
        at_last = percent(regrets(result, RANDOM, CHECKPOINTS[-1], chosen).values())
        group = summary["groups"][name] = {"tasks": len(chosen), "arms": {}}
        for arm in arms:
            group["arms"][arm] = {
                "regret_percent": curve(result, arm, chosen),
                "trials_to_random_500": trials_to(result, arm, chosen, at_last),
                "against_random": compare(mean_regrets(result, arm, chosen),
                                          mean_regrets(result, RANDOM, chosen)),
                "at_64_against_random_at_500": compare(regrets(result, arm, 64, chosen),
                                                       regrets(result, RANDOM, 500, chosen)),
            }
    for kind in dict.fromkeys(table["class"] for table in result["tables"]):
        chosen = {i for i, table in enumerate(result["tables"]) if table["class"] == kind}
        summary["classes"][kind] = {
            "points": [result["tables"][i]["rows"] for i in sorted(chosen)],
            "noise": [noise(result["tables"][i]) for i in sorted(chosen)],
            "regret_percent_at_64": {
                arm: percent(regrets(result, arm, 64, chosen).values()) for arm in arms}}
        known = {i for i in chosen if result["tables"][i]["name"] in peers}
        if known and ALL in arms:
            summary["classes"][kind]["over_peers_at_64"] = {
                arm: over_peers(result, arm, known, peers) for arm in arms}
    group = summary["groups"].get("large", summary["groups"]["all"])["arms"]
    if LEARNED in group:
        chances = [arm for arm in (RANDOM, AGAIN) if arm in group]
        chosen = groups["large"] or groups["all"]
        test = group[LEARNED]["against_random"]
        summary["learned"] = {
            "of": "large" if groups["large"] else "all", "p": test["p"], "p_tasks": test["p_tasks"],
            "beats_random": test["p"] < SIGNIFICANT and test["ratio"] < 1,
            # Two runs of chance differ: each is asked.
            "trials_to_random_500": {
                arm: trials_to(result, LEARNED, chosen, group[arm]["regret_percent"][-1])
                for arm in chances}}
        # Of a table with less rows chance has seen most after 500: nothing would be said.
        summary["learned"]["reaches_random_500"] = None if not groups["large"] else all(
            trials is not None and trials <= LEARNED_TRIALS
            for trials in summary["learned"]["trials_to_random_500"].values())
    if AGAIN in group:
        same = group[AGAIN]["against_random"]
        summary["controls"]["random against random finds nothing"] = same["p"] >= SIGNIFICANT
    if ORACLE in group:
        oracle = group[ORACLE]["against_random"]
        summary["controls"]["the oracle beats random"] = (
            oracle["p"] < SIGNIFICANT and oracle["ratio"] < 1)
    return summary


def learned_text(found):
    large = found["of"] == "large"
    lines = [f"without the analytic model, {f'tasks of at least {LARGE_ROWS} points' if large else 'all tasks'}:",
             f"  better than random at p < {SIGNIFICANT}, paired over task x seed: "
             f"{'yes' if found['beats_random'] else 'NO'} (p {found['p']:.1g}, by means of tasks "
             f"{found['p_tasks']:.1g})"]
    if large:
        reached = ", ".join(f"{arm} {trials if trials is not None else 'never'}"
                            for arm, trials in found["trials_to_random_500"].items())
        lines.append(f"  within {LEARNED_TRIALS} trials where random is after {CHECKPOINTS[-1]}: "
                     f"{'yes' if found['reaches_random_500'] else 'NO'} (trials to {reached})")
    return "\n".join(lines)


def text(result, summary):
    lines = []
    for name, group in summary["groups"].items():
        what = f"of at least {LARGE_ROWS} points" if name == "large" else "in all"
        lines.append(f"{group['tasks']} tasks {what}: regret in % after so many trials, geometric mean")
        lines.append(f"{'arm':16}" + "".join(f"{n:>7}" for n in CHECKPOINTS)
                     + f"{'as r@500':>10}{'p':>9}{'p tasks':>9}{'effect':>8}")
        for arm, row in group["arms"].items():
            test = row["against_random"]
            reached = row["trials_to_random_500"]
            lines.append(f"{arm:16}" + "".join(f"{value:7.1f}" for value in row["regret_percent"])
                         + f"{reached if reached is not None else '-':>10}"
                         + (f"{test['p']:9.1g}{test['p_tasks']:9.1g}{test['effect']:8.2f}"
                            if arm != RANDOM else ""))
        lines.append("")
    lines.append("by class: points of each task, spread of repeated rows, regret in % after 64 trials")
    lines.append(f"{'class':24}{'points':>16}{'noise':>8}" + "".join(f"{arm:>14}" for arm in result["arms"]))
    for kind, row in summary["classes"].items():
        spread = [value for value in row["noise"] if value is not None]
        lines.append(f"{kind:24}{' '.join(map(str, row['points'])):>16}"
                     + (f"{100 * statistics.median(spread):7.1f}%" if spread else f"{'':8}")
                     + "".join(f"{value:14.1f}" for value in row["regret_percent_at_64"].values()))
    if any("over_peers_at_64" in row for row in summary["classes"].values()):
        lines += ["", "by class: time after 64 trials over that of the better peer (ratio of the operators' suite, "
                  "scaled by the arm's regret over that of `all`)",
                  f"{'class':48}" + "".join(f"{arm:>14}" for arm in result["arms"])]
        lines += [f"{kind:48}" + "".join(f"{value:14.2f}" for value in row["over_peers_at_64"].values())
                  for kind, row in summary["classes"].items() if "over_peers_at_64" in row]
        lines.append("")
    if "learned" in summary:
        lines.append(learned_text(summary["learned"]))
    for name, holds in summary["controls"].items():
        lines.append(f"control: {name}: {'yes' if holds else 'NO'}")
    return "\n".join(lines)
