"""Reads the YAML file of a layer mapping, with the line of whatever is wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from builder.errors import MappingError
from builder.match.layer_mapping import TOP, LayerMapping, Rule
from msprobe_core.format.bounded import compose_yaml

_FORMER_TOP = "Cell"  # of earlier mapping files: no model's class is called so


def read_layer_mapping(path: Path) -> LayerMapping:
    """Read a mapping file; raises MappingError that names the file and line of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MappingError(f"{path}: no such file", "give a YAML file to -lm") from None
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise MappingError(f"{path}: cannot be read ({cause})", "give a YAML file to -lm") from None
    try:
        document = compose_yaml(text)
    except ValueError as error:
        raise MappingError(f"{path}: no valid YAML ({error})", "correct the file") from None
    mapping = LayerMapping(path)
    for owner, rules in _pairs(path, document, "a mapping of classes"):
        for problem, benchmark in _pairs(path, rules, f"the rules of {owner.value}"):
            _check_text(path, problem)
            _check_text(path, benchmark)
            line = problem.start_mark.line + 1
            name = TOP if owner.value == _FORMER_TOP else str(owner.value)
            mapping.add(Rule(name, problem.value, benchmark.value, line))
    return mapping


def _pairs(
    path: Path, node: yaml.Node | None, what: str
) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        line = f":{node.start_mark.line + 1}" if node is not None else ""
        raise MappingError(f"{path}{line}: expected {what}", "write `key: value` lines")
    yield from node.value


def _check_text(path: Path, node: yaml.Node) -> None:
    if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip("."):
        line = node.start_mark.line + 1
        raise MappingError(f"{path}:{line}: no module path", "write one such as mlp.fc1")
