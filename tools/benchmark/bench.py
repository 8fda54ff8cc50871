"""The two figures of the README, each a ratio of programs that take turns, so that a busy machine slows both.

startup: the whole process `runner forward` of a lesson, against a bare libtorch program that adds two tensors; at most 1.25.
stack:   a 12-layer stack composed from YAML, against the same modules written by hand with a direct call of
         scaled_dot_product_attention; at most 1.02, outputs equal to 1e-6.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LESSON = ROOT / "configs/lessons/multi_head_attention.yaml"
STACK = ROOT / "tools/benchmark/stack.yaml"


def milliseconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def verdict(value, target):
    return f"{value:.3f} (target: at most {target}){'' if value <= target else '  MISSED'}"


def startup(build, rounds):
    ours, bare = [str(build / "runner"), "forward", str(LESSON)], [str(build / "bench_bare_libtorch")]
    milliseconds(ours), milliseconds(bare)  # the plugins' verdicts and the files are in their caches
    pairs = []
    for i in range(rounds):
        if i % 2:
            pairs.append((milliseconds(ours), milliseconds(bare)))
        else:
            second = milliseconds(bare)
            pairs.append((milliseconds(ours), second))
    print(f"start-up, whole process, {rounds} rounds in turns")
    print(f"  runner forward {LESSON.relative_to(ROOT)}: {statistics.median(a for a, _ in pairs):.0f} ms")
    print(f"  bare libtorch, two tensors added: {statistics.median(b for _, b in pairs):.0f} ms")
    print(f"  median ratio {verdict(statistics.median(a / b for a, b in pairs), 1.25)}")


def stack(build, rounds):
    for batch, seq in ((1, 128), (4, 256)):
        done = subprocess.run([str(build / "bench_stack"), str(STACK), str(batch), str(seq), str(rounds)], check=True,
                              stdout=subprocess.PIPE, text=True)
        result = json.loads(done.stdout)
        print(f"stack of {result['layers']} layers, {tuple(result['shape'])} {result['dtype']}, {result['threads']} threads, "
              f"kernel {result['kernel']}, {result['rounds']} rounds in turns")
        print(f"  composed from YAML {result['composed_ms']:.1f} ms, by hand {result['by_hand_ms']:.1f} ms")
        print(f"  median ratio {verdict(result['median_ratio'], 1.02)}, "
              f"largest difference {result['max_abs_difference']:.1e}{'' if result['max_abs_difference'] <= 1e-6 else '  MISSED'}")


def main():
    parser = argparse.ArgumentParser(prog="tools/dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="startup, stack; both if none is named")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    known = {"startup": startup, "stack": stack}
    for name in arguments.what or known:
        if name not in known:
            sys.exit(f"bench: got '{name}', expected startup or stack")
        known[name](arguments.build, arguments.rounds)


if __name__ == "__main__":
    main()
