"""The parent's end of peer.py: one engine in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys

import machine
import numpy as np

RUNTIME = "//compiler/runtime:libburnish.so.0"


class Engine:
    """Starts, runs and answers like peer.py. `folder` holds inputs.npz, and will hold NAME.npz.
    `environment` is added to the process's. `touch_bytes`: see peer.py. RuntimeError: the engine
    failed, with what it said."""

    def __init__(self, name, model, folder, cpus, environment=None, touch_bytes=0):
        self.name = name
        self.outputs_path = folder / f"{name}.npz"
        self.rounds = []       # Latencies of each turn, in nanoseconds.
        self.cpu_rounds = []   # CPU time of an inference of each turn, in nanoseconds, all threads.
        self.switches = 0      # Involuntary, in timed inferences.
        self.cpu_seconds = 0   # Of timed inferences, all threads, spinning included.
        job = {"engine": name, "model": str(pathlib.Path(model).resolve()),
               "library": str(machine.output(RUNTIME)),
               "inputs": str(folder / "inputs.npz"), "outputs": str(self.outputs_path),
               "cpus": cpus, "touch_bytes": touch_bytes}
        peer = pathlib.Path(__file__).parent / "peer.py"
        self._process = subprocess.Popen([sys.executable, peer, json.dumps(job)], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env={**os.environ, **(environment or {})})
        self.start = self._answer()  # What peer.py says of the start, with the engine's "about".
        self.about = self.start["about"]

    def _answer(self):
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {}
        if not line or "error" in answer:
            code = self._process.wait()
            raise RuntimeError(f"{self.name}: {answer.get('error', f'ended with code {code}')}")
        return answer

    def _ask(self, request):
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        return self._answer()

    def turn(self, seconds):
        """Returns the CPU seconds that the process took."""
        answer = self._ask(seconds)
        self.rounds.append(answer["latency_ns"])
        self.switches += answer["involuntary_switches"]
        self.cpu_seconds += answer["timed_cpu_seconds"]
        self.cpu_rounds.append([1e9 * answer["timed_cpu_seconds"] / len(answer["latency_ns"])])
        return answer["cpu_seconds"]

    def resident_bytes(self):
        """What the engine and the model added to the process, now (memory.Growth)."""
        return self._ask("memory")["resident_bytes"]

    def outputs(self):
        with np.load(self.outputs_path) as file:
            return [file[name] for name in file.files]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def take_turns(engines, rounds, seconds):
    """Turns A B C A B C ...; returns which share of the CPUs' time others took, and the share that
    the hypervisor stole, in percent."""
    used, stolen = machine.cpu_seconds()
    ours = sum(engine.turn(seconds) for _ in range(rounds) for engine in engines)
    used, stolen = (after - before for after, before in zip(machine.cpu_seconds(), (used, stolen)))
    return {"others_percent": 100 * max(0.0, used - ours) / (used + stolen),
            "stolen_percent": 100 * stolen / (used + stolen)}
