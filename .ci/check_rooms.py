"""Holds docs/architecture.md's table of folders to what their targets depend on. Exits with 1 on a difference.

A row names a folder and the folders that it uses: those that targets of it depend on, tests apart. The
longest folder of the table that holds a package is the package's. third_party/ stands in
docs/dependencies.md.
"""

import ast
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path("docs/architecture.md")
ROW = re.compile(r"^\| `([\w/]+)/` \| [^|]+ \| ([^|]*) \|$", re.M)


def rooms_of(page):
    """Folder to the folders that its row says it uses."""
    return {folder: set(filter(None, map(str.strip, uses.strip(" -").split(","))))
            for folder, uses in ROW.findall(page)}


def room_of(package, rooms):
    """Empty: a package of no row, such as third_party."""
    holders = [room for room in rooms if package == room or package.startswith(room + "/")]
    return max(holders, key=len, default="")


def strings(node):
    return [each.value for each in ast.walk(node)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def edges(path):
    """(target, package that it depends on) of a BUILD file, tests apart."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        call = getattr(statement, "value", None)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        arguments = {keyword.arg: keyword.value for keyword in call.keywords}
        if call.func.id.endswith("_test") or "testonly" in arguments or "deps" not in arguments:
            continue
        for label in strings(arguments["deps"]):
            if label.startswith("//"):
                yield strings(arguments["name"])[0], label[2:].partition(":")[0]


def main():
    rooms = rooms_of(PAGE.read_text(encoding="utf-8"))
    if len(rooms) < 10:
        print(f"error: {PAGE}: its table of folders cannot be read")
        return 1
    used = {room: {} for room in rooms}
    listing = subprocess.run(["git", "ls-files", "*BUILD.bazel"], check=True, capture_output=True, text=True)
    for path in map(pathlib.Path, listing.stdout.split()):
        room = room_of(str(path.parent), rooms)
        for target, package in edges(path):
            other = room_of(package, rooms)
            if room and other and room != other:
                used[room].setdefault(other, f"//{path.parent}:{target}")
    errors = []
    for room, said in rooms.items():
        errors += [f"{room} uses {other} ({used[room][other]}), which its row does not say"
                   for other in sorted(used[room].keys() - said)]
        errors += [f"{room} does not use {other}, which its row says" for other in sorted(said - used[room].keys())]
    for text in errors:
        print(f"error: {PAGE}: {text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
