"""The package that `cmake --install` makes, as somebody outside this repository uses it.

It is installed, moved to another folder, and used from there: to list and run what is shipped, and to make, build and test
a plugin of one's own.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree that is installed")
parser.add_argument("--torch", required=True, help="the CMake prefix of torch")
parser.add_argument("--launcher", default="", help="the compiler launcher of the build, such as ccache")
arguments = parser.parse_args()

# One place for every run, so that ccache knows the files again
place = arguments.build / "tests" / "sdk"
source = pathlib.Path(__file__).resolve().parents[2]
prefix = place / "moved"


def run(*command, folder=place, exit_code=0):
    """What the command prints on stdout and stderr together."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADWRIGHT")}
    done = subprocess.run([str(word) for word in command], cwd=folder, text=True, env=environment, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != exit_code:
        sys.exit(f"{' '.join(map(str, command))}: ended with {done.returncode}, expected {exit_code}\n{done.stdout}")
    return done.stdout


def expect(holds, message):
    if not holds:
        sys.exit(message)


def install_and_move():
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run("cmake", "--install", arguments.build, "--prefix", place / "first")
    (place / "first").rename(prefix)


def use_what_is_shipped():
    runner = prefix / "bin" / "runner"
    listed = json.loads(run(runner, "list", "--json"))
    built = {path.stem for path in (arguments.build / "plugins").glob("*.so")}
    expect(not listed["refused"], f"refused: {listed['refused']}")
    expect({plugin["name"] for plugin in listed["plugins"]} >= built, f"not all of {built} are in {listed['plugins']}")
    for plugin in listed["plugins"]:
        expect(plugin["file"].startswith(f"{prefix}/lib/"), f"{plugin['file']} is not of the package")
    needed = run("ldd", runner)
    expect(f"{prefix}/bin/../lib/libheadwright.so" in needed, f"the runner takes another libheadwright:\n{needed}")
    run(runner, "forward", prefix / "share/headwright/configs/models/tiny_gpt.yaml")
    run(runner, "lesson", "3.3.1")
    for file in [path for folder in ("lib/cmake", "include", "share") for path in (prefix / folder).rglob("*.*")]:
        text = file.read_text() if file.is_file() and file.name != "LIBTORCH.md" else ""  # which names where torch lies
        expect(str(place) not in text and str(arguments.build.parent) not in text, f"{file} names a folder of this build")


def read_the_documents():
    share = prefix / "share/headwright"
    examples = {path.relative_to(share) for path in (share / "plugins").glob("*/*.cpp")}
    shipped = {path.relative_to(source) for path in (source / "plugins").glob("*/*.cpp")}
    expect(examples == shipped, f"the examples differ from the variants: {examples ^ shipped}")
    for document in ("README.md", "plugins/README.md", "configs/README.md", "framework/README.md"):
        text = re.sub(r"^```.*?^```", "", (share / document).read_text(), flags=re.MULTILINE | re.DOTALL)  # code has [](...)
        for link in re.findall(r"\]\(([^)h#][^)#]*)", text):
            expect(((share / document).parent / link).exists(), f"{document} refers to {link}, which is not installed")
    libtorch = re.search(r"^    (/.*)$", (share / "LIBTORCH.md").read_text(), re.MULTILINE)
    expect(libtorch and (pathlib.Path(libtorch[1]) / "libtorch.so").exists(), "LIBTORCH.md does not tell where libtorch is")
    needed = run("ldd", prefix / "bin/runner")
    expect(f"{libtorch[1]}/libtorch" in needed, f"the runner takes another libtorch than {libtorch[1]}:\n{needed}")


def configure(folder, *more, exit_code=0):
    launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={arguments.launcher}"] if arguments.launcher else []
    return run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", *launcher, *more, exit_code=exit_code)


def make_a_plugin():
    said = run(prefix / "bin/runner", "new-plugin", "my_attention", "--kind", "attention")
    expect(str(prefix) in said, f"the prefix is not named:\n{said}")
    plugin = place / "my_attention"
    without_torch = configure(plugin, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON", exit_code=1)
    expect("was built with torch" in without_torch.replace("\n  ", " "), f"the error names no torch:\n{without_torch}")
    shutil.rmtree(plugin / "build")
    configure(plugin, f"-DCMAKE_PREFIX_PATH={prefix};{arguments.torch}")
    run("cmake", "--build", plugin / "build")
    said = run("ctest", "--test-dir", plugin / "build", "--output-on-failure")
    expect("100% tests passed, 0 tests failed out of 3" in said, said)
    shutil.move(prefix, place / "moved_again")  # what was built goes with it
    checked = json.loads(run(place / "moved_again/bin/runner", "check", plugin / "build/my_attention.so", "--json"))
    expect(checked["name"] == "my_attention" and checked["passed"], f"{checked}")


install_and_move()
use_what_is_shipped()
read_the_documents()
make_a_plugin()
shutil.rmtree(place)
