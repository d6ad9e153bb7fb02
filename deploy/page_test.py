"""usage: page_test.py PREFIX PAGE   Does what a page of docs/ says, in an empty folder: a block with a
file's name is written to that file, the commands of `sh` blocks run one after the other in one shell, and a
`text` block is what the block before it must print.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "== end of block"


def main(prefix, page):
    blocks = BLOCK.findall(pathlib.Path(page).read_text(encoding="utf-8"))
    script, expected, count = ["set -euo pipefail"], {}, 0
    with tempfile.TemporaryDirectory(prefix="burnish-page-") as folder:
        for language, name, text in blocks:
            if name:
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            elif language == "sh":
                script += [text, f"echo '{MARK} {count}'"]
                count += 1
            elif language == "text":
                expected[count - 1] = text
        # Nothing of the caller's: another installation or a setting would hide what the page forgot.
        environment = {"PREFIX": str(pathlib.Path(prefix).resolve()), "HOME": folder,
                       "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, text=True)
    printed = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.MULTILINE)
    if done.returncode != 0:
        sys.exit(f"page_test: {page}: block {len(printed) - 1} of {count} failed "
                 f"({done.returncode})\n{printed[-1]}")
    if count == 0:
        sys.exit(f"page_test: {page} has no commands")
    for number, text in expected.items():
        if printed[number] != text:
            sys.exit(f"page_test: {page}: block {number} printed\n{printed[number]}and not\n{text}")
    print(f"page_test: {page}: {count} blocks of commands ran")


if __name__ == "__main__":
    main(*sys.argv[1:])
