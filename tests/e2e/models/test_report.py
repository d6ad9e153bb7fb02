"""Results of many cases inside one Bazel test: a line each, and a test case each in test.xml."""

import os
import time
import traceback
import xml.etree.ElementTree as ElementTree


def shard(items):
    """The part of `items` that is this test shard's, as Bazel's sharding protocol says."""
    if "TEST_SHARD_STATUS_FILE" in os.environ:
        with open(os.environ["TEST_SHARD_STATUS_FILE"], "w", encoding="utf-8"):
            pass  # That it is there says that we know how to shard.
    index = int(os.environ.get("TEST_SHARD_INDEX", 0))
    return list(items)[index::int(os.environ.get("TEST_TOTAL_SHARDS", 1))]


def run_functions(suite, functions):
    """Each of (name, function) is a case, which fails by what it raises. Returns the exit code."""
    report = Report(suite)

    def wrong(function):
        try:
            function()
        except Exception:  # pylint: disable=broad-except
            return traceback.format_exc().splitlines(), ""
        return [], ""

    for name, function in functions:
        report.run(name, lambda function=function: wrong(function))
    return report.finish()


def functions_of(names):
    """The functions `test_...` of a module's names, in their order."""
    return [(name, value) for name, value in names.items() if name.startswith("test_") and callable(value)]


class Report:
    def __init__(self, suite):
        self._suite = ElementTree.Element("testsuite", name=suite)
        self._failed = 0

    def run(self, name, case, skip_reason=""):
        """`case()` returns the lines that say what is wrong and a note. A case with a `skip_reason`
        must fail: one that passes is no longer to be skipped."""
        start = time.monotonic()
        wrong, note = case()
        seconds = time.monotonic() - start
        result, lines = "ok", wrong
        if skip_reason:
            result = "skipped" if wrong else "FAILED"
            lines = [skip_reason] + wrong if wrong else ["passes, but is listed as failing"]
        elif wrong:
            result = "FAILED"
        print(f"{name}: {result} ({seconds:.2f} s)" + (f" {note}" if note else ""), *lines,
              sep="\n    ", flush=True)
        element = ElementTree.SubElement(self._suite, "testcase", name=name, time=f"{seconds:.3f}",
                                         classname=self._suite.get("name"))
        if result != "ok":
            kind = "skipped" if result == "skipped" else "failure"
            ElementTree.SubElement(element, kind, message="; ".join(lines)[:1000])
        self._failed += result == "FAILED"

    def skip(self, name, reason):
        """A case that this machine lacks something for: counted where skips are, and no failure."""
        print(f"{name}: skipped: {reason}", flush=True)
        element = ElementTree.SubElement(self._suite, "testcase", name=name, time="0",
                                         classname=self._suite.get("name"))
        ElementTree.SubElement(element, "skipped", message=reason)

    def finish(self):
        """Writes test.xml where Bazel wants one. Returns the exit code."""
        count = len(self._suite)
        self._suite.set("tests", str(count))
        self._suite.set("failures", str(self._failed))
        if "XML_OUTPUT_FILE" in os.environ:
            ElementTree.ElementTree(self._suite).write(os.environ["XML_OUTPUT_FILE"], "utf-8")
        print(f"{count - self._failed} of {count} as wanted")
        return 1 if self._failed or count == 0 else 0
