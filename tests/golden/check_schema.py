"""Judges configs/schema.json with validators that know nothing of headwright: jsonschema, and YAML 1.2 by ruamel.yaml.

Usage: check_schema.py SCHEMA CONFIG...   Prints one line per fault; exit 1 if there is any.
"""
import copy
import json
import sys

import jsonschema
from ruamel.yaml import YAML


def read(path):
    with open(path, encoding="utf-8") as file:
        return YAML(typ="safe").load(file)


def maps_in(node):
    """Every map of a config, except the one whose keys are names that the author chooses."""
    if isinstance(node, dict):
        yield node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else []):
        if key == "blocks":
            for block in child.values():
                yield from maps_in(block)
        else:
            yield from maps_in(child)


def with_unknown_key(config, index):
    """The config with a key that nothing knows in its map number `index`, or None."""
    changed = copy.deepcopy(config)
    for number, node in enumerate(maps_in(changed)):
        if number == index:
            node["no_such_key"] = 1
            return changed
    return None


def main(schema_path, config_paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    faults, mutations = 0, 0
    for path in config_paths:
        config = read(path)
        for error in validator.iter_errors(config):
            faults += 1
            print(f"{path}: {error.json_path}: {error.message}")
        index = 0
        while (changed := with_unknown_key(config, index)) is not None:
            mutations += 1
            if validator.is_valid(changed):
                faults += 1
                print(f"{path}: an unknown key in map {index} is accepted")
            index += 1
    print(f"{len(config_paths)} configs, {mutations} unknown keys, {faults} faults")
    return 1 if faults or not config_paths or not mutations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
