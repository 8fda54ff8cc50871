"""clang-tidy on what changed, in parallel; what passed once is not looked at again.

A file that includes torch takes about 15 s, so the verdict "no finding" is kept in the user's cache folder under
a hash of everything that it depends on: the file, our own headers behind it, the compile command, .clang-tidy and the
version of clang-tidy.

What changed: the files of the commits since the merge base with origin/main, or with main, and of the working tree. On
main itself, where no commit is missing there, nothing says where the last landing began: then what the working tree
changes, and where that is nothing (so in a fresh clone, as CI has it) every file. The file that a commit changed last comes
first, so that a --budget leaves out the oldest; what passed once is skipped, so that the next run gets further.
A finding in any file that was looked at fails. --all looks at every file whatever changed; without a --budget it is the
full check.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = str(ROOT / ".venv/bin/clang-tidy")
BUILD = ROOT / "build" / "lint"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "headwright" / "lint"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def lines_of(*command):
    return [line for line in run(*command).stdout.splitlines() if line]


def compile_commands():
    """path -> compile command, of a configuration without gcc's precompiled headers, which clang cannot read."""
    configured = run("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(BUILD), "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON")
    if configured.returncode != 0:
        sys.exit(f"lint: cmake failed\n{configured.stdout}{configured.stderr}")
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {os.path.relpath(entry["file"], ROOT): entry["command"] for entry in entries}


def fork_from_main():
    """The commit where HEAD left main, and the name of main; None where HEAD is a commit of main."""
    head = lines_of("git", "rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        fork = lines_of("git", "merge-base", "HEAD", main)
        if fork and fork != head:
            return fork[0], main
    return None


def names_in(*commits):
    """Files of these commits, the newest change first."""
    return lines_of("git", "log", "--format=", "--name-only", "--no-renames", *commits)


def changed(base):
    """C++ files, the newest change first; in words which."""
    tree = lines_of("git", "diff", "--name-only", "HEAD") + lines_of("git", "ls-files", "--others", "--exclude-standard")
    fork = (base, base) if base else fork_from_main()
    if fork:
        names, words = tree + names_in(f"{fork[0]}..HEAD"), f"changed since {fork[1]}"
    elif tree:
        names, words = tree, "changed since HEAD"
    else:
        names, words = names_in("HEAD"), "in all, the newest change first"
    existing = [name for name in dict.fromkeys(names) if name.endswith((".cpp", ".h")) and (ROOT / name).exists()]
    return existing, words


def own_headers(path, seen):
    """The headers of this repository behind a file, through other headers too."""
    for name in INCLUDE.findall(path.read_bytes()):
        for folder in (path.parent, ROOT / "framework/include", ROOT / "framework/src", ROOT / "tests"):
            header = folder / name.decode()
            if header.exists() and header not in seen:
                seen.add(header)
                own_headers(header, seen)
    return seen


def sources_for(names, commands):
    """clang-tidy reads a header through a source that includes it: the one of its name, or the smallest."""
    headers = {name for name in names if name.endswith(".h")}
    sources = [name for name in names if name in commands]
    if headers:
        reach = {name: {os.path.relpath(header, ROOT) for header in own_headers(ROOT / name, set())} for name in commands}
    for header in sorted(headers):
        readers = [name for name in commands if header in reach[name]]
        same_name = [name for name in readers if pathlib.Path(name).stem == pathlib.Path(header).stem]
        if readers and not any(header in reach[name] for name in sources):
            sources.append(min(same_name or readers, key=lambda name: (ROOT / name).stat().st_size))
    return sources


def key_of(name, command, version):
    digest = hashlib.sha256(f"{version}\0{command}".replace(str(ROOT), "").encode())
    settings = [folder / ".clang-tidy" for folder in (ROOT / name).parents if folder.is_relative_to(ROOT)]
    for path in [*settings, ROOT / name, *sorted(own_headers(ROOT / name, set()))]:
        if path.exists():
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def tidy(name):
    """Findings as text, empty if there are none."""
    done = run(CLANG_TIDY, "--quiet", "-p", str(BUILD), name)
    return "" if done.returncode == 0 else done.stdout.replace(f"{ROOT}/", "") or done.stderr


def lint(pending, budget):
    """Returns (found, left out); starts no file after the budget."""
    started, found, left_out = time.monotonic(), [], []

    def one(name, key):
        if budget and time.monotonic() - started > budget:
            left_out.append(name)
            return
        text = tidy(name)
        if text:
            found.append(name)
            print(text, flush=True)
        else:
            (CACHE / key).touch()

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                                               else os.cpu_count()) as pool:
        list(pool.map(one, *zip(*pending)))
    return found, left_out


def main():
    parser = argparse.ArgumentParser(prog="tools/dev lint", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every source file")
    parser.add_argument("--base", metavar="REV", help="what changed since this commit")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="start no file after this time; tells what it left out")
    parser.add_argument("files", nargs="*", help="these files")
    arguments = parser.parse_args()

    commands = compile_commands()
    if arguments.files:
        names, words = [os.path.relpath(name, ROOT) for name in arguments.files], "named"
        unknown = [name for name in names if not name.endswith(".h") and name not in commands]
        if unknown:
            sys.exit(f"lint: not part of the build: {', '.join(unknown)}")
    elif arguments.all:
        names, words = sorted(commands), "in all"
    else:
        names, words = changed(arguments.base)
    sources = sources_for(names, commands)

    CACHE.mkdir(parents=True, exist_ok=True)
    version = run(CLANG_TIDY, "--version").stdout
    keys = {name: key_of(name, commands[name], version) for name in sources}
    pending = [(name, key) for name, key in keys.items() if not (CACHE / key).exists()]
    print(f"lint: {len(sources)} files {words}, {len(sources) - len(pending)} of them passed before", file=sys.stderr)
    found, left_out = lint(pending, arguments.budget) if pending else ([], [])
    if left_out:
        print(f"lint: {len(left_out)} left out after {arguments.budget:.0f} s: {' '.join(sorted(left_out))}", file=sys.stderr)
    if found:
        print(f"lint: findings in {' '.join(sorted(found))}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
