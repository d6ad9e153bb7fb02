"""What `./dev bench search` decides by itself: regrets, tests, controls, tasks."""

import math
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import operator_models
import search
import search_rules
import search_stats
from test_report import Report


def expect(lines, got, want, what):
    if got != want:
        lines.append(f"{what}: got {got!r}, want {want!r}")


def near(lines, got, want, what, tolerance=1e-9):
    if not math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance):
        lines.append(f"{what}: got {got!r}, want {want!r}")


def the_test_gives_known_answers():
    wrong = []
    # Darwin's maize: heights of crossed minus self-fertilised plants, n = 15. W+ is 96 of 120, and of
    # the 2^15 ways to give signs 1352 are as far from the middle: p = 0.0413 (Fisher, "The design of
    # experiments", 1935, section 17, has the data).
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    got = search_stats.wilcoxon(darwin, [0] * len(darwin))
    near(wrong, got["p"], 1352 / 2 ** 15, "Darwin")
    near(wrong, got["effect"], 2 * 96 / 120 - 1, "Darwin's effect")
    # Five pairs of one sign: of 32 ways two are as extreme.
    got = search_stats.wilcoxon([1, 2, 3, 4, 5, 7], [2, 4, 6, 8, 10, 7])
    near(wrong, got["p"], 2 / 32, "five of a sign")
    expect(wrong, (got["effect"], got["n"]), (-1.0, 5), "equal pairs do not count")
    expect(wrong, search_stats.wilcoxon([1, 2], [1, 2]), {"p": 1.0, "effect": 0.0, "n": 0}, "equal")
    return wrong, ""


def table(name, kind="pool", rows=1000):
    return {"name": name, "class": kind, "rows": rows, "best_ns": 100, "worst_ns": 1000, "repeated": []}


def runs(arm, index, curves):
    return [{"table": index, "arm": arm, "seed": seed, "best_ns": each}
            for seed, each in enumerate(curves)]


def regrets_are_of_the_table_and_failures_cost_its_worst():
    wrong = []
    one = table("a")
    near(wrong, search_stats.log_regret([0, 200, 150], one, 1), math.log(10), "nothing ran yet")
    near(wrong, search_stats.log_regret([0, 200, 150], one, 2), math.log(2), "after two")
    near(wrong, search_stats.log_regret([0, 200, 150], one, 500), math.log(1.5), "an exhausted space")
    near(wrong, search_stats.noise({"repeated": [[100, 102, 101], [100, 110], [100, 104]]}), 0.04, "noise")
    expect(wrong, search_stats.noise({"repeated": []}), None, "nothing repeated")
    return wrong, ""


def result_of(arms, seeds=8):
    """Two large tasks and a small one; `arms`: {name: regret of a (seed, trials)}."""
    tables = [table("a"), table("b", "softmax"), table("c", "softmax", 20)]
    made = [run for name, ratio in arms.items() for index in range(3)
            for run in runs(name, index, [[round(100 * ratio(seed + 10 * index, n)) for n in range(1, 501)]
                                          for seed in range(seeds)])]
    return {"tables": tables, "arms": list(arms), "runs": made}


def luck(seed, n):
    return 1 + (((seed * 7919) % 13) + 2) / n


def other_luck(seed, n):
    return 1 + (((seed * 104729 + 6) % 13) + 2) / n


def peers_are_of_what_all_finds():
    wrong = []
    result = result_of({"random": lambda seed, n: 3, "all": lambda seed, n: 1.5})
    # All takes 0.5 of the peer's time on "b"; chance finds what takes twice as long as what all finds.
    row = search_stats.summarize(result, {"b": 0.5})["classes"]["softmax"]["over_peers_at_64"]
    near(wrong, row["all"], 0.5, "all")
    near(wrong, row["random"], 1, "chance")
    expect(wrong, "over_peers_at_64" in search_stats.summarize(result, {"b": 0.5})["classes"]["pool"], False,
           "a class without peers")
    return wrong, ""


def an_arm_that_is_better_is_found_and_an_equal_one_is_not():
    wrong = []
    good = {"random": luck, "random again": other_luck, "better": lambda seed, n: 1 + 1 / n,
            "oracle": lambda seed, n: 1.0}
    summary = search_stats.summarize(result_of(good))
    expect(wrong, list(summary["controls"].values()), [True, True], "controls")
    large = summary["groups"]["large"]
    expect(wrong, (large["tasks"], summary["groups"]["all"]["tasks"]), (2, 3), "tasks")
    better = large["arms"]["better"]
    expect(wrong, better["against_random"]["p"] < 0.01, True, f"p {better['against_random']}")
    expect(wrong, better["against_random"]["effect"], -1.0, "effect")
    expect(wrong, large["arms"]["oracle"]["trials_to_random_500"], 1, "the oracle's trials")
    expect(wrong, summary["classes"]["softmax"]["points"], [1000, 20], "points of a class")
    text = search_stats.text(result_of(good), summary)
    for word in ("2 tasks of at least 1000 points", "3 tasks in all", "finds nothing: yes"):
        expect(wrong, word in text, True, word)
    return wrong, ""


def what_learns_by_itself_is_judged_against_both_runs_of_chance():
    wrong = []
    arms = {"random": luck, "random again": other_luck, "learned": lambda seed, n: 1 + 1 / (n * n)}
    result = result_of(arms)
    summary = search_stats.summarize(result)
    found = summary["learned"]
    expect(wrong, (found["of"], found["beats_random"], found["reaches_random_500"]),
           ("large", True, True), "it learns")
    expect(wrong, list(found["trials_to_random_500"]), ["random", "random again"], "each of them")
    expect(wrong, "random is after 500: yes" in search_stats.text(result, summary), True, "the text")
    # Level with one run of chance, it has not passed the other's 500 trials in 64.
    slow = search_stats.summarize(result_of({**arms, "learned": luck}))["learned"]
    expect(wrong, (slow["beats_random"], slow["reaches_random_500"]), (False, False), "it does not")
    expect(wrong, "NO (trials to" in search_stats.learned_text(slow), True, "its text")
    expect(wrong, "learned" in search_stats.summarize(result_of({"random": luck})), False, "no such arm")
    return wrong, ""


def the_generators_cases_are_of_all_classes_and_judged_by_size():
    wrong = []
    rows = operator_models.entries()
    chosen = search_rules.cases(rows)
    expect(wrong, len({row["name"] for row in chosen}), 40, "cases")
    expect(wrong, {row["class"] for row in chosen}, {row["class"] for row in rows}, "classes")

    def case(name, points, ratio, a_a=1.0):
        return {"name": name, "class": "pool", "points": points, "ratio": ratio, "a_a": a_a,
                "interval": [ratio, ratio], "microseconds": {"templates": 2.0, "ours": 2 * ratio}}

    good = [case("a", 200, 0.5), case("b", 300, 1.05, a_a=0.96), case("c", 12, 0.7)]
    found = search_rules.summarize(good)
    expect(wrong, (found["large"]["cases"], found["large"]["holds"], found["small"]["holds"]),
           (2, True, True), "they hold")
    expect(wrong, found["large"]["worst"], "b", "the worst")
    # One that loses more than two runs of one bundle differ by, and a small one that wins too little.
    bad = search_rules.summarize([case("a", 200, 0.5), case("b", 300, 1.05), case("c", 12, 0.8)])
    expect(wrong, (bad["large"]["holds"], bad["small"]["holds"]), (False, False), "they do not")
    expect(wrong, search_rules.text(good, found).count("yes"), 2, "the text")
    expect(wrong, search_rules.summarize(good[2:]).keys(), {"small"}, "one group")
    return wrong, f"{len(chosen)} cases"


def controls_that_fail_say_so():
    wrong = []
    bad = {"random": luck, "random again": lambda seed, n: luck(seed, n) + 1, "oracle": luck}
    summary = search_stats.summarize(result_of(bad))
    expect(wrong, list(summary["controls"].values()), [False, False], "controls")
    expect(wrong, "NO" in search_stats.text(result_of(bad), summary), True, "the text")
    return wrong, ""


def tasks_are_rows_of_the_suite():
    wrong = []
    classes = {row["name"]: row["class"] for row in operator_models.entries()}
    names = [task["name"] for task in search.tasks("")]
    expect(wrong, [name for name in names if name not in classes], [], "no rows")
    expect(wrong, len(names) == len(set(names)) >= 12, True, f"{len(names)} tasks")
    expect(wrong, [task["name"] for task in search.tasks("^bert_q")], ["bert_qkv"], "chosen")
    return wrong, f"{len(names)} tasks of {len({classes[name] for name in names})} classes"


def a_model_stands_in_for_the_tasks():
    wrong = []
    options, _ = search.parse_arguments(["collect", "--model", "resnet50", "--heaviest", "3"])
    expect(wrong, search.manifest_of(options, "/nowhere"),
           [{"name": "resnet50", "class": "model", "source": "resnet50 of the zoo", "zoo": "resnet50",
             "heaviest": 3}], "the manifest")
    return wrong, ""


def a_replay_is_what_is_meant_where_no_command_is_named():
    wrong = []
    for words, want in (([], "replay"), (["--seeds", "3"], "replay"), (["collect"], "collect"),
                        (["live", "--trials", "9"], "live")):
        options, rest = search.parse_arguments(words)
        expect(wrong, options.command, want, " ".join(words))
        if want == "live":
            expect(wrong, rest, ["--trials", "9"], "what live gets")
    return wrong, ""


CASES = (the_test_gives_known_answers, regrets_are_of_the_table_and_failures_cost_its_worst,
         peers_are_of_what_all_finds,
         an_arm_that_is_better_is_found_and_an_equal_one_is_not,
         what_learns_by_itself_is_judged_against_both_runs_of_chance,
         the_generators_cases_are_of_all_classes_and_judged_by_size, controls_that_fail_say_so,
         tasks_are_rows_of_the_suite, a_model_stands_in_for_the_tasks,
         a_replay_is_what_is_meant_where_no_command_is_named)


def main():
    report = Report("bench_search")
    for case in CASES:
        report.run(case.__name__, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
