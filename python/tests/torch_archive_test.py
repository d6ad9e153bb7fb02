"""Files of torch.export.save that somebody else wrote: none runs code, or ends more than its conversion."""

import torch_harness

torch_harness.start(__file__)

import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import zipfile  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish._torch import archive, export  # noqa: E402
from torch_harness import raised  # noqa: E402

_folder = tempfile.TemporaryDirectory()
MARKER = os.path.join(_folder.name, "was here")


class Hostile:
    """Unpickled, it makes a file."""

    def __reduce__(self):
        return os.mkdir, (MARKER,)


class Model(nn.Module):
    """Weights that are tied, strided, of 16 bits, empty and no parameter."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.table = nn.Embedding(5, 4)
        self.table.weight = nn.Parameter(torch.randn(4, 5).t())
        self.last = nn.Linear(4, 5, bias=False)
        self.last.weight = self.table.weight
        self.register_buffer("shift", torch.ones(3, dtype=torch.bfloat16))
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.constant = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x, indices):
        y = torch.where(self.mask, self.first(x) + self.shift, self.constant)
        return y, self.last(self.table(indices))


def _program():
    with torch.no_grad():
        return torch.export.export(Model().eval(), (torch.randn(2, 4), torch.tensor([1, 2])))


def _saved(program):
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


PROGRAM = _program()
FILE = _saved(PROGRAM)


def pickled(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def changed(change, compression=zipfile.ZIP_STORED, names=lambda name: name):
    """The file, each entry as `change(name, data)` has it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(FILE)) as source, zipfile.ZipFile(buffer, "w", compression) as file:
        for entry in source.infolist():
            file.writestr(names(entry.filename), change(entry.filename, source.read(entry)))
    return buffer.getvalue()


def in_json(end, change):
    """A change of the entry whose name ends so."""
    def one(name, data):
        if not name.endswith(end):
            return data
        value = json.loads(data)
        change(value)
        return json.dumps(value).encode()
    return one


def with_text(old, new):
    return lambda name, data: data.replace(old.encode(), new.encode()) if name.endswith("models/model.json") else data


def load(data):
    return archive.load(io.BytesIO(data))


def refused(data, code, *texts):
    """By an error that says why; nothing was run."""
    error = raised(lambda: load(data), burnish.BurnishError, *texts)
    assert error.code == code and error.__notes__[0].startswith("hint: "), (error.code, error)
    assert not os.path.exists(MARKER), "the file ran code"


def chunks(graph):
    return b"".join(bytes(chunk) for chunk in graph._chunks())


def test_a_file_is_the_program_that_was_saved():
    want = chunks(export.graph_of(PROGRAM))
    assert chunks(export.graph_of(load(FILE))) == want
    path = os.path.join(_folder.name, "plain.pt2")
    with open(path, "wb") as file:
        file.write(FILE)
    assert chunks(burnish.from_torch(path)) == want
    raised(lambda: burnish.from_torch(path + "2"), burnish.BurnishError, "No such file")


def test_samples_are_left_out():
    samples = pickled(((Hostile(),), {}))
    hostile = changed(lambda name, data: samples if "sample_inputs" in name else data)
    assert chunks(export.graph_of(load(hostile))) == chunks(export.graph_of(PROGRAM))
    assert not os.path.exists(MARKER)
    torch.export.load(io.BytesIO(hostile))
    os.rmdir(MARKER)  # It is there: the file would have run code.


def test_what_would_run_code_is_refused():
    def pickle_weight(config):
        config["config"]["first.weight"]["use_pickle"] = True

    def pickle_constant(config):
        config["config"]["constant"]["path_name"] = "opaque_obj_0"

    weights = in_json("weights_config.json", pickle_weight)
    refused(changed(lambda name, data: pickled(Hostile()) if name.endswith("weight_0") else weights(name, data)), "B0302",
            "first.weight", "would run code")
    plain = changed(lambda name, data: pickled(torch.ones(3, 4)) if name.endswith("weight_0") else weights(name, data))
    assert torch.equal(load(plain).state_dict["first.weight"], torch.ones(3, 4))
    refused(changed(in_json("constants_config.json", pickle_constant)), "B0302", "would run code")
    for target in ("torch.os.system", "torch.ops.load_library", "torch.ops.aten.__class__.mro", "math.sin", "_operator.methodcaller",
                   "torch.load", "torch.ops.import_module.__call__.x", "os.system", "#namespace:name", ""):
        refused(changed(with_text("torch.ops.aten.linear.default", target)), "B0302", "is no operator")
    expression = json.dumps({"as_expr": {"expr_str": f"__import__('os').mkdir({MARKER!r})", "hint": None}})
    refused(changed(with_text('{"as_int": 2}', expression)), "B0302", "dynamic dimensions: x, indices")
    refused(changed(with_text('{"as_int": 3}', expression)), "B0302", "dynamic dimensions")


def test_damaged_archives():
    for bad in (b"", b"PK", FILE[:-1], FILE[: len(FILE) // 2], FILE[100:], FILE.replace(b"archive_format", b"archive_farmat")[:-30]):
        refused(bad, "B0301", "torch.export.save")
    refused(changed(lambda name, data: data, zipfile.ZIP_DEFLATED), "B0301", "compressed")  # Of which bombs are made.
    for names in (lambda name: name.replace("/data/weights/weight_0", "/../../weight_0"), lambda name: "/" + name,
                  lambda name: name.replace("/", "\\"), lambda name: name.split("/")[-1],
                  lambda name: "other/" + name if name.endswith("weight_0") else name):
        refused(changed(lambda name, data: data, names=names), "B0301")
    refused(changed(lambda name, data: data[:-4] if name.endswith("weight_0") else data), "B0301", "first.weight")

    def huge(config):
        meta = config["config"]["first.weight"]["tensor_meta"]
        meta["sizes"] = [{"as_int": 1 << 40}, {"as_int": 1 << 20}]

    def beyond(config):
        config["config"]["first.weight"]["tensor_meta"]["storage_offset"] = {"as_int": 4}

    def negative(config):
        config["config"]["first.weight"]["tensor_meta"]["strides"] = [{"as_int": -4}, {"as_int": 1}]

    for change in (huge, beyond, negative):
        refused(changed(in_json("weights_config.json", change)), "B0301", "first.weight")


def test_bytes_that_were_flipped():
    """Whatever they are, a program or an error of Burnish's."""
    rng, outcomes = random.Random(0), set()
    for _ in range(150):
        data = bytearray(FILE)
        for _ in range(rng.choice([1, 1, 4])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            load(bytes(data))
            outcomes.add("")
        except burnish.BurnishError as error:
            outcomes.add(error.code)
    assert outcomes <= {"", "B0301", "B0302"} and len(outcomes) > 1, outcomes


CONFINED = """
import os, sys
from burnish_runtime._burnish_runtime import confine
parent, folder, attempt = int(sys.argv[1]), sys.argv[2], sys.argv[3]
missing = confine(parent, [os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path], "/nowhere", 1 << 34, 60, 1 << 20)
print(missing, flush=True)
def open_socket():
    import socket
    socket.socket()
dict(write=lambda: open(os.path.join(folder, "written"), "w"), read=lambda: open(os.path.join(folder, "secret")).read(),
     run=lambda: os.system("true"), fork=os.fork, connect=open_socket,
     work=lambda: __import__("decimal"))[attempt]()
print("done")
"""


def test_the_child_can_harm_nothing():
    """Also where a file gets past all of this: what the child may do when it reads one."""
    with open(os.path.join(_folder.name, "secret"), "w", encoding="utf-8") as file:
        file.write("secret")

    def attempt(name):
        return subprocess.run([sys.executable, "-P", "-c", CONFINED, str(os.getpid()), _folder.name, name],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)

    works = attempt("work")
    assert works.returncode == 0 and "done" in works.stdout, works
    missing = works.stdout.splitlines()[0]
    for name in ("run", "fork", "connect"):
        assert "seccomp" in missing or "done" not in attempt(name).stdout, name
    for name in ("write", "read"):
        assert "Landlock" in missing or "done" not in attempt(name).stdout, name
    assert "Landlock" in missing or not os.path.exists(os.path.join(_folder.name, "written"))


torch_harness.run_cases(__name__)
