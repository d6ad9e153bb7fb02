"""An OCI image as a layout on disk: https://github.com/opencontainers/image-spec, version 1.1. One layer, written
without a container engine; the same files give the same bytes.
"""

import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import tarfile

MEDIA = "application/vnd.oci.image."
# An image keeps the licence of a package's documentation.
NOT_TAKEN = ("/usr/share/man/", "/usr/share/locale/", "/usr/share/lintian/", "/usr/share/gdb/")
DOCUMENTATION = "/usr/share/doc/"
# What an installed Debian has as links to /usr: the loader's path is one of them.
MERGED = ("bin", "lib", "lib64", "sbin")


class HashingWriter:
    """Writes to a file, and knows the SHA-256 and the size of what was written."""

    def __init__(self, file):
        self._file, self._hash, self.size = file, hashlib.sha256(), 0

    def write(self, data):
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self):
        self._file.flush()

    @property
    def digest(self):
        return "sha256:" + self._hash.hexdigest()


def write_tar(out, root, seconds, top="", owners=None):
    """All of the folder `root`, sorted, below `top`, of `seconds` since 1970; `owners`: user numbers by path."""
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(pathlib.Path(root).rglob("*")):
            inside = path.relative_to(root).as_posix()
            entry = archive.gettarinfo(path, top + inside)
            # Two names of one file would be a link that some readers follow out of its place.
            if path.is_file() and not path.is_symlink():
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
            entry.mtime, entry.uname, entry.gname = seconds, "", ""
            entry.uid = entry.gid = (owners or {}).get(inside, 0)
            if entry.isreg():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)


def write_tar_gz(path, root, seconds, top="", owners=None):
    """Returns (digest, size) of the compressed file, and the digest of what is inside."""
    with open(path, "wb") as file:
        outside = HashingWriter(file)
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=outside, mtime=0) as compressed:
            inside = HashingWriter(compressed)
            write_tar(inside, root, seconds, top, owners)
    return outside.digest, outside.size, inside.digest


def _write_blob(folder, data):
    digest = hashlib.sha256(data).hexdigest()
    (folder / "blobs/sha256" / digest).write_bytes(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def _json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def write_layout(folder, root, config, created, seconds, name, owners=None):
    """The image of the files below `root`, as a layout in `folder`, which must not be there.

    `config` is the image's own (Env, Entrypoint, User, ..); `created` a time of RFC 3339; `name` its tag.
    """
    folder = pathlib.Path(folder)
    (folder / "blobs/sha256").mkdir(parents=True)
    draft = folder / "layer"
    digest, size, content = write_tar_gz(draft, root, seconds, owners=owners)
    draft.rename(folder / "blobs/sha256" / digest.removeprefix("sha256:"))
    about = _write_blob(folder, _json({
        "created": created, "architecture": "amd64", "os": "linux", "config": config,
        "rootfs": {"type": "layers", "diff_ids": [content]},
        "history": [{"created": created, "created_by": "./dev release"}]}))
    manifest = _write_blob(folder, _json({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
        "config": {"mediaType": MEDIA + "config.v1+json", **about},
        "layers": [{"mediaType": MEDIA + "layer.v1.tar+gzip", "digest": digest, "size": size}]}))
    (folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    (folder / "index.json").write_bytes(_json({
        "schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
        "manifests": [{"mediaType": MEDIA + "manifest.v1+json", **manifest,
                       "platform": {"architecture": "amd64", "os": "linux"},
                       "annotations": {"org.opencontainers.image.ref.name": name}}]}))


def check_layout(folder):
    """The layer's path, of a layout whose every blob has the digest and the size that name it."""
    folder = pathlib.Path(folder)

    def blob(descriptor):
        path = folder / "blobs" / descriptor["digest"].replace(":", "/")
        data = path.read_bytes()
        if (len(data), "sha256:" + hashlib.sha256(data).hexdigest()) != (descriptor["size"], descriptor["digest"]):
            raise ValueError(f"{path} is not what its name says")
        return data

    if json.loads((folder / "oci-layout").read_bytes()) != {"imageLayoutVersion": "1.0.0"}:
        raise ValueError(f"{folder} has no version of the layout")
    entry, = json.loads((folder / "index.json").read_bytes())["manifests"]
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    layer, = manifest["layers"]
    content = hashlib.sha256(gzip.decompress(blob(layer))).hexdigest()
    if config["rootfs"]["diff_ids"] != ["sha256:" + content]:
        raise ValueError(f"{folder}: the layer is not the one that the configuration names")
    return folder / "blobs" / layer["digest"].replace(":", "/")


def copy_packages(packages, root):
    """The files of installed Debian packages, as an installed system has them, into `root`."""
    root = pathlib.Path(root)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        listing = subprocess.run(["dpkg-query", "-L", package], check=True, stdout=subprocess.PIPE, text=True)
        for line in listing.stdout.splitlines():
            path = pathlib.Path(os.path.realpath(os.path.dirname(line)), os.path.basename(line))
            text = str(path)
            if text.startswith(NOT_TAKEN) or text.startswith(DOCUMENTATION) and path.name != "copyright":
                continue
            target = root / text.lstrip("/")
            if path.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.is_symlink():
                    target.symlink_to(os.readlink(path))
            elif path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
                target.chmod(path.stat().st_mode & 0o777)
