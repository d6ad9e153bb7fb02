"""Makes torch from PyPI load without the CUDA packages that it is built for, several GB of them.

Its libraries name theirs as dependencies, and the dynamic loader wants each name, each version and
each symbol to exist. So every such name becomes a library of functions that return 100, which is
"no device" to the CUDA runtime (cudaErrorNoDevice): torch then sees a machine without a GPU,
whatever this machine has.
"""

import collections
import importlib.util
import os
import pathlib
import re
import subprocess

C_COMPILER = "cc"
CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl).*")
CUDA_SYMBOL = re.compile(r"_*(cu|nv|nccl)\w*")  # Of those that have no version.


def folder_of_torch():
    """torch's libraries, or None where it is not installed."""
    found = importlib.util.find_spec("torch")
    return found and pathlib.Path(found.origin).parent / "lib"


def _lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _symbols(path, option):
    return [line.split()[-1] for line in _lines("nm", "-D", option, str(path))]


def _dependencies(path):
    """(names of the libraries that it needs, {version: the library that it wants it from})."""
    needed, versions, library = set(), {}, None
    for line in _lines("objdump", "-p", str(path)):
        words = line.split()
        if words[:1] == ["NEEDED"]:
            needed.add(words[1])
        elif words[:2] == ["required", "from"]:
            library = words[2].rstrip(":")
        elif library and len(words) == 4 and words[0].startswith("0x"):
            versions[words[3]] = library
    return needed, versions


def _cuda_libraries(libraries):
    """What torch's libraries want of CUDA's: by name of a library, symbols by version ("": none)."""
    wanted, unversioned, defined = collections.defaultdict(dict), set(), set()
    for path in libraries:
        defined.update(name.split("@")[0] for name in _symbols(path, "--defined-only"))
    for path in libraries:
        needed, versions = _dependencies(path)
        for name in filter(CUDA_LIBRARY.fullmatch, needed - {each.name for each in libraries}):
            wanted[name].setdefault("", unversioned)  # Nothing says whose they are: in each.
        for symbol in _symbols(path, "--undefined-only"):
            name, _, version = symbol.partition("@")
            version = version.lstrip("@")
            library = versions.get(version, "")
            if CUDA_LIBRARY.fullmatch(library):
                wanted[library].setdefault(version, set()).add(name)
            elif not version and name not in defined and CUDA_SYMBOL.fullmatch(name):
                unversioned.add(name)
    return wanted


def _write_library(path, symbols_by_version):
    source, script = path.with_suffix(".c"), path.with_suffix(".map")
    names = sorted(set().union(*symbols_by_version.values()))
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names))
    versions = {version: names for version, names in symbols_by_version.items() if version}
    script.write_text("".join(
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(names))} }};\n"
        for version, names in versions.items()))
    subprocess.run([C_COMPILER, "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{path.name}",
                    *([f"-Wl,--version-script={script}"] if versions else []),
                    "-o", path, source], check=True)


def environment(folder, torch=None):
    """What to add to the environment of a process that imports torch; puts files into `folder`.
    `torch`: its libraries, where it is not this interpreter's."""
    libraries = [path for path in (torch or folder_of_torch()).iterdir() if ".so" in path.name]
    for name, symbols in _cuda_libraries(libraries).items():
        _write_library(folder / name, symbols)
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{path}" if path else str(folder)}
