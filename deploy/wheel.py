"""usage: wheel.py FILES FOLDER   Packs the files that FILES names, one path a line, into two wheels in
FOLDER. The same files give the same bytes. Called by ./dev wheel with auditwheel and abi3audit installed:
the first says which systems a wheel is for, the second that the extension is for every Python from 3.11 on.
"""

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PROGRAMS = "burnish/_programs"
# Shared libraries that a system must have, by the manylinux rules. All others lie beside the program.
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\.so")
EXECUTABLE, PLAIN = 0o755, 0o644
ELF = b"\x7fELF"  # The first bytes of programs and libraries.
SUMMARIES = {"burnish": "Tunes and compiles neural networks for the CPU that runs them",
             "burnish_runtime": "Runs bundles: models that Burnish has compiled"}
ENTRY_POINTS = ("[console_scripts]\n"
                "burnish-tracker = burnish._programs:tracker\n"
                "burnish-worker = burnish._programs:worker\n"
                "tuner = burnish._programs:tuner\n"
                "[torch_dynamo_backends]\n"
                "burnish = burnish._torch.backend:burnish\n" +
                "".join(f"burnish_{name} = burnish._torch.named:burnish_{name}\n"
                        for name in ("auto_scheduler", "check", "meta_schedule", "nop", "print")))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def stripped(path):
    """The file's bytes, without symbols if it is a program or library."""
    data = path.read_bytes()
    if not data.startswith(ELF):
        return data
    with tempfile.NamedTemporaryFile() as file:
        output("strip", "--strip-unneeded", "-o", file.name, str(path))
        return pathlib.Path(file.name).read_bytes()


def libraries_of(program):
    """{name: path} of what it loads and a system need not have; a script loads nothing."""
    if not program.read_bytes().startswith(ELF):
        return {}
    found = re.findall(r"^\s*(\S+) => (\S+)", output("ldd", str(program)), re.MULTILINE)
    return {name: pathlib.Path(path) for name, path in found if not SYSTEM.match(name)}


def licence_of(library):
    package = output("dpkg", "-S", str(library.resolve())).split(":")[0]
    return package, pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()


def collect(paths):
    """{wheel: {path inside: (bytes, mode)}} of the files in FILES and of what they need."""
    wheels = {"burnish": {}, "burnish_runtime": {}}
    licences = {}
    for path in paths:
        package = re.search(r"(?:^|/)python/(?:runtime/)?((burnish|burnish_runtime)/.*)", str(path))
        if package:
            mode = EXECUTABLE if path.suffix == ".so" else PLAIN
            wheels[package[2]][package[1]] = stripped(path), mode
            continue
        wheels["burnish"][f"{PROGRAMS}/{path.name}"] = stripped(path), EXECUTABLE
        for name, library in libraries_of(path).items():
            wheels["burnish"][f"{PROGRAMS}/{name}"] = stripped(library), EXECUTABLE
            package, text = licence_of(library)
            licences[package] = text
    with tempfile.TemporaryDirectory() as folder:
        output("deploy/licences.sh", folder)
        licences.update({file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()})
    ours = pathlib.Path("LICENSE").read_bytes()
    for name, files in wheels.items():
        folder = f"{name}-{version()}.dist-info/licenses"
        files[f"{folder}/LICENSE"] = ours, PLAIN
    for package, text in licences.items():
        wheels["burnish"][f"burnish-{version()}.dist-info/licenses/third-party/{package}"] = text, PLAIN
    return wheels


def version():
    text = pathlib.Path("base/version.h").read_text(encoding="utf-8")
    return re.search(r'kBurnishVersion\[\] = "([^"]+)"', text)[1]


def metadata(name, files):
    info = f"{name}-{version()}.dist-info/"
    needs = ["numpy>=1.26"] + ([f"burnish-runtime=={version()}"] if name == "burnish" else [])
    lines = ["Metadata-Version: 2.4", f"Name: {name.replace('_', '-')}", f"Version: {version()}",
             f"Summary: {SUMMARIES[name]}", "License-Expression: Apache-2.0",
             *(f"License-File: {path.removeprefix(info + 'licenses/')}"
               for path in sorted(files) if path.startswith(info)),
             "Requires-Python: >=3.11", *(f"Requires-Dist: {need}" for need in needs),
             "Description-Content-Type: text/markdown"]
    readme = pathlib.Path("docs/python.md" if name == "burnish" else "python/runtime/README.md")
    return "\n".join(lines) + "\n\n" + readme.read_text(encoding="utf-8")


def pack(name, files, tag, folder, compression=zipfile.ZIP_DEFLATED):
    """Writes one wheel; returns its path."""
    info = f"{name}-{version()}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = metadata(name, files).encode(), PLAIN
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: burnish ({version()})\n"
                              f"Root-Is-Purelib: false\nTag: {tag}\n").encode(), PLAIN
    if name == "burnish":
        files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode(), PLAIN
    record = ""
    for path, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode(), PLAIN
    target = pathlib.Path(folder, f"{name}-{version()}-{tag}.whl")
    with zipfile.ZipFile(target, "w", compression, compresslevel=9) as archive:
        # What describes the wheel comes last, as installers expect, so that it can be changed.
        for path in sorted(files, key=lambda path: (path.startswith(info), path)):
            data, mode = files[path]
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, compression
            archive.writestr(entry, data)
    return target


def tag_of(name, files):
    """The oldest systems on which all of it starts, as auditwheel sees them."""
    python = "py3-none" if name == "burnish" else "cp311-abi3"
    with tempfile.TemporaryDirectory() as folder:
        draft = pack(name, files, f"{python}-linux_x86_64", folder, zipfile.ZIP_STORED)
        shown = json.loads(output(sys.executable, "-m", "auditwheel", "show", "--json", str(draft)))
    if not shown["overall_tag"].startswith("manylinux_"):
        sys.exit(f"wheel: {name} needs what systems may lack: {json.dumps(shown, indent=1)}")
    return f"{python}-{shown['overall_tag']}"


def main(files, folder):
    paths = [pathlib.Path(line) for line in pathlib.Path(files).read_text(encoding="utf-8").split()]
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for old in pathlib.Path(folder).glob("burnish*-*.whl"):
        old.unlink()
    for name, content in collect(paths).items():
        wheel = pack(name, content, tag_of(name, content), folder)
        if "-abi3-" in wheel.name:
            output(sys.executable, "-m", "abi3audit", "--strict", str(wheel))
        installed = sum(len(data) for data, _ in content.values())
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {installed / 1e6:.1f} MB installed")


if __name__ == "__main__":
    main(*sys.argv[1:])
