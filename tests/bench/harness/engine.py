"""The parent's end of peer.py: one engine in a process of its own."""

import json
import pathlib
import subprocess
import sys

import machine
import numpy as np

RUNTIME = "//compiler/runtime:libburnish_runtime.so"


class Engine:
    """Starts, runs and answers like peer.py. `folder` holds inputs.npz, and will hold NAME.npz."""

    def __init__(self, name, model, folder, cpus):
        self.name = name
        self.outputs_path = folder / f"{name}.npz"
        self.rounds = []       # Latencies of each turn, in nanoseconds.
        self.switches = 0      # Involuntary, in timed inferences.
        self.cpu_seconds = 0   # Of timed inferences, all threads, spinning included.
        job = {"engine": name, "model": str(pathlib.Path(model).resolve()),
               "library": str(machine.output(RUNTIME)),
               "inputs": str(folder / "inputs.npz"), "outputs": str(self.outputs_path),
               "cpus": cpus}
        peer = pathlib.Path(__file__).parent / "peer.py"
        self._process = subprocess.Popen([sys.executable, peer, json.dumps(job)], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"bench: the process of {self.name} ended with {self._process.wait()}")
        return json.loads(line)

    def turn(self, seconds):
        """Returns the CPU seconds that the process took."""
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        answer = self._answer()
        self.rounds.append(answer["latency_ns"])
        self.switches += answer["involuntary_switches"]
        self.cpu_seconds += answer["timed_cpu_seconds"]
        return answer["cpu_seconds"]

    def outputs(self):
        with np.load(self.outputs_path) as file:
            return [file[name] for name in file.files]

    def close(self):
        self._process.stdin.close()
        self._process.wait()
