"""usage: manual.py SHARE NAME=PROGRAM...   Man pages and shell completions of programs, below SHARE,
from what they print for --help. A command of a program gets a page NAME-COMMAND of its own.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"^  (\S.*?)(?:  +(\S.*))?$")


@dataclasses.dataclass
class Help:
    """What --help says: entries are pairs of a name and what it does."""

    about: str = ""
    usage: str = ""
    sections: dict = dataclasses.field(default_factory=dict)  # "Options" and so on: entries.
    rest: list = dataclasses.field(default_factory=list)      # Lines behind, such as examples.

    def names(self, section):
        return [name for name, _ in self.sections.get(section, [])]


def read_help(program, *command):
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    found, entries = Help(), None
    for line in done.stdout.splitlines():
        heading = re.match(r"^(\w[\w ]*):$", line)
        entry = ENTRY.match(line)
        if heading and not heading[1].startswith("Example"):
            entries = found.sections.setdefault(heading[1], [])
        elif line.startswith("Usage:"):
            found.usage = line.removeprefix("Usage:").strip()
        elif entries is not None and line.startswith(" " * 10):  # What the entry above does.
            name, text = entries[-1]
            entries[-1] = (name, f"{text} {line.strip()}".strip())
        elif entries is not None and entry:
            entries.append((entry[1], entry[2] or ""))
        elif not found.about:
            found.about = line
        else:
            if line:
                entries = None
            if line or found.rest:
                found.rest.append(line)
    return found


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page(name, version, page, see_also):
    lines = [f'.TH {name.upper()} 1 "" "Burnish {version}"', ".SH NAME",
             f"{roff(name)} \\- {roff(page.about)}", ".SH SYNOPSIS", f".B {roff(page.usage)}"]
    for section, entries in page.sections.items():
        lines.append(f".SH {section.upper()}")
        for entry, text in entries:
            lines += [".TP", f".B {roff(entry)}", roff(text)]
    if page.rest:
        lines += [".SH NOTES", ".nf", *map(roff, page.rest), ".fi"]
    if see_also:
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other)}\\fR(1)" for other in see_also)]
    return "\n".join(lines) + "\n"


def completion(name, program, shell):
    """Of `tuner`, its own; of a daemon, which has options alone, what its --help lists."""
    if name == "tuner":
        return subprocess.run([program, "completion", shell], capture_output=True, text=True,
                              check=True).stdout
    function = "_" + re.sub(r"\W", "_", name)
    return {"bash": f"""{function}() {{
  mapfile -t COMPREPLY < <(compgen -W "$("$1" --help | grep -o -- '--[a-z-]*')" -- "$2")
}}
complete -o default -F {function} {name}
""",
            "zsh": f"#compdef {name}\n_gnu_generic\n",
            "fish": f"complete -c {name} -a \"({name} --help | string match -ra -- '--[a-z-]+')\"\n",
            }[shell]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(share, *programs):
    share = pathlib.Path(share)
    for pair in programs:
        name, program = pair.split("=", 1)
        version = subprocess.run([program, "--version"], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        page = read_help(program)
        commands = {command: read_help(program, command) for command in page.names("Subcommands")}
        pages = {name: page, **{f"{name}-{command}": sub for command, sub in commands.items()}}
        for title, each in pages.items():
            others = [other for other in pages if other != title] if title == name else [name]
            write(share / "man/man1" / f"{title}.1", man_page(title, version, each, others))
        for shell, path in (("bash", f"bash-completion/completions/{name}"),
                            ("zsh", f"zsh/site-functions/_{name}"),
                            ("fish", f"fish/vendor_completions.d/{name}.fish")):
            write(share / path, completion(name, program, shell))


if __name__ == "__main__":
    main(*sys.argv[1:])
