"""What a release is made of, as SPDX 2.3 in JSON: https://spdx.github.io/spdx-spec/v2.3. Licences are those of
docs/dependencies.md, versions those of the Debian packages that are installed where the release was built.
"""

import hashlib
import json
import pathlib
import re
import subprocess

PAGE = pathlib.Path("docs/dependencies.md")
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| [^|]+ \| ([^|]+) \| [^|]+ \| [^|]+ \|$", re.M)
# `one`, or `one` and `another`, (LICENCE).
NAMED = re.compile(r"((?:`[a-z0-9.+-]+`(?:\s+and\s+)?)+)\s+\(([^()]+)\)")
# What SPDX's list of licences calls what the page says.
SPDX = {"public domain": "blessing", "GPL-3.0 WITH GCC-exception-3.1": "GPL-3.0-or-later WITH GCC-exception-3.1"}
MAINTAINERS = "Organization: The Burnish maintainers"


def linked_licences(page):
    """{Debian package: licence} of the table of what is in the programs."""
    table = page.partition("## In the programs")[2].partition("\n## ")[0]
    found = {}
    for packages, licences in ROW.findall(table):
        packages, licences = packages.split(", "), licences.split(", ")
        if packages[0] == "Debian package" or set(packages[0]) <= set("-"):
            continue
        if len(licences) == 1:
            licences *= len(packages)
        if len(licences) != len(packages):
            raise ValueError(f"{PAGE}: {', '.join(packages)} have {len(licences)} licences")
        found.update(zip(packages, licences))
    if len(found) < 10:
        raise ValueError(f"{PAGE}: its table of what is in the programs cannot be read")
    return found


def shipped_licences(page):
    """{Debian package: licence} of the shared libraries that wheels and the image hold."""
    paragraph = page.partition("NumPy is the only dependency of the wheels")[2].partition("\n## ")[0]
    return {name: " ".join(licence.split()) for names, licence in NAMED.findall(paragraph)
            for name in re.findall(r"`([^`]+)`", names)}


def installed(package):
    """(version, source package) of a Debian package."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${source:Package}", package], check=True,
                          stdout=subprocess.PIPE, text=True)
    version, source = done.stdout.split()
    return version, source


def parts_of(page, bundled, image, facts=installed):
    """Each Debian package of a release once: (name, version, licence, how it is in there). `bundled`: packages of the
    shared libraries beside the programs; `image`: those of the image alone."""
    linked, shipped = linked_licences(page), shipped_licences(page)
    sources = {facts(package)[1]: licence for package, licence in linked.items()}
    shared = {facts(package)[1] for package in bundled}
    parts = [(package, facts(package)[0], licence, "STATIC_LINK") for package, licence in sorted(linked.items())
             if facts(package)[1] not in shared]
    for packages, how in ((bundled, "DYNAMIC_LINK"), (image, "CONTAINS")):
        for package in sorted(packages):
            version, source = facts(package)
            licence = shipped.get(package) or sources.get(source)
            if licence is None:
                raise ValueError(f"{PAGE} says no licence of {package}: add it to the last paragraph of the page's PyPI part")
            parts.append((package, version, licence, how))
    return parts


def _package(identity, name, version, licence, **more):
    return {"SPDXID": identity, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def document(version, commit, created, parts, files):
    """The document; `files`: {name: bytes} of what the release publishes."""
    ours = "SPDXRef-Package-burnish"
    packages = [_package(ours, "burnish", version, "Apache-2.0", supplier=MAINTAINERS,
                         primaryPackagePurpose="APPLICATION", sourceInfo=f"commit {commit}")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    for name, debian_version, licence, how in parts:
        identity = "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        address = f"pkg:deb/debian/{name.replace('+', '%2B')}@{debian_version.replace('+', '%2B')}?arch=amd64"
        packages.append(_package(
            identity, name, debian_version, SPDX.get(licence, licence),
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                           "referenceLocator": address}]))
        relations.append((ours, how, identity))
    listed = []
    for number, (name, data) in enumerate(sorted(files.items())):
        identity = f"SPDXRef-File-{number}"
        listed.append({"SPDXID": identity, "fileName": "./" + name, "licenseConcluded": "NOASSERTION",
                       "copyrightText": "NOASSERTION",
                       "checksums": [{"algorithm": kind, "checksumValue": hashlib.new(kind.lower(), data).hexdigest()}
                                     for kind in ("SHA1", "SHA256")]})
        relations.append((identity, "GENERATED_FROM", ours))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"burnish-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/burnish-{version}-{commit}",
            "creationInfo": {"created": created, "creators": [MAINTAINERS, f"Tool: burnish-release-{version}"]},
            "packages": packages, "files": listed,
            "relationships": [{"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}
                              for one, how, other in relations]}


def write(path, value):
    pathlib.Path(path).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
