"""Studies through what can happen to them: farms and daemons that die, JSON, help.

usage: studies.py TUNER GOLDEN [--update] [CASE...]

GOLDEN holds the shape of each command's JSON; --update rewrites it.
"""

import json
import os
import sys
import threading
import time

import numpy as np

from harness import LONG_S, run_cases

EX_UNAVAILABLE = 69
EX_NOPERM = 77
EX_CONFIG = 78
TASK = "matmul:m=192,n=192,k=192"  # Of many schedules: a study ends by its budget.
# Shapes of values whose content is data or chance, by key.
GIVEN_SHAPES = {
    # Objects whose keys are data.
    "failures": "{}", "layer_types": "{}", "input_shapes": "{}",
    # A slot has one, or none by now.
    "job": "null|text",
    # Null where no trial was better than the default alone, which is the machine's to say.
    "network_ratio": "null|number",
    # Empty where the times of a study's few records follow no decision, and where the model knows of
    # no loss on this machine: //tuner/cli:explain_text_test holds their content.
    "decides": "[]", "findings": "[]",
}


def shape_of(value):
    """The value with its types in the place of its content."""
    if isinstance(value, dict):
        return {key: GIVEN_SHAPES.get(key) or shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [merge(shape_of(item) for item in value)] if value else []
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else "text"


def merge(shapes):
    """One shape for the elements of a list."""
    merged = None
    for shape in shapes:
        if merged is None or merged == shape:
            merged = shape
        elif isinstance(merged, dict) and isinstance(shape, dict):
            merged = {key: merge(s[key] for s in (merged, shape) if key in s)
                      for key in merged | shape}
        else:
            names = set(str(merged).split("|")) | set(str(shape).split("|"))
            merged = "|".join(sorted(names))
    return merged


class Cases:
    def __init__(self, programs, folder, golden, update):
        self.programs, self.folder = programs, folder
        self.tuner = programs.run
        self.golden, self.update = golden, update
        self.sockets = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def new_socket(self):
        self.sockets += 1
        return "unix:" + self.path(f"s{self.sockets}")

    def worker_of(self, tracker, name, **options):
        """A builder and a runner in one. In the end it waits a second for somebody to take its results,
        and not the minute that is usual: tuners and trackers here are gone by then."""
        return self.programs.worker_of(tracker, "--build", "1", "--run", "cpu", "--id", name,
                                       "--lock-folder", self.folder, "--drain-seconds", "1", **options)

    def studies(self, *flags):
        outcome = self.tuner("list", "--json", *flags)
        # The first submit has not made the database yet.
        return [] if outcome.error == "B0510" else json.loads(outcome.out)["studies"]

    def status(self, study, *flags):
        return json.loads(self.tuner("status", study, "--json", *flags).out)

    def until(self, study, condition, *flags):
        """Asks for the study's status until the condition holds; the last status."""
        deadline = time.monotonic() + LONG_S
        while True:
            status = self.status(study, *flags)
            if condition(status) or time.monotonic() > deadline:
                return status
            time.sleep(0.1)

    def whole(self, study, trials, *flags):
        """What is not as it should be with a study that is done."""
        status = self.status(study, *flags)
        wrong = [] if status["state"] == "done" else [f"state {status['state']}"]
        if status["trials"] != trials:
            wrong.append(f"{status['trials']} trials, want {trials}")
        return wrong

    def submit_in_background(self, *flags):
        """A submit, and where its outcome will be."""
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(
            self.tuner("submit", "--task", TASK, *flags)))
        thread.start()
        return thread, outcome

    def first_study(self, *flags):
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            if found := self.studies(*flags):
                return found[0]["study"]
            time.sleep(0.1)
        raise AssertionError("no study appeared")

    # ---- The farm

    def case_tracker_that_dies_and_stays_away(self):
        database, address = ("--db", self.path("dies.db")), self.new_socket()
        with self.programs.daemon(self.programs.tracker, "--listen", address) as tracker:
            with self.worker_of(address, "dies/worker"):
                thread, outcome = self.submit_in_background("--trials", "40", *database, "--tracker",
                                                            address, "--patience", "2")
                study = self.first_study(*database)
                self.until(study, lambda s: s["trials"] > 0, *database)
                tracker.kill()
                thread.join()
                wrong = outcome[0].complaints(EX_UNAVAILABLE, "B0701", f"tuner resume {study}")
                before = self.status(study, *database)
                if before["state"] != "interrupted":
                    wrong.append(f"state {before['state']}, want interrupted")
                with self.programs.daemon(self.programs.tracker, "--listen", address):
                    wrong += self.tuner("resume", study, *database, "--tracker",
                                        address).complaints(0, "")
        return wrong + self.whole(study, 40, *database)

    def case_tracker_that_dies_and_comes_back(self):
        database, address = ("--db", self.path("back.db")), self.new_socket()
        with self.programs.daemon(self.programs.tracker, "--listen", address) as tracker:
            with self.worker_of(address, "back/worker"):
                thread, outcome = self.submit_in_background("--trials", "40", *database, "--tracker",
                                                            address)
                study = self.first_study(*database)
                self.until(study, lambda s: s["trials"] > 0, *database)
                tracker.kill()
                with self.programs.daemon(self.programs.tracker, "--listen", address):
                    thread.join()
        return outcome[0].complaints(0, "") + self.whole(study, 40, *database)

    # ---- The daemon

    def serve(self, database, *flags):
        return self.programs.daemon(self.programs.tuner, "serve", "--listen", self.new_socket(),
                                    "--db", database, *flags)

    def case_daemon_runs_studies_of_many_clients(self):
        bundle = self.path("served.bundle")
        with self.serve(self.path("served.db")) as daemon:
            server = ("--server", daemon.address)
            detached = self.tuner("submit", "--task", "softmax:m=4,n=64", "--trials", "4",
                                  "--detach", *server)
            wrong = detached.complaints(0, "")
            waits = self.tuner("submit", "--task", TASK, "--trials", "8", "--out", bundle, *server)
            wrong += waits.complaints(0, "") + self.whole(waits.study(), 8, *server)
            wrong += self.tuner("watch", detached.study(), *server).complaints(0, "")
            wrong += self.whole(detached.study(), 4, *server)
            if len(self.studies(*server)) != 2:
                wrong.append("not two studies in the list")
            wrong += self.tuner("compile", "--task", TASK, "--require-tuned", "--out",
                                self.path("again.bundle"), *server).complaints(0, "")
            asked = self.tuner("query", "--task", TASK, "--json", *server)
            wrong += asked.complaints(0, "")
            if asked.out != self.tuner("query", "--task", TASK, "--json", "--db",
                                       self.path("served.db")).out:
                wrong.append("query: the daemon and its database answer differently")
            by_variable = self.tuner("query", environment={"BURNISH_SERVER": daemon.address})
            wrong += by_variable.complaints(0, "")
            wrong += self.tuner("query", "--task", "nobody", *server).complaints(66, "B0603",
                                                                                daemon.address)
            wrong += self.tuner("resume", waits.study(), *server).complaints(65, "B0602", "done")
            wrong += self.tuner("status", "2001", *server).complaints(66, "B0601", "2001")
            wrong += self.tuner("submit", "--task", TASK, "--detach", "--out", bundle,
                                *server).complaints(64, "B0101", "tuner compile")
        return wrong + self.tuner("bench", bundle, "--seconds", "0.1").complaints(0, "")

    def case_long_name_of_the_temporary_folder_does_no_harm(self):
        # Longer than the address of a unix socket may be.
        folder = self.path("long" * 30)
        os.makedirs(folder)
        outcome = self.tuner("submit", "--task", "softmax:m=4,n=64", "--trials", "1", "--db",
                             self.path("long.db"), environment={"TMPDIR": folder})
        return outcome.complaints(0, "")

    def case_daemon_takes_a_model_file(self):
        import onnx
        from onnx import helper, numpy_helper
        weights = [numpy_helper.from_array(np.full((600, 600), 0.5, np.float32), "w"),
                   numpy_helper.from_array(np.full((600, 64), 0.25, np.float32), "v")]
        # Two tasks: a model, which is measured as one in the end.
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("MatMul", ["h", "v"], ["y"])]
        graph = helper.make_graph(nodes, "test",
                                  [helper.make_tensor_value_info("x", 1, [1, 600])],
                                  [helper.make_tensor_value_info("y", 1, [1, 64])], weights)
        model, bundle = self.path("sent.onnx"), self.path("sent.bundle")
        onnx.save(helper.make_model(graph, ir_version=8,
                                    opset_imports=[helper.make_opsetid("", 17)]), model)
        with self.serve(self.path("sent.db")) as daemon:
            outcome = self.tuner("submit", "--model", model, "--trials", "32", "--out", bundle,
                                 "--server", daemon.address, "--json")
            wrong = outcome.complaints(0, "")
            events = [json.loads(line) for line in outcome.out.splitlines()]
            refine = [event["refine"] for event in events if event["event"] == "tuned"]
            if not refine or refine[0]["error"] is not None or refine[0]["processes"] < 1:
                wrong.append(f"got refine {refine}, want at least one process and no error")
        with self.serve(self.path("sent.db"), "--model-mib", "1") as daemon:
            wrong += self.tuner("query", "--model", model, "--server",
                                daemon.address).complaints(0, "")
            wrong += self.tuner("submit", "--model", model, "--trials", "4", "--server",
                                daemon.address).complaints(65, "B0304", "1 MiB")
        np.save(self.path("x.npy"), np.ones((1, 600), np.float32))
        wrong += self.tuner("run", bundle, "--input", self.path("x.npy"), "--output",
                            self.path("y.npy")).complaints(0, "")
        if not np.allclose(np.load(self.path("y.npy")), 300 * 600 / 4):
            wrong.append("wrong result")
        return wrong

    def case_daemon_that_is_stopped_or_killed_goes_on_afterwards(self):
        database, wrong = self.path("killed.db"), []
        with self.serve(database) as daemon:
            study = self.tuner("submit", "--task", TASK, "--trials", "40", "--detach", "--server",
                               daemon.address).study()
            server = ("--server", daemon.address)
            self.until(study, lambda s: s["trials"] > 0, *server)
            daemon.terminate()
            if daemon.wait(LONG_S) != 0:
                wrong.append(f"exit code {daemon.returncode} after SIGTERM")
        state = self.status(study, "--db", database)["state"]
        if state != "queued":
            wrong.append(f"state {state} after SIGTERM, want queued")
        with self.serve(database) as daemon:
            server = ("--server", daemon.address)
            before = self.status(study, *server)["trials"]
            self.until(study, lambda s: s["trials"] > before, *server)
            daemon.kill()
            daemon.wait()
        with self.serve(database) as daemon:
            server = ("--server", daemon.address)
            wrong += self.tuner("watch", study, *server).complaints(0, "")
            wrong += self.whole(study, 40, *server)
        return wrong

    def case_study_is_cancelled_at_the_daemon(self):
        with self.serve(self.path("cancelled.db")) as daemon:
            server = ("--server", daemon.address)
            study = self.tuner("submit", "--task", TASK, "--trials", "5000", "--detach",
                               *server).study()
            self.until(study, lambda s: s["trials"] > 0, *server)
            # Of another user, who may look at it.
            stranger = {"HOME": self.path("stranger")}
            wrong = []
            for command in ("cancel", "resume", "retry"):
                refused = self.tuner(command, study, *server, environment=stranger)
                wrong += refused.complaints(EX_NOPERM, "B0608", "another client", study)
            wrong += self.tuner("status", study, *server, environment=stranger).complaints(0, "")
            unreadable = {"BURNISH_CLIENT_SECRET": "not hexadecimal"}
            wrong += self.tuner("cancel", study, *server, environment=unreadable).complaints(
                EX_CONFIG, "B0102", "BURNISH_CLIENT_SECRET")
            wrong += self.tuner("cancel", study, *server).complaints(0, "")
            wrong += self.tuner("watch", study, *server).complaints(0, "")
            state = self.status(study, *server)["state"]
        return wrong + ([] if state == "cancelled" else [f"state {state}"])

    def until_logged(self, log, text):
        """Until the file has the text; its study ends a moment after it was cancelled."""
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            with open(log, encoding="utf-8") as file:
                if text in file.read():
                    return
            time.sleep(0.1)

    def case_daemons_log_what_happens_to_workers_and_studies(self):
        address, name = self.new_socket(), "logged\x1b[2J/worker"
        logs = {who: self.path(f"{who}.log") for who in ("tracker", "worker", "tuner")}
        farm = ("--tracker", address)
        with self.programs.daemon(self.programs.tracker, "--listen", address, log=logs["tracker"]):
            with self.worker_of(address, name, log=logs["worker"]), self.programs.daemon(
                    self.programs.tuner, "serve", "--listen", self.new_socket(), "--db",
                    self.path("logged.db"), *farm, log=logs["tuner"]) as daemon:
                server = ("--server", daemon.address)
                study = self.tuner("submit", "--task", TASK, "--trials", "4", *server).study()
                wrong = self.whole(study, 4, *server)
                for action in ("drain", "undrain"):
                    wrong += self.tuner("workers", action, name, *farm).complaints(0, "")
                    time.sleep(1)  # Until the worker has been told.
                long = self.tuner("submit", "--task", TASK, "--trials", "5000", "--detach",
                                  *server).study()
                self.until(long, lambda s: s["trials"] > 0, *server)
                wrong += self.tuner("cancel", long, *server).complaints(0, "")
                self.until_logged(logs["tuner"], f"study {long} cancelled: ")
        said = {}
        for who, log in logs.items():
            with open(log, encoding="utf-8") as file:
                said[who] = file.read()
        escaped = name.replace("\x1b", "\\x1b")
        for who, texts in {
                "tracker": (f"worker {escaped} joined from ", "1x build", "1x run ",
                            f"worker {escaped} is drained", f"worker {escaped} takes jobs again",
                            f"worker {escaped} wants to go", "tuner "),
                "worker": ("has this worker, with 2 slots", "drained: the tracker gives no more jobs",
                           "no longer drained", "] left"),
                "tuner": (f"study {study} submitted: {TASK}, at most 4 trials", f"study {study} starts",
                          f"study {study} done (trials); 4 of 4 trials",
                          f"study {long} is cancelled by its client",
                          f"study {long} cancelled: ")}.items():
            wrong += [f"{who} does not say {text!r}: {said[who]}" for text in texts
                      if text not in said[who]]
            if "\x1b" in said[who]:
                wrong.append(f"control characters in the log of {who}")
        return wrong

    # ---- What is on record, used elsewhere

    def convolution(self, name, residual):
        """A file with a convolution and relu, with a residual before the relu where that is asked."""
        import onnx
        from onnx import helper, numpy_helper
        weights = np.random.default_rng(1).standard_normal((32, 16, 3, 3), np.float32)
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])]
        inputs = [helper.make_tensor_value_info("x", 1, [1, 16, 14, 14])]
        if residual:
            nodes.append(helper.make_node("Add", ["c", "r"], ["a"]))
            inputs.append(helper.make_tensor_value_info("r", 1, [1, 32, 14, 14]))
        nodes.append(helper.make_node("Relu", ["a" if residual else "c"], ["y"]))
        graph = helper.make_graph(nodes, "test", inputs,
                                  [helper.make_tensor_value_info("y", 1, [1, 32, 14, 14])],
                                  [numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, ir_version=8,
                                    opset_imports=[helper.make_opsetid("", 17)]), self.path(name))
        return self.path(name)

    def compiled(self, model, *flags):
        """The schedule of the model's convolution by what `compile` reports, and complaints."""
        outcome = self.tuner("compile", "--model", model, "--out", self.path("anchor.bundle"),
                             "--json", *flags)
        wrong = outcome.complaints(0, "")
        tasks = json.loads(outcome.out)["tasks"] if not wrong else []
        return [t["schedule"] for t in tasks if "conv" in t["name"]], wrong

    def case_what_was_tuned_with_relu_serves_the_convolution_with_a_residual(self):
        import reference
        database, plain = self.path("anchor.db"), self.convolution("plain.onnx", residual=False)
        residual = self.convolution("residual.onnx", residual=True)
        wrong = self.tuner("submit", "--model", plain, "--trials", "12", "--accuracy", "strict",
                           "--db", database).complaints(0, "")
        for want, model, flags in (("tuned", plain, ("--db", database)),
                                   ("default", residual, ("--db", self.path("no.db"))),
                                   ("same-anchor", residual, ("--db", database))):
            got, complaints = self.compiled(model, *flags, "--accuracy", "strict")
            wrong += complaints
            if got != [want]:
                wrong.append(f"{os.path.basename(model)} {flags}: got {got}, want {want}")
        with self.serve(database) as daemon:
            got, complaints = self.compiled(residual, "--server", daemon.address,
                                            "--accuracy", "strict")
            wrong += complaints
            if got != ["same-anchor"]:
                wrong.append(f"asked of the daemon: got {got}, want same-anchor")
        # The trace that was found for another `finish` computes this one.
        rng = np.random.default_rng(2)
        inputs = [rng.standard_normal(shape, np.float32)
                  for shape in ((1, 16, 14, 14), (1, 32, 14, 14))]
        for name, value in zip("xr", inputs):
            np.save(self.path(f"{name}.npy"), value)
        wrong += self.tuner("run", self.path("anchor.bundle"), "--input",
                            f"x={self.path('x.npy')}", "--input", f"r={self.path('r.npy')}",
                            "--output", self.path("y.npy")).complaints(0, "")
        with open(residual, "rb") as file:
            want = reference.run(file.read(), [inputs])[0][0]
        error = np.abs(np.load(self.path("y.npy")) - want).max() / np.abs(want).max()
        return wrong + ([] if error <= 1e-4 else [f"error {error:.2g}"])

    # ---- What commands print

    def case_what_is_tuned_for_a_range_has_kernels_for_its_bounds(self):
        """A study's bundle is the one that `compile` makes of its records, and more than one bound's."""
        import onnx
        from onnx import helper, numpy_helper
        weights = np.random.default_rng(3).standard_normal((24, 40)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "rows",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", 24])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
            [numpy_helper.from_array(weights, "w")])
        source, tuned, again = (self.path(name) for name in ("rows.onnx", "rows.bundle", "again.bundle"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  source)
        model = ("--model", source, "--dim", "rows=1..64", "--threads", "1", "--db", self.path("rows.db"))
        wrong = self.tuner("submit", *model, "--trials", "2", "--out", tuned).complaints(0, "")
        wrong += self.tuner("compile", *model, "--out", again).complaints(0, "")
        if wrong:
            return wrong
        with open(tuned, "rb") as first, open(again, "rb") as second:
            bundle = first.read()
            if bundle != second.read():
                wrong.append("compile builds another bundle from the study's records")
        # Each bound has a manifest, which names the target.
        if (count := bundle.count(b"cpu:arch=")) < 4:
            wrong.append(f"{count} manifests, want those of 16, 32, 48 and 64 rows")
        return wrong

    def case_help_of_every_command_has_an_example(self):
        commands = self.programs.commands()
        wrong = [] if len(commands) >= 13 else [f"only {commands} in the overview"]
        slowest = 0
        for command in commands:
            start = time.monotonic()
            outcome = self.tuner(command, "--help")
            slowest = max(slowest, time.monotonic() - start)
            wrong += outcome.complaints(0, "")
            if f"tuner {command}" not in outcome.out.split("Example:")[-1]:
                wrong.append(f"no example of {command}")
        print(f"slowest --help: {1000 * slowest:.0f} ms")
        return wrong

    def json_outputs(self):
        """Lines of JSON by what was asked."""
        database, bundle = ("--db", self.path("json.db")), self.path("json.bundle")
        model = ("--task", TASK)
        lines = {}

        def take(name, *arguments):
            outcome = self.tuner(*arguments, "--json")
            assert outcome.code == 0 or name == "doctor", outcome.err
            for line in outcome.out.splitlines():
                value = json.loads(line)
                key = f"{name} {value['event']}" if "event" in value else name
                lines.setdefault(key, []).append(value)
            return lines

        take("submit", "submit", *model, "--trials", "4", *database, "--out", bundle)
        take("submit --dry-run", "submit", *model, "--trials", "4", *database, "--dry-run")
        address = self.new_socket()
        with self.programs.daemon(self.programs.tracker, "--listen", address):
            self.tuner("submit", *model, "--trials", "8", *database, "--tracker", address,
                       "--patience", "1")
            take("workers", "workers", "--tracker", address)
            with self.worker_of(address, "json/worker"):
                deadline = time.monotonic() + LONG_S
                while not lines["workers"][-1]["workers"] and time.monotonic() < deadline:
                    take("workers", "workers", "--tracker", address)
                take("describe WORKER", "describe", "json/work", *database, "--tracker", address)
        study = self.studies(*database)[0]["study"]
        take("resume", "resume", study, *database, "--out", bundle)
        take("status", "status", study, *database)
        take("describe STUDY", "describe", study, *database)
        take("failures", "failures", study, *database)
        take("watch", "watch", study, *database)
        take("list", "list", *database)
        take("query", "query", *database, "--trace")
        # The first of its tasks by hash: one name may stand for several.
        take("explain", "explain", lines["query"][-1]["records"][0]["trial"], *database)
        take("compile", "compile", *model, *database, "--out", bundle)
        os.mkdir(self.path("examples"))
        np.save(self.path("examples/x0.npy"), np.resize(np.float32([1, -2, 3]), (12, 16)))
        take("quantize", "quantize", "--task", "dense:k=16,m=16", "--data", self.path("examples"),
             "--out", self.path("int8.onnx"))
        take("bench", "bench", bundle, "--seconds", "0.1")
        take("bench --sessions", "bench", bundle, "--seconds", "0.1", "--sessions", "2")
        take("bench --profile", "bench", bundle, "--seconds", "0.1", "--profile")
        take("run --info", "run", bundle, "--info")
        take("config show", "config", "show")
        take("doctor", "doctor", *database)
        with self.programs.daemon(self.programs.tracker, "--listen", address):
            cancelled = self.tuner("submit", *model, "--trials", "9", *database, "--tracker",
                                   address, "--patience", "1").study()
        take("cancel", "cancel", cancelled, *database)
        with self.programs.daemon(self.programs.tuner, "serve", "--listen", self.new_socket(),
                                  "--json", *database) as daemon:
            lines["serve"] = [json.loads(daemon.address)]
        return lines

    def case_json_keeps_its_shape(self):
        lines = self.json_outputs()
        wrong = [f"{name}: no schema" for name, values in lines.items()
                 if any("schema" not in value for value in values)]
        text = json.dumps({name: merge(shape_of(value) for value in values)
                           for name, values in sorted(lines.items())}, indent=1) + "\n"
        if self.update:
            with open(self.golden, "w", encoding="utf-8") as file:
                file.write(text)
        with open(self.golden, encoding="utf-8") as file:
            want = file.read()
        if text != want:
            got_lines, want_lines = text.splitlines(), want.splitlines()
            wrong += [f"new: {line}" for line in got_lines if line not in want_lines][:20]
            wrong += [f"gone: {line}" for line in want_lines if line not in got_lines][:20]
            wrong.append("./dev golden rewrites what is expected")
        return wrong


def main(arguments):
    tuner, golden, *names = arguments
    update = "--update" in names
    names = [name for name in names if name != "--update"]
    if update:
        names = ["json_keeps_its_shape"]
    return run_cases("studies", tuner, names,
                     lambda programs, folder: Cases(programs, folder, golden, update))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
