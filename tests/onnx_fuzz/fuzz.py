"""Random ONNX graphs, compiled and run as bundles, against ONNX Runtime.

usage: fuzz.py RUNNER [--graphs N] [--seed S] [--nodes MOST] [--jobs N] [--keep NAME] [--cases FOLDER] [--no-reduce]

Runs the seeds S .. S + N - 1 in processes of their own, so that whatever one of them does ends that seed
alone. A finding is made small and printed with its seed; --keep NAME also writes the first one to
FOLDER. Fails on a finding, where too few graphs are compared, and where the importer has an operator
that the table lacks. README.md says what counts as what.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import select
import subprocess
import sys
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e/models"))
sys.path.insert(0, HERE)
# One thread a process: NumPy's would ask for all cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import evaluate  # noqa: E402
import generator  # noqa: E402
from case import expected, load, save  # noqa: E402
from case_runner import CaseRunner  # noqa: E402
from evaluate import Unfit  # noqa: E402
from missing import MISSING  # noqa: E402
from reducer import Reducer  # noqa: E402
from rows import ROWS  # noqa: E402
import operators_control  # noqa: E402,F401
import operators_elementwise  # noqa: E402,F401
import operators_microsoft  # noqa: E402,F401
import operators_movement  # noqa: E402,F401
import operators_reduction  # noqa: E402,F401
import operators_window  # noqa: E402,F401

# A graph of 30 small nodes takes well under a second to compile; this is for a machine in use.
CASE_TIMEOUT_S = 60
# Of seeds that give a graph at all: how many must be compiled and compared, and how many must give one.
COMPARED_MIN, GRAPHS_MIN = 0.6, 0.8
# What an error of the importer says by its status, as tuner numbers it.
REFUSALS = {"UNIMPLEMENTED": "B0302", "FAILED_PRECONDITION": "B0303"}


def judge(case, lanes, reply, sets):
    """(kind, detail): "right", "refused" or what fails."""
    error = reply["error"]
    if error:
        status = error.split(":")[0]
        if reply["stage"] == "import" and status in REFUSALS:
            return "refused", f"{REFUSALS[status]}: {error}"
        kind = {"import": "B0301", "build": "B0803"}.get(reply["stage"], reply["stage"])
        return f"{kind} {reason(error)}", error
    if reply["rejected"]:
        return "default schedule rejected", str(reply["rejected"])
    for i, (outputs, wanted) in enumerate(zip(sets, lanes)):
        for k, (output, lane) in enumerate(zip(outputs, wanted)):
            difference = evaluate.difference(output, lane)
            if difference:
                return "wrong", f"set {i}, {case.model.graph.output[k].name}: {difference}"
    return "right", ""


def reason(error):
    """An error without what is this graph's own: names, shapes and numbers."""
    text = re.sub(r"\s*\[(type\.googleapis|burnish/).*", "", error, flags=re.DOTALL)
    text = re.sub(r"'/[^']*model\.onnx': ", "", text)
    text = re.sub(r"node '[^']*'", "node", text)
    text = re.sub(r"\b(v\d+(_\d+)?|i\d+|u\d+|f\d+|bf16|bool)\b", "_", text)
    return re.sub(r"\[[^\]]*\]|-?\d+(\.\d+)?", "#", text)[:150]


def run(runner, case, lanes):
    # Without inputs every set is the same.
    inputs = [case.inputs(arrays) for arrays in case.sets[:None if case.model.graph.input else 1]]
    reply, sets = runner.run(case.model.SerializeToString(), inputs, dims=case.dims, names=case.names,
                             threads=case.threads)
    return judge(case, lanes, reply, sets)


def kind_of(runner, case):
    """For the reducer: "" where the case is right or no case."""
    try:
        lanes = expected(case)
        generator.runs_in_onnx_runtime(case, lanes)
        kind = run(runner, case, lanes)[0]
    except Exception:  # A reduced model may be broken in any way.
        return ""
    return "" if kind in ("right", "refused") else kind


def run_seed(runner, seed, nodes_max):
    """What came of one seed, as JSON has it."""
    try:
        case, lanes = generator.generate(seed, nodes_max)
        generator.runs_in_onnx_runtime(case, lanes)
    except Unfit as error:
        return {"state": "no graph", "detail": str(error)[:300]}
    used = sorted({name for node in case.model.graph.node for name in generator.names(node)})
    kind, detail = run(runner, case, lanes)
    state = kind if kind in ("right", "refused") else "finding"
    return {"state": state, "kind": kind, "detail": detail[:2000], "operators": used}


def worker(program, nodes_max):
    """Seeds in, a line of JSON out. "reduce SEED PATH" makes a finding small and writes it there."""
    with CaseRunner(program, CASE_TIMEOUT_S) as runner:
        for line in sys.stdin:
            words = line.split()
            try:
                if words[0] == "reduce":
                    case = generator.generate(int(words[1]), nodes_max)[0]
                    small = Reducer(lambda each: kind_of(runner, each)).reduce(case)
                    save(small, words[2], kind_of(runner, small))
                    result = {"text": small.text(), "detail": run(runner, small, expected(small))[1]}
                else:
                    result = run_seed(runner, int(words[0]), nodes_max)
            except Exception:
                result = {"state": "finding", "kind": "the fuzzer itself", "text": "",
                          "detail": traceback.format_exc()[-1500:]}
            print(json.dumps(result), flush=True)


class Worker:
    """A worker process, which is started again after it died."""

    def __init__(self, program, nodes_max):
        self._program, self._nodes_max, self._child = program, nodes_max, None

    def ask(self, line, timeout_s):
        if self._child is None:
            self._child = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), self._program, "--worker",
                                            f"--nodes={self._nodes_max}"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL)
        self._child.stdin.write(f"{line}\n".encode())
        self._child.stdin.flush()
        ready, _, _ = select.select([self._child.stdout], [], [], timeout_s)
        answer = self._child.stdout.readline() if ready else b""
        if answer.endswith(b"\n"):
            return json.loads(answer)
        self.end()
        # The runner is a process of its own, whose death is a finding: this is ONNX Runtime's.
        return {"state": "no graph", "detail": "ONNX Runtime died or hangs", "text": ""}

    def end(self):
        if self._child:
            self._child.kill()
            self._child.stdin.close()
            self._child.stdout.close()
            self._child.wait()
        self._child = None


def operators_of(program):
    with CaseRunner(program) as runner:
        return set(runner.operators())


def uncovered(program):
    """Lines about the importer's operators without a row, and rows or reasons without an operator."""
    known = operators_of(program)
    lines = [f"{name} has no row in the table of operators" for name in sorted(known - set(ROWS) - set(MISSING))]
    return lines + [f"{name} has a row or a reason, but is none of the importer's"
                    for name in sorted((set(ROWS) | set(MISSING)) - known)]


class Fuzzer:
    def __init__(self, flags):
        self._flags = flags
        self._local = threading.local()
        self._workers = []
        self._lock = threading.Lock()
        self._states, self._why = collections.Counter(), collections.Counter()
        self._operators = collections.Counter()
        self._kinds = {}  # The first seed of each kind.
        self._found = 0
        self._keep = flags.keep  # "" after the first finding.

    def _ask(self, line, timeout_s):
        if not hasattr(self._local, "worker"):
            self._local.worker = Worker(self._flags.runner, self._flags.nodes)
            self._workers.append(self._local.worker)
        return self._local.worker.ask(line, timeout_s)

    def run(self):
        seeds = range(self._flags.seed, self._flags.seed + self._flags.graphs)
        with concurrent.futures.ThreadPoolExecutor(self._flags.jobs) as pool:
            list(pool.map(self._one, seeds))
        for each in self._workers:
            each.end()

    def _one(self, seed):
        result = self._ask(str(seed), 3 * CASE_TIMEOUT_S)
        with self._lock:
            self._states[result["state"]] += 1
            self._operators.update(result.get("operators", []))
            if result["state"] in ("refused", "no graph"):
                self._why[f"{result['state']}: {reason(result['detail'])}"] += 1
            if result["state"] != "finding":
                return
            self._found += 1
            first = result["kind"] == "wrong" or result["kind"] not in self._kinds
            self._kinds.setdefault(result["kind"], seed)
        print(f"seed {seed}: {result['kind']}\n    {result['detail'][:600]}", flush=True)
        # Of one kind of error the first is enough; what is wrong may differ in cause.
        if first and not self._flags.no_reduce:
            self._make_small(seed)

    def _make_small(self, seed):
        name, self._keep = self._keep or f"found_{seed}", ""
        path = os.path.join(self._flags.cases, f"{name}.json")
        os.makedirs(self._flags.cases, exist_ok=True)
        small = self._ask(f"reduce {seed} {path}", 20 * CASE_TIMEOUT_S)
        print(f"seed {seed}, made small ({path}):\n{small['text']}\n    {small['detail'][:600]}", flush=True)

    def report(self):
        """Prints counts; returns the exit code."""
        graphs = sum(self._states.values()) - self._states["no graph"]
        compared = self._states["right"] + self._found
        for text, count in self._why.most_common(25):
            print(f"{count:6} {text}")
        lines = uncovered(self._flags.runner)
        if graphs < GRAPHS_MIN * self._flags.graphs:
            lines.append(f"only {graphs} of {self._flags.graphs} seeds give a graph")
        if compared < COMPARED_MIN * graphs:
            lines.append(f"only {compared} of {graphs} graphs are compared")
        rare = sorted(set(ROWS) - set(self._operators))
        print(f"{len(self._operators)} of {len(ROWS)} operators met; not: {', '.join(rare)}")
        print(f"{self._flags.graphs} seeds from {self._flags.seed}: {graphs} graphs, {self._states['right']} right, "
              f"{self._states['refused']} refused, {self._found} findings of {len(self._kinds)} kinds")
        print(*lines, sep="\n")
        return 1 if lines or self._found else 0


def replay(program, folder):
    """Every kept case; returns lines about those that fail."""
    lines = []
    with CaseRunner(program, CASE_TIMEOUT_S) as runner:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
        for name in names:
            case, _ = load(os.path.join(folder, name))
            kind, detail = run(runner, case, expected(case))
            if kind != "right":
                lines.append(f"{name}: {kind}: {detail[:400]}")
    print(f"{len(names) - len(lines)} of {len(names)} kept cases right")
    return lines


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("runner")
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=generator.NODES[1])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", default="")
    parser.add_argument("--cases", default="/tmp/onnx_fuzz")
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--replay", default="")
    parser.add_argument("--worker", action="store_true")
    flags = parser.parse_args(arguments)
    if flags.worker:
        worker(flags.runner, flags.nodes)
        return 0
    wrong = replay(flags.runner, flags.replay) if flags.replay else []
    print(*wrong, sep="\n")
    fuzzer = Fuzzer(flags)
    fuzzer.run()
    return fuzzer.report() or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
