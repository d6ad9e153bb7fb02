"""Counts the test cases of one `bazel test`, cached ones included.

usage: count_tests.py EVENTS SUMMARY

EVENTS is what --build_event_json_file wrote. Prints what failed and what was skipped; writes
"PASSED FAILED SKIPPED" to SUMMARY. Exits with 1 when anything failed or nothing ran.

A test case is a <testcase> of the test's test.xml; a target without one counts as one case, and so
does one that does not build.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def cases(path):
    """Names of the passed, failed and skipped cases of one test.xml."""
    passed, failed, skipped = [], [], []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("classname", "") + "." + case.get("name", "")
        if case.get("status") == "notrun":
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif (skip := case.find("skipped")) is not None or case.get("result") == "skipped":
            # GoogleTest's message is the place, and on the next line the reason.
            reason = "" if skip is None else skip.get("message", "").strip()
            skipped.append(": ".join([name, *reason.splitlines()[-1:]]))
        else:
            passed.append(name)
    return passed, failed, skipped


def read_events(path):
    """All test targets, and their last result by (target, run, shard)."""
    targets, results = set(), {}
    with open(path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            identity = event.get("id", {})
            if "targetConfigured" in identity and "testSize" in event.get("configured", {}):
                targets.add(identity["targetConfigured"]["label"])
            if "testResult" in identity and "testResult" in event:
                key = identity["testResult"]
                # Later attempts of the same run overwrite earlier ones.
                results[key["label"], key.get("run", 1), key.get("shard", 1)] = event["testResult"]
    return targets, results


def xml_of(result):
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return None


def main():
    targets, results = read_events(sys.argv[1])
    passed_count = 0
    failures, skips = [], []
    for (label, _, _), result in sorted(results.items()):
        ok = result.get("status") in ("PASSED", "FLAKY")
        try:
            passed, failed, skipped = cases(xml_of(result))
        except (OSError, TypeError, ElementTree.ParseError):
            passed, failed, skipped = ([label] if ok else []), [], []
        if not ok and not failed:  # It crashed, hung, or wrote its results before it failed.
            failed = ["(" + result.get("status", "no status") + ")"]
        passed_count += len(passed)
        failures += [label + " " + name for name in failed]
        skips += [label + " " + name for name in skipped]
    for label in sorted(targets - {label for label, _, _ in results}):
        failures.append(label + " (did not build or did not run)")
    for name in skips:
        print("skipped:", name)
    for name in failures:
        print("failed:", name)
    with open(sys.argv[2], "w", encoding="utf-8") as summary:
        summary.write(f"{passed_count} {len(failures)} {len(skips)}\n")
    return 1 if failures or passed_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
