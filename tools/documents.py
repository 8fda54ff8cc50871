"""Keeps the documents true: what they show of files and of commands is compared with what is, or written anew.

A marker stands on its own line before what it governs:
  <!-- file: PATH -->           the code block that follows is this file
  <!-- output: COMMAND -->      the code block that follows is what the command prints
  <!-- generated: COMMAND -->   everything up to <!-- end --> is what the command prints
A COMMAND starts with build/runner and runs in the root folder; what it says on stderr is shown as well. Milliseconds may
differ. CHANGELOG.md names every shipped variant.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "framework/README.md", "plugins/README.md", "configs/README.md")
MARKER = re.compile(r"^<!-- (file|output|generated): (.+?) -->$")


def printed_by(command, build):
    words = shlex.split(command)
    if words[0] != "build/runner":
        raise ValueError(f"'{command}': a shown command starts with build/runner")
    words = [word.replace("build/", f"{build}/", 1) if word.startswith("build/") else word for word in words]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          env={**os.environ, "NO_COLOR": "1"})
    return done.stdout.replace(f"{ROOT}/", "").rstrip("\n").split("\n")


def rewritten(text, build):
    lines, result, i = text.split("\n"), [], 0
    while i < len(lines):
        result.append(lines[i])
        marker = MARKER.match(lines[i])
        i += 1
        if not marker:
            continue
        kind, what = marker.groups()
        shown = (ROOT / what).read_text().rstrip("\n").split("\n") if kind == "file" else printed_by(what, build)
        if kind == "generated":
            end = lines.index("<!-- end -->", i)
            result += ["", *shown, ""]
        else:
            if not lines[i].startswith("```"):
                raise ValueError(f"'{marker.group(0)}' stands before a code block, got '{lines[i]}'")
            end = lines.index("```", i)
            result += [lines[i], *shown]
        i = end
    return "\n".join(result)


def variants_without_a_line(build):
    """Shipped variants that CHANGELOG.md does not name."""
    named = set(re.findall(r"`(\w+)`", (ROOT / "CHANGELOG.md").read_text()))
    return [name for name in printed_by("build/runner list --names", build) if name not in named]


def without_times(text):
    return re.sub(r"\d+(\.\d+)? ms", "N ms", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only tell, exit 1 if a document is out of date")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build tree")
    arguments = parser.parse_args()
    stale = 0
    for name in DOCUMENTS:
        path = ROOT / name
        old = path.read_text()
        new = rewritten(old, arguments.build)
        if without_times(old) == without_times(new):
            continue
        stale += 1
        if arguments.check:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "what is"))
        else:
            path.write_text(new)
            print(f"wrote {name}")
    if missing := variants_without_a_line(arguments.build):
        sys.exit(f"CHANGELOG.md names every variant, but not: {', '.join(missing)}")
    if arguments.check and stale:
        sys.exit("documents are out of date; 'tools/dev docs' writes them anew")


if __name__ == "__main__":
    main()
