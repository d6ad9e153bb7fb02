"""The package as a user, a type checker and a wheel see it."""

import ast
import inspect
import os
import pydoc
import subprocess
import sys

import abi3info
from abi3info.models import PyVersion, Symbol

import burnish_runtime
from burnish_runtime import _burnish_runtime
import harness

FOLDER = os.path.dirname(burnish_runtime.__file__)
EXTENSION = _burnish_runtime.__file__
STUB = os.path.join(FOLDER, "_burnish_runtime.pyi")
SIZE_MAX = 2 << 20  # Of the whole package.
IS_SANITIZED = "LD_PRELOAD" in os.environ  # By run_test.sh: larger, and with libraries of its own.


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_public_names_are_there_and_documented():
    want = {"BurnishError", "Model", "TensorInfo", "Threads", "__version__", "empty", "load"}
    assert set(burnish_runtime.__all__) == want
    for name in want - {"__version__"}:
        value = getattr(burnish_runtime, name)
        assert value.__module__ in ("burnish_runtime", "burnish_runtime._burnish_runtime"), name
        assert value.__doc__ and len(value.__doc__.strip()) > 20, name
    sections = {
        burnish_runtime.load: ("Parameters", "Returns", "Raises"),
        burnish_runtime.empty: ("Parameters", "Returns", "Raises"),
        burnish_runtime.Model: ("Examples",),
        burnish_runtime.Model.run: ("Parameters", "Returns", "Raises"),
        burnish_runtime.Model.refit: ("Parameters", "Returns", "Raises"),
        burnish_runtime.Threads: ("Parameters", "Raises", "Examples"),
        burnish_runtime.BurnishError: ("Attributes",),
    }
    for value, titles in sections.items():
        text = inspect.getdoc(value)
        for title in titles:
            assert f"{title}\n{'-' * len(title)}\n" in text, (value, title)


def test_help_of_a_model_says_how_to_call_it():
    text = pydoc.plain(pydoc.render_doc(burnish_runtime.Model))
    for line in ("__call__(self, /, *inputs, **named_inputs)",
                 "run(self, /, *inputs, out=None, **named_inputs)", "refit(self, parameters, /)",
                 "inputs", "outputs", "parameters", "thread_count"):
        assert line in text, (line, text)
    assert max(map(len, text.splitlines())) <= 110


def test_version_is_the_programs():
    with open("base/version.h", encoding="utf-8") as header:
        assert f'"{burnish_runtime.__version__}"' in header.read()


def parameters_of(function):
    """(name, kind, has a default) each, of a callable without `self`."""
    signature = inspect.signature(function)
    return [(p.name, p.kind, p.default is not p.empty) for p in signature.parameters.values()
            if p.name not in ("self", "cls")]


def stub_parameters(function):
    """The same of a function of the stub."""
    kinds = inspect.Parameter
    arguments = function.args
    plain = ([(a, kinds.POSITIONAL_ONLY) for a in arguments.posonlyargs] +
             [(a, kinds.POSITIONAL_OR_KEYWORD) for a in arguments.args])
    without_default = len(plain) - len(arguments.defaults)
    found = [(a.arg, kind, i >= without_default) for i, (a, kind) in enumerate(plain)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, kinds.VAR_POSITIONAL, False))
    found += [(a.arg, kinds.KEYWORD_ONLY, default is not None)
              for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, kinds.VAR_KEYWORD, False))
    return [each for each in found if each[0] not in ("self", "cls")]


def own_names(cls):
    """What users see of a class of the extension, less what every class has."""
    hidden = {"__module__", "__doc__", "__new__", "__repr__"}
    return {name for name in vars(cls) if name not in hidden}


def test_stub_has_what_the_extension_has():
    with open(STUB, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    public = {name for name in vars(_burnish_runtime) if not name.startswith("_")}
    assert public == set(functions) | set(classes), (public, functions, classes)
    for name, node in functions.items():
        assert stub_parameters(node) == parameters_of(getattr(_burnish_runtime, name)), name
    for name in ("Model", "Threads"):
        cls = getattr(_burnish_runtime, name)
        members = {node.name: node for node in classes[name].body
                   if isinstance(node, ast.FunctionDef)}
        assert own_names(cls) == set(members) - {"__new__"}, (name, own_names(cls), set(members))
        for member, node in members.items():
            is_property = any(ast.unparse(d) == "property" for d in node.decorator_list)
            value = cls if member == "__new__" else getattr(cls, member)
            assert is_property == (not callable(value)), (name, member)
            if not is_property and member != "__reduce__":
                assert stub_parameters(node) == parameters_of(value), (name, member)
    fields = [node.name for node in classes["TensorInfo"].body if isinstance(node, ast.FunctionDef)]
    assert fields == list(_burnish_runtime.TensorInfo.__match_args__)


def test_package_is_typed_and_small():
    assert os.path.exists(os.path.join(FOLDER, "py.typed"))
    total = sum(os.path.getsize(os.path.join(FOLDER, name)) for name in os.listdir(FOLDER))
    assert IS_SANITIZED or total <= SIZE_MAX, total


def test_import_brings_nothing_but_numpy():
    script = ("import sys, numpy; before = set(sys.modules); import burnish_runtime; "
              "print(*sorted(set(sys.modules) - before))")
    got = lines_of(sys.executable, "-c", script)[-1].split()
    assert got == ["__future__", "burnish_runtime", "burnish_runtime._burnish_runtime",
                   "burnish_runtime._errors"], got


def test_extension_exports_one_name():
    exported = [line.split()[-1] for line in lines_of("nm", "-D", "--defined-only", EXTENSION)]
    assert exported == ["PyInit__burnish_runtime"], exported


def test_extension_needs_the_systems_libraries_alone():
    needed = {line.split("[")[1].rstrip("]") for line in lines_of("readelf", "-d", EXTENSION)
              if "(NEEDED)" in line}
    system = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"}
    assert needed <= system, needed - system
    dynamic = " ".join(lines_of("readelf", "-d", EXTENSION))
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic


def test_extension_runs_on_every_python_from_3_11_on():
    """What it takes of Python is in the stable interface of 3.11."""
    undefined = [line.split()[-1].split("@")[0]
                 for line in lines_of("nm", "-D", "--undefined-only", EXTENSION)]
    names = [name for name in undefined if name.startswith(("Py", "_Py"))]
    assert len(names) > 30, names
    for name in names:
        entry = abi3info.FUNCTIONS.get(Symbol(name)) or abi3info.DATAS.get(Symbol(name))
        assert entry is not None and entry.added <= PyVersion(3, 11), name


harness.run_cases(__name__)
