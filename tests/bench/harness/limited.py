"""A child process with its own children: at most so long, and so much resident memory."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

POLL_SECONDS = 0.1
KB = 1024


class Ended:
    """code: the exit code, negative for a signal; "time" or "memory" in `limit` where one ended it."""

    def __init__(self, code, limit, out, err, seconds, peak_bytes):
        self.code, self.limit, self.out, self.err = code, limit, out, err
        self.seconds, self.peak_bytes = seconds, peak_bytes


def _resident_bytes(group):
    """Of all processes of a process group; shared pages count in each."""
    total = 0
    for path in pathlib.Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            continue  # It has just ended.
    return total


def run(command, seconds_max, bytes_max, environment=None):
    """Runs `command` in a process group of its own and waits; kills the group at a limit."""
    start, peak, limit = time.monotonic(), 0, ""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err, start_new_session=True,
                                 env={**os.environ, **(environment or {})})
        try:
            while child.poll() is None:
                peak = max(peak, _resident_bytes(child.pid))
                if time.monotonic() - start > seconds_max:
                    limit = "time"
                elif peak > bytes_max:
                    limit = "memory"
                if limit:
                    break
                time.sleep(POLL_SECONDS)
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # Also what the child left running.
            except ProcessLookupError:
                pass
            child.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Ended(child.returncode, limit, *texts, time.monotonic() - start, peak)
