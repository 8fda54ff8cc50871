"""Loads what `runner export` wrote with stock PyTorch and compares it with what the model computed.

usage: check_export.py CASES.json   [{config, file, report, runs: [{part, input, output, cast}]}]
A run calls a part of the module, such as blocks.0.attention, or all of it where `part` is empty; of a module that was
cast to the dtype `cast`, where that is there.
"""
import functools
import json
import sys

import safetensors.torch
import torch
from ruamel.yaml import YAML

yaml = YAML(typ="safe")

# Two processes may add in another order: some units in the last place, relative to the largest value.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}


def arguments(module, tensors):
    """The tensors in the order in which the module's forward takes them."""
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    assert set(tensors) <= set(names), f"got {sorted(tensors)}, but forward takes {names}"
    return {name: tensors[name] for name in names if name in tensors}


def check_run(whole, run):
    module = functools.reduce(getattr, filter(None, run["part"].split(".")), whole)
    inputs = safetensors.torch.load_file(run["input"])
    expected = safetensors.torch.load_file(run["output"])["y"]
    given = arguments(module, inputs)
    y = module(**given)
    assert y.shape == expected.shape and y.dtype == expected.dtype, (y.shape, y.dtype, expected.shape, expected.dtype)
    limit = TOLERANCE[y.dtype] * max(1.0, expected.abs().max().item())
    error = (y - expected).abs().max().item()
    assert error <= limit, f"{run['part']} {({name: list(x.shape) for name, x in inputs.items()})}: largest difference {error}, expected at most {limit}"
    module.train()  # the inference form has nothing to switch on
    assert torch.equal(module(**given), y), "two passes differ"
    module.eval()
    return error


def check_names(module, report):
    distinct = {parameter.data_ptr(): parameter.numel() for parameter in module.parameters()}
    assert sum(distinct.values()) == report["parameters"], (sum(distinct.values()), report["parameters"])
    names = set(module.state_dict())
    assert all(name.split(".")[0] in {"embedding", "encoder", "blocks", "final_norm", "head"} for name in names), names
    model, state = yaml.load(report["config"])["model"], module.state_dict()
    shared = {"head.weight": model.get("head"),
              "encoder.embedding.token.weight": (model.get("encoder") or {}).get("embedding")}
    for name, section in shared.items():
        if section and section.get("tied"):
            assert state[name].data_ptr() == state["embedding.token.weight"].data_ptr(), f"{name}: tied weights came apart"


def check(case):
    extra = {"config.yaml": "", "headwright.json": "", "sha256": ""}
    module = torch.jit.load(case["file"], _extra_files=extra)
    assert extra["config.yaml"].startswith(b"name:"), extra["config.yaml"][:40]
    assert extra["sha256"].decode() == case["report"]["sha256"]
    graph = str(module.inlined_graph)
    assert "Device = prim::Constant" not in graph, "a device is written into the graph"
    with torch.no_grad():
        errors = [check_run(module, run) for run in case["runs"] if "cast" not in run]
        for run in case["runs"]:
            if "cast" in run:
                check_run(torch.jit.load(case["file"]).to(getattr(torch, run["cast"])), run)
    check_names(module, {**case["report"], "config": extra["config.yaml"].decode()})
    print(f"{case['config']}: {len(errors)} runs, largest difference {max(errors)}")


def main():
    assert not any(name.startswith("headwright") for name in sys.modules)
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    failed = 0
    for case in cases:
        try:
            check(case)
        except Exception as error:  # every config is reported, not the first alone
            failed += 1
            print(f"{case['config']}: {type(error).__name__}: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
