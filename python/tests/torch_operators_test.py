"""How much of core ATen the importer has: the table of docs/pytorch.md, its numbers, and a part of its samples again."""

import torch_harness

torch_harness.start(__file__)

import re  # noqa: E402

import aten_coverage  # noqa: E402

TABLE = "python/tests/aten_operators.txt"
BAR = 0.7
# All samples take a quarter of an hour; of these, which are spread over the table, one of each type.
EVERY = 6


def rows():
    return aten_coverage.read_table(TABLE)


def test_the_table_has_the_core_operators_of_this_torch():
    have, want = {row["operator"] for row in rows()}, set(aten_coverage.core_operators())
    assert have == want, (f"new: {sorted(want - have)}, gone: {sorted(have - want)}; "
                          f"./dev bench pytorch --operators --table {TABLE}")


def test_the_page_has_the_tables_numbers():
    counting = sum(map(aten_coverage.counts, rows()))
    assert counting >= BAR * len(rows()), counting
    with open("docs/pytorch.md", encoding="utf-8") as file:
        total, counted = map(int, re.search(r"core ATen's (\d+) operators\s.*?(\d+) count", file.read(), re.DOTALL).groups())
    assert (counted, total) == (counting, len(rows()))


def test_a_part_of_those_that_count():
    samples = []
    for row in [row for row in rows() if aten_coverage.counts(row) and row["right"] == row["total"]][::EVERY]:
        for _, sample in aten_coverage.samples_of(row["operator"], 1):
            missing = sample.unsupported()
            assert not missing, (row["operator"], missing)
            samples.append((row["operator"], sample))
    found = aten_coverage.outcome([sample for _, sample in samples])
    wrong = [f"{name}: {what}" for (name, _), what in zip(samples, found) if what]
    assert len(samples) > len(rows()) // EVERY and not wrong, wrong


torch_harness.run_cases(__name__)
