"""usage: release.py prepare|check|make VERSION   One version, from a commit to what a stranger installs. By ./dev release.

prepare  moves what CHANGELOG.md has under "Unreleased" to the version, and writes the version where it stands
check    says what keeps the version from being released, before anything takes time
make     makes dist/VERSION of what was built with --config=static, tries it, and sets the tag; run by the Python of
         ./dev wheel. Nothing is there until all of it is: the folder gets its name, then the tag is set.
"""

import dataclasses
import datetime
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import oci
import sbom

CHANGELOG, HEADER, CITATION = pathlib.Path("CHANGELOG.md"), pathlib.Path("base/version.h"), pathlib.Path("CITATION.cff")
UNRELEASED = "Unreleased"
NOTES_MAX = 12  # Lines: what people read before they install.
SECTION = re.compile(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", re.M | re.S)
VERSION_IN = {HEADER: re.compile(r'(kBurnishVersion\[\] = ")([^"]+)()'),
              CITATION: re.compile(r"^(version: )(\S+)()$", re.M)}
RELEASED_ON = re.compile(r'^(date-released: ")([^"]+)(")$', re.M)
DIST = pathlib.Path("dist")
PLATFORM = "linux-x86_64"
IMAGE_PACKAGES = ("libc6", "libgcc-s1", "libstdc++6")
USER, HOME = 1000, "home/burnish"


class Refused(Exception):
    """What keeps a version from being released, and what to do."""


@dataclasses.dataclass(frozen=True)
class Tree:
    """What a release is made from."""
    changed: list  # Files that differ from the commit, as git names them.
    tags: list
    changelog: str
    versions: dict  # Path: the version that the file says.
    made: bool = False  # Whether dist/VERSION is there.


def parse_version(text):
    if not re.fullmatch(r"(0|[1-9][0-9]{0,5})(\.(0|[1-9][0-9]{0,5})){2}", text):
        raise Refused(f"{text!r} is no version: give MAJOR.MINOR.PATCH, such as 0.3.0, without a v")
    return tuple(map(int, text.split(".")))


def sections(changelog):
    """{version or "Unreleased": its lines that say something}."""
    return {name: [line for line in text.splitlines() if line.strip()] for name, text in SECTION.findall(changelog)}


def notes(changelog, version):
    """The lines that say what is new in the version."""
    lines = sections(changelog).get(version)
    if lines is None:
        raise Refused(f"{CHANGELOG} has no section {version}: ./dev release --prepare {version} makes one, commit that")
    return _short(lines, version)


def _short(lines, name):
    if not 0 < len(lines) <= NOTES_MAX:
        raise Refused(f"{CHANGELOG} has {len(lines)} lines under {name}, want 1 to {NOTES_MAX}: "
                      "name what a user gains, and leave out the rest")
    return lines


def last_version(tree, version):
    """The greatest version that is out or has a section below this one's."""
    tagged = [tag[1:] for tag in tree.tags if re.fullmatch(r"v[0-9]+\.[0-9]+\.[0-9]+", tag)]
    written = [name for name in sections(tree.changelog) if name not in (UNRELEASED, version)]
    return max(map(parse_version, tagged + written), default=(0, 0, 0))


def check_number(tree, version):
    number = parse_version(version)
    if f"v{version}" in tree.tags:
        raise Refused(f"v{version} is a tag: what is out stays as it is, take a greater version")
    last = last_version(tree, version)
    if number <= last:
        raise Refused(f"{version} is not greater than {'.'.join(map(str, last))}, the last one: take a greater version")


def check(tree, version):
    """Raises `Refused`; returns the notes."""
    check_number(tree, version)
    if tree.changed:
        raise Refused("the tree differs from its commit: " + ", ".join(tree.changed[:5]) +
                      (f" and {len(tree.changed) - 5} more" if len(tree.changed) > 5 else "") + "; commit or stash")
    found = notes(tree.changelog, version)
    if sections(tree.changelog).get(UNRELEASED):
        raise Refused(f"{CHANGELOG} has lines under {UNRELEASED}, which {version} would have and not name: "
                      f"move them to {version}")
    for path, said in tree.versions.items():
        if said != version:
            raise Refused(f"{path} says {said}: ./dev release --prepare {version} writes {version}, commit that")
    if tree.made:
        raise Refused(f"{DIST / version} is there already: move it away")
    return found


def prepared(tree, version, date, texts):
    """{path: text} of the files that name the version, of {path: text} as they are."""
    check_number(tree, version)
    _short(sections(tree.changelog).get(UNRELEASED, []), UNRELEASED)
    if version in sections(tree.changelog):
        raise Refused(f"{CHANGELOG} has a section {version} already: edit it by hand")
    written = {CHANGELOG: tree.changelog.replace(
        f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} ({date.day} {date:%B %Y})\n", 1)}
    for path, pattern in VERSION_IN.items():
        written[path] = pattern.sub(rf"\g<1>{version}\g<3>", texts[path], count=1)
    written[CITATION] = RELEASED_ON.sub(rf"\g<1>{date.isoformat()}\g<3>", written[CITATION], count=1)
    return written


# --- what touches the machine


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def read_tree(version):
    # A name of two paths, of a file that was moved, is one line.
    changed = [line[3:] for line in output("git", "status", "--porcelain").splitlines()]
    versions = {path: pattern.search(path.read_text(encoding="utf-8"))[2] for path, pattern in VERSION_IN.items()}
    return Tree(changed, output("git", "tag").split(), CHANGELOG.read_text(encoding="utf-8"), versions,
                (DIST / version).exists())


def image_root(installed, root):
    """Files of a system that has the installation below /usr and what its programs load, and no more."""
    root.mkdir()
    oci.copy_packages(IMAGE_PACKAGES, root)
    run("cp", "-a", f"{installed}/.", root / "usr")
    (root / HOME).mkdir(parents=True)
    for name in ("dev", "etc", "proc", "sys", "tmp"):
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/sbin/nologin\n"
                                     f"burnish:x:{USER}:{USER}:Burnish:/{HOME}:/sbin/nologin\n"
                                     "nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n", encoding="utf-8")
    (root / "etc/group").write_text(f"root:x:0:\nburnish:x:{USER}:\nnogroup:x:65534:\n", encoding="utf-8")


def write_sums(folder):
    """SHA256SUMS over every other file, as `sha256sum --check` reads them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    (folder / "SHA256SUMS").write_text("".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in paths),
        encoding="utf-8")


def fill(folder, work, version, lines):
    """All files of the release, in the empty `folder`."""
    import wheel  # Needs what ./dev wheel installs.

    commit, seconds = output("git", "log", "-1", "--format=%H %ct").split()
    seconds = int(seconds)
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    os.environ["SOURCE_DATE_EPOCH"] = str(seconds)
    wheel.main("bazel-bin/python/wheel_files.txt", folder)
    run("deploy/install.sh", "bazel-bin", work, "/installed")
    name = f"burnish-{version}-{PLATFORM}"
    oci.write_tar_gz(folder / f"{name}.tar.gz", work / "installed", seconds, top=f"{name}/")
    run("deploy/debs.sh", "bazel-bin", folder)
    image_root(work / "installed", work / "root")
    config = {"Env": ["PATH=/usr/bin", f"HOME=/{HOME}", "LANG=C.UTF-8"], "Entrypoint": ["/usr/bin/tuner"], "Cmd": ["--help"],
              "User": f"{USER}:{USER}", "WorkingDir": f"/{HOME}",
              "Labels": {"org.opencontainers.image.title": "burnish", "org.opencontainers.image.version": version,
                         "org.opencontainers.image.revision": commit, "org.opencontainers.image.licenses": "Apache-2.0"}}
    oci.write_layout(folder / f"{name}-oci", work / "root", config, created, seconds, version, owners={HOME: USER})
    (folder / "NOTES.md").write_text(f"# Burnish {version}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    beside = [path for path in (work / "installed/libexec/burnish").iterdir() if ".so" in path.name]
    bundled = {wheel.licence_of(pathlib.Path(found))[0] for path in beside
               for found in output("dpkg", "-S", f"*/{path.name}").split(": ")[1].split()[:1]}
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    parts = sbom.parts_of(sbom.PAGE.read_text(encoding="utf-8"), bundled, IMAGE_PACKAGES)
    sbom.write(folder / f"burnish-{version}.spdx.json", sbom.document(version, commit, created, parts, files))
    write_sums(folder)


def make(version):
    lines = check(read_tree(version), version)
    commit = output("git", "rev-parse", "HEAD")
    DIST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DIST, prefix=".release-") as name:
        work, folder = pathlib.Path(name), pathlib.Path(name, version)
        folder.mkdir()
        fill(folder, work, version, lines)
        run("deploy/debs_test.sh", folder)
        run("deploy/roots_test.sh", folder)
        if output("git", "rev-parse", "HEAD") != commit:
            raise Refused("another commit was checked out meanwhile: run it again")
        check(read_tree(version), version)
        os.rename(folder, DIST / version)
    try:
        run("git", "tag", "-a", f"v{version}", "-m", f"Burnish {version}\n\n" + "\n".join(lines))
    except subprocess.CalledProcessError as error:
        os.rename(DIST / version, DIST / f"{version}-untagged")
        raise Refused(f"git sets no tag v{version}; the files are in {DIST}/{version}-untagged") from error
    print(f"release: {DIST / version}, tag v{version}; git push origin v{version} publishes the tag")


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("prepare", "check", "make"):
        sys.exit("usage: release.py prepare|check|make VERSION")
    command, version = arguments
    try:
        parse_version(version)  # Before it names a path.
        if command == "make":
            make(version)
        elif command == "check":
            check(read_tree(version), version)
        else:
            texts = {path: path.read_text(encoding="utf-8") for path in VERSION_IN}
            today = datetime.datetime.now(datetime.timezone.utc).date()
            for path, text in prepared(read_tree(version), version, today, texts).items():
                path.write_text(text, encoding="utf-8")
            print(f"release: {version} stands in {CHANGELOG}, {HEADER} and {CITATION}; read the diff and commit it")
    except Refused as refused:
        sys.exit(f"release: {refused}")


if __name__ == "__main__":
    main(sys.argv[1:])
