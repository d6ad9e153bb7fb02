"""Many models, one process each, and what came out as a Markdown table."""

import json
import pathlib
import subprocess
import sys

import machine

MODEL_TIMEOUT_SECONDS = 1800
OURS = "burnish"
PASSED_ON = ("threads", "batch", "weights", "rounds", "seconds", "starts", "peers", "db", "accuracy",
             "precision", "quantizer")
HEADER = ("model", "median", "best peer's median", "ratio (95 % interval)", "error",
          "memory", "of the smaller of the peers'", "first output", "of ONNX Runtime's")


def _arguments(options):
    """Of models.py, for one model."""
    values = {name: getattr(options, name) for name in PASSED_ON}
    values["peers"] = ",".join(options.peers)
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


def _measure_one(script, arguments, model):
    """The result of models.py --json, or {"error": its last line}."""
    command = [sys.executable, script, *arguments, f"--model={model}", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=MODEL_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()  # It ends its own processes.
        process.communicate()
        return {"error": f"took more than {MODEL_TIMEOUT_SECONDS} s"}
    if process.returncode == 0:
        return json.loads(out)
    sys.stderr.write(err)
    return {"error": (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1]}


def _cells(result):
    ours, ratio = result["engines"][OURS], result["median_ratio"]
    low, high = ratio["interval_95"]
    cells = [f"{ours['median_ms']:.2f} ms",
             f"{result['engines'][ratio['to']]['median_ms']:.2f} ms ({ratio['to']})",
             f"{ratio['ratio']:.3f} ({low:.3f} to {high:.3f})", f"{ours['tensor_error']:.1e}"]
    starts = result.get("footprint", {})
    peers = {name: start for name, start in starts.items() if name != OURS}
    if OURS not in starts or not peers:
        return cells + ["-"] * 4
    memory = starts[OURS]["memory_mib"]
    least = min(start["memory_mib"] for start in peers.values())
    first = starts[OURS]["first_output_ms"]
    cells += [f"{memory:.0f} MiB", f"{memory / least:.2f}", f"{first:.0f} ms"]
    cells.append(f"{first / peers['ort']['first_output_ms']:.2f}" if "ort" in peers else "-")
    return cells


def row(model, result):
    """A line of the table."""
    cells = _cells(result) if "error" not in result else (
        ["failed: " + result["error"].replace("|", "/")] + [""] * (len(HEADER) - 2))
    return "| " + " | ".join([model, *cells]) + " |"


def table(results):
    """`results` by model, in order."""
    rule = "|" + "---|" * len(HEADER)
    return "\n".join(["| " + " | ".join(HEADER) + " |", rule,
                      *(row(model, result) for model, result in results.items())])


def _read(path, arguments):
    """Results by model of an earlier run with these arguments; what failed is tried again."""
    if not path or not pathlib.Path(path).exists():
        return {}
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line]
    return {line["model"]: line for line in lines
            if "error" not in line and line["arguments"] == arguments}


def run(script, options):
    """Measures options.all; prints the table. Returns the exit code: 1 if a model failed."""
    arguments = _arguments(options)
    earlier, results = _read(options.out, arguments), {}
    for model in options.all.split(","):
        results[model] = earlier.get(model)
        if results[model] is not None:
            continue
        results[model] = _measure_one(script, arguments, model)
        print(row(model, results[model]), file=sys.stderr, flush=True)
        if options.out:
            line = {**results[model], "model": model, "arguments": arguments}
            with open(options.out, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    if options.json:
        print(json.dumps({"schema": 2, "benchmark": "models", "models": results}))
    else:
        print(machine.headline(machine.describe()) + f"\n{' '.join(arguments)}\n\n{table(results)}")
    return 1 if any("error" in result for result in results.values()) else 0
