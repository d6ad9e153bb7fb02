"""What a release refuses, what it writes into CHANGELOG.md, its SBOM and its image, without building one."""

import dataclasses
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path[:0] = ["deploy", "tests/e2e/models"]

import oci  # noqa: E402
import release  # noqa: E402
import sbom  # noqa: E402
import test_report  # noqa: E402

CHANGELOG = """# Changes

## Unreleased

## 0.3.0 (1 December 2026)

Tuning
- Faster.

## 0.2.0 (23 November 2026)

- The first.
"""
TREE = release.Tree([], ["v0.2.0", "unrelated"], CHANGELOG, {release.HEADER: "0.3.0", release.CITATION: "0.3.0"})


def refused(call, *texts):
    try:
        got = call()
    except release.Refused as error:
        assert all(text in str(error) for text in texts), error
        return
    raise AssertionError(f"nothing refused, but {got!r}")


def changed(**fields):
    return dataclasses.replace(TREE, **fields)


def test_a_tree_that_may_be_released_has_its_notes():
    assert release.check(TREE, "0.3.0") == ["Tuning", "- Faster."]


def test_what_is_no_version():
    for text in ("", "1", "1.2", "v0.3.0", "0.3.0-rc1", "0.03.0", "0.3.0\n", "1.2.3.4", "../0.3.0", "0.3.1234567", "٣.0.0"):
        refused(lambda text=text: release.check(TREE, text), "is no version", "MAJOR.MINOR.PATCH")


def test_a_version_that_is_not_the_next():
    refused(lambda: release.check(TREE, "0.2.0"), "v0.2.0 is a tag")
    refused(lambda: release.check(TREE, "0.1.9"), "not greater than 0.3.0")
    refused(lambda: release.check(changed(tags=["v0.10.0"]), "0.3.0"), "not greater than 0.10.0")
    refused(lambda: release.check(changed(tags=["v0.3.0"]), "0.3.0"), "v0.3.0 is a tag")


def test_a_tree_that_differs_from_its_commit():
    refused(lambda: release.check(changed(changed=["a.cc"]), "0.3.0"), "a.cc", "commit or stash")
    refused(lambda: release.check(changed(changed=list("abcdefg")), "0.3.0"), "and 2 more")


def test_notes_that_nobody_could_read():
    refused(lambda: release.check(TREE, "0.4.0"), "no section 0.4.0", "--prepare 0.4.0")
    long = CHANGELOG.replace("- Faster.\n", "- Faster.\n" * 12)
    refused(lambda: release.check(changed(changelog=long), "0.3.0"), "13 lines under 0.3.0, want 1 to 12")
    empty = CHANGELOG.replace("Tuning\n- Faster.\n", "")
    refused(lambda: release.check(changed(changelog=empty), "0.3.0"), "0 lines under 0.3.0")
    left = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- More.\n")
    refused(lambda: release.check(changed(changelog=left), "0.3.0"), "lines under Unreleased", "move them to 0.3.0")


def test_files_that_say_another_version():
    other = {release.HEADER: "0.2.0", release.CITATION: "0.3.0"}
    refused(lambda: release.check(changed(versions=other), "0.3.0"), "base/version.h says 0.2.0", "--prepare")
    refused(lambda: release.check(changed(made=True), "0.3.0"), "dist/0.3.0 is there already")


def test_a_version_is_prepared():
    before = CHANGELOG.replace("## 0.3.0 (1 December 2026)\n\n", "").replace("## Unreleased\n\n", "## Unreleased\n\n")
    texts = {path: path.read_text(encoding="utf-8") for path in release.VERSION_IN}
    tree = changed(changelog=before)
    date = datetime.date(2026, 12, 1)
    written = release.prepared(tree, "0.3.0", date, texts)
    assert written[release.CHANGELOG] == CHANGELOG, written[release.CHANGELOG]
    assert 'kBurnishVersion[] = "0.3.0"' in written[release.HEADER]
    assert 'version: 0.3.0\ndate-released: "2026-12-01"' in written[release.CITATION]
    versions = {path: release.VERSION_IN[path].search(text)[2] for path, text in written.items()
                if path in release.VERSION_IN}
    assert release.check(changed(changelog=written[release.CHANGELOG], versions=versions), "0.3.0")
    refused(lambda: release.prepared(tree, "0.2.0", date, texts), "v0.2.0 is a tag")
    refused(lambda: release.prepared(TREE, "0.4.0", date, texts), "0 lines under Unreleased")


def test_the_changelog_of_this_tree_is_cut_by_version():
    found = release.sections(release.CHANGELOG.read_text(encoding="utf-8"))
    assert release.UNRELEASED in found and len(found) >= 3, list(found)
    for name, lines in found.items():
        assert name == release.UNRELEASED or len(lines) <= release.NOTES_MAX, (name, len(lines))


def made_in_a_repository(fails=None):
    """What `make` leaves in a repository: (files of dist, tags, what it refused). `fails`: the program that does."""
    def git(*words):
        return subprocess.run(["git", *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    real, before = (release.run, release.fill), os.getcwd()
    texts = {path: path.read_text(encoding="utf-8") for path in release.VERSION_IN}
    changelog = CHANGELOG.replace("## 0.3.0 (1 December 2026)\n\n", "")
    written = release.prepared(changed(changelog=changelog), "0.3.0", datetime.date(2026, 12, 1), texts)

    def run(*command, **options):
        if fails and fails in map(str, command):
            raise subprocess.CalledProcessError(1, command)
        if command[0] == "git":
            real[0](*command, **options)

    release.run = run
    release.fill = lambda folder, *_: (folder / "file").write_text("made", encoding="utf-8")
    refusal = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            for path, text in written.items():
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            pathlib.Path(".gitignore").write_text("/dist/\n", encoding="utf-8")
            for words in (("init", "-q"), ("config", "user.name", "t"), ("config", "user.email", "t@example.org"),
                          ("add", "-A"), ("commit", "-qm", "One")):
                git(*words)
            try:
                release.make("0.3.0")
            except (release.Refused, subprocess.CalledProcessError) as error:
                refusal = str(error)
            return sorted(os.listdir("dist")), git("tag").split(), refusal
        finally:
            os.chdir(before)
            release.run, release.fill = real


def test_nothing_is_there_until_all_of_it_is():
    assert made_in_a_repository() == (["0.3.0"], ["v0.3.0"], None)
    for program in ("deploy/debs_test.sh", "deploy/roots_test.sh"):
        files, tags, refusal = made_in_a_repository(fails=program)
        assert (files, tags) == ([], []) and program in refusal, (files, tags, refusal)
    files, tags, refusal = made_in_a_repository(fails="tag")
    assert (files, tags) == (["0.3.0-untagged"], []) and "sets no tag" in refusal, (files, tags, refusal)


def facts(package):
    """Versions and sources as dpkg has them: a library's -dev package and its own are of one source."""
    return "1.0+x", package.removesuffix("-dev").rstrip("0.2").rstrip("0")


def test_sbom_names_every_part_once():
    page = sbom.PAGE.read_text(encoding="utf-8")
    bundled = ["libxgboost0", "libdmlc0", "libgomp1", "libmimalloc2.0"]
    parts = sbom.parts_of(page, bundled, release.IMAGE_PACKAGES, facts)
    names = [name for name, *_ in parts]
    assert len(names) == len(set(names)) and len(names) >= 20, names
    how = {name: (licence, way) for name, _, licence, way in parts}
    assert how["libxgboost0"] == ("Apache-2.0", "DYNAMIC_LINK") and "libxgboost-dev" not in how, how
    assert how["libfmt-dev"] == ("MIT", "STATIC_LINK") and how["zlib1g-dev"][0] == "Zlib", how
    assert how["libstdc++6"] == ("GPL-3.0 WITH GCC-exception-3.1", "CONTAINS"), how
    try:
        sbom.parts_of(page, ["libunknown1"], [], facts)
    except ValueError as error:
        assert "no licence of libunknown1" in str(error)
    else:
        raise AssertionError("a library without a licence is taken")


def test_sbom_is_spdx():
    parts = [("libsqlite3-dev", "3.40.1", "public domain", "STATIC_LINK"), ("libstdc++6", "12+deb", "MIT", "CONTAINS")]
    document = sbom.document("0.3.0", "c0ffee", "2026-12-01T00:00:00Z", parts, {"b.whl": b"b", "a.deb": b"a"})
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    elements = [each["SPDXID"] for each in document["packages"] + document["files"]]
    assert len(elements) == len(set(elements)) == 5, elements
    for relation in document["relationships"]:
        for end in ("spdxElementId", "relatedSpdxElement"):
            assert relation[end] in elements + ["SPDXRef-DOCUMENT"], relation
    sqlite, library = document["packages"][1:]
    assert sqlite["licenseConcluded"] == "blessing", sqlite
    assert library["SPDXID"] == "SPDXRef-Package-libstdc--6", library
    assert library["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/libstdc%2B%2B6@12%2Bdeb?arch=amd64"
    first = document["files"][0]
    assert first["fileName"] == "./a.deb", first
    sums = {each["algorithm"]: each["checksumValue"] for each in first["checksums"]}
    assert sums == {"SHA1": hashlib.sha1(b"a").hexdigest(), "SHA256": hashlib.sha256(b"a").hexdigest()}
    json.dumps(document)


def make_root(folder):
    root = pathlib.Path(folder, "root")
    (root / "usr/bin").mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/bin/tuner").write_bytes(b"program")
    (root / "usr/bin/tuner").chmod(0o755)
    os.link(root / "usr/bin/tuner", root / "usr/bin/twin")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    (root / "home").mkdir()
    return root


def test_image_is_a_layout_and_the_same_each_time():
    with tempfile.TemporaryDirectory() as folder:
        root = make_root(folder)
        images = []
        for name in ("one", "two"):
            oci.write_layout(pathlib.Path(folder, name), root, {"User": "1000"}, "2026-12-01T00:00:00Z", 1000, "0.3.0",
                             owners={"home": 1000})
            os.utime(root / "usr/bin/tuner", (5, 5))
            images.append({path.relative_to(pathlib.Path(folder, name)).as_posix(): path.read_bytes()
                           for path in pathlib.Path(folder, name).rglob("*") if path.is_file()})
        assert images[0] == images[1]
        assert set(os.listdir(pathlib.Path(folder, "one"))) == {"oci-layout", "index.json", "blobs"}
        layer = oci.check_layout(pathlib.Path(folder, "one"))
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer.read_bytes()))) as archive:
            entries = {entry.name: entry for entry in archive}
            assert archive.extractfile("usr/bin/twin").read() == b"program"
        assert entries["bin"].issym() and entries["bin"].linkname == "usr/bin"
        assert entries["usr/bin/tuner"].mode == 0o755 and entries["usr/bin/tuner"].mtime == 1000
        assert entries["tmp"].mode == 0o1777 and entries["tmp"].uid == 0 and entries["home"].uid == 1000
        index = json.loads(images[0]["index.json"])["manifests"][0]
        assert index["annotations"]["org.opencontainers.image.ref.name"] == "0.3.0"
        config = json.loads(json.dumps(index)) and json.loads(images[0][
            "blobs/" + json.loads(images[0]["blobs/" + index["digest"].replace(":", "/")])["config"]["digest"].replace(":", "/")])
        assert config["config"] == {"User": "1000"} and config["architecture"] == "amd64", config
        layer.write_bytes(layer.read_bytes()[:-1])
        try:
            oci.check_layout(pathlib.Path(folder, "one"))
        except ValueError as error:
            assert "is not what its name says" in str(error)
        else:
            raise AssertionError("a damaged layer is taken")


def test_sums_are_those_of_sha256sum():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").mkdir()
        (folder / "in/file").write_bytes(b"abc")
        release.write_sums(folder)
        assert (folder / "SHA256SUMS").read_text(encoding="utf-8") == (
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  in/file\n")


def main():
    return test_report.run_functions("release_test", test_report.functions_of(globals()))


if __name__ == "__main__":
    sys.exit(main())
