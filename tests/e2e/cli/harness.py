"""The built programs as processes, and what they say."""

import contextlib
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
from test_report import Report  # noqa: E402

ERROR_LINE = re.compile(r"^error\[(B\d{4})\]: (.+)$", re.MULTILINE)
HINT_LINE = re.compile(r"^  hint: (.+)$", re.MULTILINE)
LONG_S = 120  # Never reached when all is well.


class Outcome:
    """What a finished `tuner` left."""

    def __init__(self, arguments, process, out, err):
        self.arguments = arguments
        self.code = process.returncode
        self.out = (out or b"").decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        as_json = "--json" in arguments
        self.error, self.cause, self.hint = (self._json_error if as_json else self._text_error)()

    def _text_error(self):
        found, hint = ERROR_LINE.search(self.err), HINT_LINE.search(self.err)
        return (*(found.groups() if found else ("", "")), hint.group(1) if hint else "")

    def _json_error(self):
        """Under --json exactly one line of stderr is JSON, the last."""
        lines = [line for line in self.err.splitlines() if line.startswith("{")]
        if len(lines) != 1 or lines != self.err.splitlines()[-1:]:
            return "", "", ""
        error = json.loads(lines[0])["error"]
        return error["code"], error["message"], error.get("hint", "")

    def study(self):
        found = re.search(r"^study (\S+)$", self.out, re.MULTILINE)
        return found.group(1) if found else ""

    def complaints(self, code, error, *texts):
        """The lines that say what is not as wanted: exit code, error number, words in the error."""
        wrong = []
        if self.code != code:
            wrong.append(f"exit code {self.code}, want {code}")
        if self.error != error:
            wrong.append(f"error {self.error or 'none'}, want {error or 'none'}")
        if error and not self.hint:
            wrong.append("no hint")
        wrong += [f"stderr does not name {text!r}" for text in texts if text not in self.err]
        if any(ord(c) < 32 and c not in "\n\t" for c in self.err + self.out):
            wrong.append("control characters in the output")
        if wrong:
            wrong.append("tuner " + " ".join(self.arguments))
            wrong += self.err.splitlines()[-8:]
        return wrong


def _limits(file_bytes):
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # The write fails instead, with EFBIG.
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    return apply


class Programs:
    """`tuner`: path of the program; the others lie beside it, as Bazel builds them."""

    def __init__(self, tuner, folder):
        self.tuner = os.path.realpath(tuner)
        root = os.path.dirname(os.path.dirname(self.tuner))
        self.tracker = os.path.join(root, "tracker", "tracker")
        self.worker = os.path.join(root, "worker", "worker")
        # Nothing of the machine's configuration, of its user's database or of what was measured of it.
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder,
                            "BURNISH_CALIBRATION": "table",
                            "TMPDIR": os.environ.get("TMPDIR", "/tmp")}

    def commands(self):
        """All of `tuner`, as its help lists them."""
        listed = self.run("--help").out.split("Subcommands:")[-1]
        return re.findall(r"^  (\w+) {2,}", listed, re.MULTILINE)

    def run(self, *arguments, file_bytes=None, cwd=None, environment=None, stdout=subprocess.PIPE,
            program=None):
        """Runs `tuner`, or another program, to its end. `file_bytes`: no file may grow beyond."""
        process = subprocess.Popen([program or self.tuner, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=subprocess.PIPE, cwd=cwd,
                                   env=self.environment | (environment or {}),
                                   preexec_fn=_limits(file_bytes) if file_bytes else None)
        try:
            out, err = process.communicate(timeout=LONG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\nit did not end\n"
        return Outcome(arguments, process, out, err)

    @contextlib.contextmanager
    def daemon(self, program, *arguments, log=os.devnull):
        """A daemon for as long as the block; it has printed its address when the block begins. `log`: a
        file for what it says."""
        with open(log, "wb") as file:
            process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=file, env=self.environment)
        try:
            process.address = process.stdout.readline().decode().strip()
            yield process
        finally:
            process.terminate()
            try:
                process.wait(LONG_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

    @contextlib.contextmanager
    def worker_of(self, tracker, *arguments, log=os.devnull):
        """A worker, which prints nothing."""
        with open(log, "wb") as file:
            process = subprocess.Popen([self.worker, "--tracker", tracker, *arguments],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=file, env=self.environment)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(LONG_S)


def dump(path):
    """All that a database holds, as text."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return "\n".join(connection.iterdump())
    finally:
        connection.close()


def run_cases(suite, tuner, names, cases_in):
    """Runs the methods `case_*` of what `cases_in(programs, folder)` makes, each of which returns what
    is wrong; those of `names`, or all. Returns the exit code."""
    report = Report(suite)
    # Short, because sockets lie in it.
    with tempfile.TemporaryDirectory(prefix="cli", dir="/tmp") as folder:
        cases = cases_in(Programs(tuner, folder), folder)
        for name in [n.removeprefix("case_") for n in dir(cases) if n.startswith("case_")]:
            if not names or name in names:
                report.run(name, lambda n=name: (getattr(cases, f"case_{n}")(), ""))
    return report.finish()
