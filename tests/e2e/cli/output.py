"""What the built `tuner` prints: where it cannot be written, and how wide it is.

usage: output.py TUNER [CASE...]
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios

import numpy as np

from harness import LONG_S, run_cases

EX_IOERR = 74
BROKEN_PIPE = (-13, 141)  # By the signal, or as a shell tells it where the signal is ignored.
TASK = ("--task", "matmul:m=16,n=16,k=16")


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.tuner = programs.run
        self.bundle = self.path("good.bundle")
        self.database = ("--db", self.path("good.db"))
        outcome = self.tuner("submit", *TASK, "--trials", "2", *self.database, "--out", self.bundle)
        assert outcome.code == 0, outcome.err
        self.study = outcome.study()
        found = json.loads(self.tuner("query", *self.database, "--json").out)["records"]
        self.trial = found[0]["trial"]
        os.mkdir(self.path("examples"))
        np.save(self.path("examples/x0.npy"), np.resize(np.float32([1, -2, 3]), (12, 16)))
        self.quantization = ("--task", "dense:k=16,m=16", "--data", self.path("examples"), "--out",
                             self.path("int8.onnx"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def printing(self):
        """Lines that print, by command: every command of the program has one."""
        made = ("--out", self.path("made.bundle"))
        return {
            "submit": [("submit", *TASK, "--trials", "1", "--db", self.path("other.db")),
                       ("submit", *TASK, "--trials", "1", "--db", self.path("other.db"), "--json"),
                       ("submit", *TASK, "--dry-run", *self.database),
                       ("submit", *TASK, "--dry-run", "--json", *self.database)],
            "resume": [("resume", "--help")],  # No study is left to resume.
            "retry": [("retry", "--help")],    # Nor one whose candidates are parked.
            "cancel": [("cancel", "--help")],
            "compile": [("compile", *TASK, *self.database, *made), ("compile", "--passes", "list"),
                        ("compile", "--passes", "list", "--json"),
                        ("compile", *TASK, "--dump-graph-after", "simplify"),
                        ("compile", *TASK, *self.database, *made, "--verbose"),
                        ("compile", *TASK, *self.database, *made, "--json"),
                        ("compile", *TASK, *self.database, "--emit", "ir"),
                        ("compile", *TASK, *self.database, "--emit", "onnx"),
                        ("compile", *TASK, *self.database, "--emit", "sketches")],
            "quantize": [("quantize", *self.quantization),
                         ("quantize", *self.quantization, "--json")],
            "run": [("run", self.bundle, "--info"), ("run", self.bundle, "--info", "--json")],
            "serve": [("serve", "--listen", f"unix:{self.path('s')}", *self.database)],
            "bench": [("bench", self.bundle, "--seconds", "0.05"),
                      ("bench", self.bundle, "--seconds", "0.05", "--json"),
                      ("bench", self.bundle, "--seconds", "0.05", "--profile")],
            "compare": [("compare", self.bundle, self.bundle, "--seconds", "0.05"),
                        ("compare", self.bundle, self.bundle, "--seconds", "0.05", "--json"),
                        ("compare", self.study, self.study, *self.database),
                        ("compare", self.study, self.study, *self.database, "--json")],
            "query": [("query", *self.database), ("query", *self.database, "--json"),
                      ("query", *self.database, "--trace")],
            "explain": [("explain", self.trial, *self.database),
                        ("explain", self.trial, *self.database, "--json")],
            "list": [("list", *self.database), ("list", *self.database, "--json")],
            "status": [("status", *self.database), ("status", *self.database, "--json")],
            "describe": [("describe", self.study, *self.database),
                         ("describe", self.study, *self.database, "--json")],
            "failures": [("failures", self.study, *self.database),
                         ("failures", self.study, *self.database, "--json")],
            "watch": [("watch", self.study, *self.database),
                      ("watch", self.study, *self.database, "--json")],
            "workers": [("workers", "--help")],
            "doctor": [("doctor", "--help")],
            "config": [("config", "show"), ("config", "show", "--json")],
            "version": [("version",), ("version", "--json")],
            "completion": [("completion", "bash"), ("completion", "fish"), ("completion", "zsh")],
            "help": [("help",), ("help", "submit")],
        }

    def case_output_that_cannot_be_written_is_an_error(self):
        lines, commands = self.printing(), self.programs.commands()
        wrong = [f"no line of {name} is tried" for name in commands if name not in lines]
        lines["every command"] = [(name, "--help") for name in commands]
        lines["the program"] = [("--help",), ("--version",)]
        with open("/dev/full", "wb") as full:
            for arguments in (line for tried in lines.values() for line in tried):
                outcome = self.tuner(*arguments, stdout=full)
                wrong += outcome.complaints(EX_IOERR, "B0907", "No space left on device")
        return wrong

    def case_ctrl_c_is_answered_before_the_end(self):
        process = subprocess.Popen(
            [self.programs.tuner, "submit", "--task", "conv2d:h=28,ci=64,co=64,k=3,p=1", "--trials", "100000",
             "--db", self.path("stopped.db"), "--out", self.path("stopped.bundle")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.programs.environment)
        process.stdout.readline()  # The study's id: it runs.
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=LONG_S)[1].decode()
        answered = 0 <= err.find("stopping ..") < err.find("error[B0905]")
        return [] if answered else [f"exit code {process.returncode}", *err.splitlines()]

    def case_help_of_many_options_is_in_groups(self):
        wrong = []
        for command in self.programs.commands():
            text = self.tuner(command, "--help").out.split("\nExample:")[0]
            groups = dict(re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", text, re.MULTILINE))
            listed = {title: re.findall(r"^  (?:-h,)?(--[\w-]+)", body, re.MULTILINE)
                      for title, body in groups.items()}
            every = sum(listed.values(), [])
            if len(every) != len(set(every)):
                wrong.append(f"{command}: an option is there twice: {listed}")
            biggest = max(map(len, listed.values()))
            if biggest > 12:
                wrong.append(f"{command}: {biggest} options without a heading of their own")
            if len(every) > 12 and "Options" in listed:
                wrong.append(f"{command}: options in no group: {listed['Options']}")
        told = self.tuner("submit", "--help").out
        wrong += [f"submit has no group {title}" for title in
                  ("What to tune", "How long", "How to search", "How exact", "Where", "Output")
                  if f"\n{title}:\n" not in told]
        return wrong

    def case_help_and_version_are_commands_too(self):
        wrong = []
        for command, option in ((("help",), ("--help",)), (("help", "list"), ("list", "--help")),
                                (("version",), ("--version",)),
                                (("version", "--json"), ("--version", "--json"))):
            said, wanted = self.tuner(*command), self.tuner(*option)
            wrong += said.complaints(0, "")
            if said.out != wanted.out or not said.out:
                wrong.append(f"{command}: {said.out[:200]}")
        wrong += self.tuner("help", "lsit").complaints(64, "B0101", "lsit", "did you mean list")
        return wrong + self.tuner("completion", "tcsh").complaints(64, "B0101", "tcsh")

    def completed(self, *words, **environment):
        """What is offered for the last of `words`, without an error."""
        outcome = self.tuner("__complete", *words, environment=environment)
        assert outcome.code == 0 and not outcome.err, f"{words}: {outcome.code} {outcome.err}"
        return outcome.out.split()

    def case_completion_knows_values_and_studies(self):
        wrong = []
        for words, wanted in ((("submit", "--task", "res"), ["resnet18", "resnet50"]),
                              (("submit", "--scheduler=auto"), ["--scheduler=auto_scheduler"]),
                              (("submit", "--precision", "b"), ["bf16"]),
                              (("compile", "--emit", "l"), ["lowered", "llvm"]),
                              (("list", "--js"), ["--json"]), (("help", "wo"), ["workers"]),
                              (("completion", "z"), ["zsh"]), (("list", "--log-level", "w"), ["warning"]),
                              (("status", *self.database, ""), [self.study]),
                              (("describe", *self.database, self.study[:4]), [self.study]),
                              (("compile", *self.database, "--study", ""), [self.study]),
                              (("status", self.study[:2]), []), (("nothing", ""), []),
                              (("status", "--db", self.path("no.db"), ""), [])):
            found = self.completed(*words)
            if found != wanted:
                wrong.append(f"{words}: {found}")
        if (found := self.completed("cancel", "", BURNISH_DB=self.database[1])) != [self.study]:
            wrong.append(f"by the environment: {found}")
        if os.path.exists(self.path("no.db")):
            wrong.append("completion made a database")
        with socket.create_server(("127.0.0.1", 0)) as silent:  # Accepts, and never answers.
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            if found := self.completed("status", "--server", address, ""):
                wrong.append(f"studies of nobody: {found}")
        return wrong

    def case_bash_completes(self):
        """With the script, in bash itself."""
        script = """
            eval "$("$TUNER" completion bash)"
            COMP_WORDS=("$TUNER" "$@") COMP_CWORD=$#
            _tuner && printf '%s\\n' "${COMPREPLY[@]}"
        """
        wrong = []
        for words, wanted in ((["compile", "--targ"], ["--target"]),
                              (["submit", "--task", "=", "res"], ["resnet18", "resnet50"]),
                              (["watch", *self.database, self.study[:3]], [self.study])):
            done = subprocess.run(["bash", "-c", script, "bash", *words], text=True,
                                  capture_output=True, check=False,
                                  env=self.programs.environment | {"TUNER": self.programs.tuner})
            if done.stdout.split() != wanted or done.stderr:
                wrong.append(f"{words}: {done.stdout} {done.stderr}")
        return wrong

    def case_tables_fit_the_terminal(self):
        wrong = []
        for arguments in (("query", *self.database), ("list", *self.database), ("doctor",),
                          ("explain", self.trial, *self.database),
                          ("status", *self.database), ("describe", self.study, *self.database),
                          ("failures", self.study, *self.database),
                          ("compile", *TASK, *self.database, "--out", self.path("made.bundle"),
                           "--verbose"),
                          ("bench", self.bundle, "--seconds", "0.05", "--profile")):
            printed = self.tuner(*arguments, environment={"COLUMNS": "100"}).out.splitlines()
            # A study's target is a text to copy, and no table; nor are sentences, which wrap.
            wrong += [f"{arguments}: {line}" for line in printed
                      if len(line) > 100 and not line.startswith(("target ", "wrote ", "next: "))]
        whole = self.tuner("query", *self.database).out
        if "…" in whole or "cpu:arch=" not in whole:
            wrong.append(f"cut in a pipe: {whole}")
        return wrong

    def case_list_says_how_studies_stand(self):
        listed = self.tuner("list", *self.database).out.splitlines()
        titles = listed[0].split()
        wrong = [] if titles == ["study", "of", "state", "trials", "best", "gain", "age",
                                 "owner"] else [listed[0]]
        study = json.loads(self.tuner("list", *self.database, "--json").out)["studies"][0]
        if study["trials"] != 2 or study["owner"] is not None or not study["best_ms"] > 0:
            wrong.append(str(study))
        shown = re.search(rf"^{self.study}  .* done +2 +\S+ [num]?s +(\S+) +\d+ (?:s|min|h)  -",
                          listed[1])
        gain = "-" if study["gain"] is None else f"{study['gain']:.2f}x"
        return wrong if shown and shown.group(1) == gain else wrong + listed + [gain]

    def on_terminal(self, columns, *arguments, **environment):
        """What a terminal of so many columns gets."""
        terminal, ours = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        outcome = self.tuner(*arguments, stdout=ours, environment=environment)
        os.close(ours)
        text = b""
        try:
            while chunk := os.read(terminal, 1 << 16):
                text += chunk
        except OSError:  # EIO: nobody has the other end any more.
            pass
        os.close(terminal)
        return text.decode(), outcome.complaints(0, "")

    def case_color_is_for_terminals_that_want_it(self):
        shutil.copy(self.path("good.db"), self.path("failed.db"))
        wrong = []
        with contextlib.closing(sqlite3.connect(self.path("failed.db"))) as database:
            database.execute("UPDATE study SET state=5, detail='network: 20.0 % faster than with default schedules'")
            database.commit()
        line = ("list", "--db", self.path("failed.db"))
        colored, complaints = self.on_terminal(120, *line)
        wrong += complaints
        for text in ("\x1b[31mfailed\x1b[0m", "\x1b[32m1.25x\x1b[0m"):
            if text not in colored:
                wrong.append(f"{text!r} is not in {colored!r}")
        for plain in (self.on_terminal(120, *line, NO_COLOR="1")[0], self.tuner(*line).out):
            if "\x1b" in plain or "1.25x" not in plain:
                wrong.append(repr(plain))
        return wrong

    def case_narrow_terminal_and_ascii_locale(self):
        wrong = []
        for line in (("list", *self.database), ("describe", self.study, *self.database),
                     ("compile", *TASK, *self.database, "--out", self.path("made.bundle"), "--verbose"),
                     ("explain", self.trial, *self.database)):
            text, complaints = self.on_terminal(20, *line, LC_ALL="C", NO_COLOR="1")
            wrong += complaints
            if not text.isascii():
                wrong.append(f"{line}: not ASCII: {text}")
            if line[0] in ("list", "describe") and self.study not in text:
                wrong.append(f"{line}: the id is cut: {text}")
        return wrong

    def case_description_is_whole_or_says_what_is_missing(self):
        text = self.tuner("describe", self.study[:-1], *self.database).out
        wrong = [f"no section {title}" for title in ("Study", "Run", "Specification", "Failures")
                 if f"{title}\n" not in text]
        told = json.loads(self.tuner("describe", self.study, *self.database, "--json").out)
        if told["kind"] != "study" or told["specification"]["task"] != TASK[1] or told["groups"] != []:
            wrong.append(str(told))
        wrong += self.tuner("describe", "nobody", *self.database).complaints(66, "B0601", "--tracker")
        wrong += self.tuner("describe", "", *self.database).complaints(64, "B0101")
        wrong += self.tuner("describe", "nobody", *self.database, "--tracker",
                            f"unix:{self.path('nobody')}").complaints(69, "B0701")
        return wrong

    def case_explanation_has_the_code_and_names_a_step(self):
        steps = json.loads(self.tuner("bench", self.bundle, "--seconds", "0.05", "--profile",
                                      "--json").out)["steps"]
        wrong = []
        for index, step in enumerate(steps):
            for name in (str(index), step["name"]):
                outcome = self.tuner("explain", self.bundle, "--step", name, *self.database, "--json")
                wrong += outcome.complaints(0, "")
                told = json.loads(outcome.out or "{}")
                loop = (told.get("code") or {}).get("hot_loop") or {}
                if loop.get("vector_registers", 0) < 1 or told.get("measured_ms", 0) <= 0:
                    wrong.append(f"{name}: {told}")
        wrong += self.tuner("explain", self.bundle, "--step", "nobody", *self.database).complaints(
            64, "B0101", "nobody")
        wrong += self.tuner("explain", "nobody", *self.database).complaints(66, "B0603", "nobody")
        wrong += self.tuner("explain", f"{self.study}/t0/99", *self.database).complaints(66, "B0603")
        return wrong

    def case_compile_says_what_how_fast_and_what_next(self):
        line = ("compile", *TASK, *self.database, "--out", self.path("said.bundle"))
        brief, verbose = self.tuner(*line).out, self.tuner(*line, "--verbose").out
        wanted = (r"wrote \S+: 1 steps, 1 kernels; 1 tuned; .*\n"
                  r"about [\d.]+ [num]s a run on \d+ threads? of \S+, by what its tasks were measured at\n"
                  r"next: `tuner bench \S+` times it, .*\n")
        wrong = [] if re.fullmatch(wanted, brief) else [brief]
        if not verbose.endswith(brief) or "tuned" not in verbose.removesuffix(brief):
            wrong.append(verbose)
        told = json.loads(self.tuner(*line, "--json").out)
        if told["expected_by"] != "measurements" or told["expected_ms"] != told["tasks"][0]["recorded_ms"]:
            wrong.append(str(told))
        wrong += self.tuner(*line, "--verbose", "--json").complaints(64, "B0101", "--verbose")
        fresh = self.tuner(*line[:3], "--db", self.path("nothing.db"), *line[-2:]).out
        return wrong if ", by the cost model\nnext: " in fresh and "tunes 1 task" in fresh else wrong + [fresh]

    def case_terminal_says_how_wide_tables_are(self):
        wrong = []
        for command in ("query", "list"):
            text, complaints = self.on_terminal(90, command, *self.database, NO_COLOR="1")
            wrong += complaints + [line for line in text.splitlines() if len(line) > 90]
        return wrong

    def case_version_as_json_has_all_parts(self):
        told = json.loads(self.tuner("--version", "--json").out)
        text = self.tuner("--version").out
        wrong = [f"{key} {told.get(key)} is not in {text}"
                 for key in ("version", "commit", "protocol", "llvm", "library_abi", "kernel_abi")
                 if not told.get(key) or str(told[key]) not in text]
        with open("compiler/runtime/burnish.map", encoding="utf-8") as file:
            nodes = re.findall(r"^(BURNISH_\d+) ", file.read(), re.MULTILINE)
        return wrong + ([] if nodes and told["library_abi"] == nodes[-1] else [f"nodes {nodes}"])

    def case_study_that_cannot_be_named_is_still_there(self):
        database = ("--db", self.path("unnamed.db"))
        with open("/dev/full", "wb") as full:
            outcome = self.tuner("submit", *TASK, "--trials", "1", *database, stdout=full)
        wrong = outcome.complaints(EX_IOERR, "B0907", "tuner resume ")
        study = outcome.hint.split("tuner resume ")[-1]
        return wrong + self.tuner("resume", study, *database).complaints(0, "")

    def case_reader_that_has_gone_is_no_news(self):
        wrong = []
        for arguments in (("--help",), ("list", *self.database), ("query", *self.database, "--json")):
            reader, writer = os.pipe()
            os.close(reader)
            for ignored in (False, True):
                command = [self.programs.tuner, *arguments]
                if ignored:  # As a service manager may have it.
                    command = ["/bin/sh", "-c", "trap '' PIPE; exec \"$0\" \"$@\"", *command]
                done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False,
                                      env=self.programs.environment)
                if done.returncode not in BROKEN_PIPE or done.stderr:
                    wrong.append(f"{arguments}: got {done.returncode}, {done.stderr}")
            os.close(writer)
        return wrong

    def case_closed_stdout_is_an_error_and_no_file_takes_its_place(self):
        before = self.tuner("list", *self.database).out
        line = 'exec "$0" "$@" >&-'
        done = subprocess.run(["/bin/sh", "-c", line, self.programs.tuner, "list", *self.database],
                              stderr=subprocess.PIPE, check=False, env=self.programs.environment)
        wrong = [] if done.returncode == EX_IOERR and b"B0204" in done.stderr else [str(done)]
        if self.tuner("list", *self.database).out != before:
            wrong.append("the database was written over")
        return wrong


if __name__ == "__main__":
    sys.exit(run_cases("output", sys.argv[1], sys.argv[2:], Cases))
