"""Reads YAML files that map names to names: cell mappings and data mappings."""

from __future__ import annotations

from pathlib import Path

import yaml

from builder.errors import MappingError
from builder.match.cell_mapping import CellMapping
from builder.match.layer_mapping import Rule
from msprobe_core.format.bounded import compose_yaml


def read_cell_mapping(path: Path) -> CellMapping:
    """Read a cell mapping; raises MappingError that names the file and line of what is wrong."""
    rules = [Rule("", name, other, line) for name, other, line in _lines(path, "-cm")]
    return CellMapping(path, rules)


def read_data_mapping(path: Path) -> dict[str, str]:
    """Read which value of the problem pairs with which of the benchmark, by their full names."""
    return {name: other for name, other, _ in _lines(path, "-dm")}


def _lines(path: Path, flag: str) -> list[tuple[str, str, int]]:
    try:
        document = compose_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MappingError(f"{path}: no such file", f"give a YAML file to {flag}") from None
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise MappingError(
            f"{path}: cannot be read ({cause})", f"give a YAML file to {flag}"
        ) from None
    except ValueError as error:
        raise MappingError(f"{path}: no valid YAML ({error})", "correct it") from None
    if not isinstance(document, yaml.MappingNode):
        raise MappingError(
            f"{path}: no mapping", "write `name: name` lines, the problem's name first"
        )
    for pair in document.value:
        for node in pair:
            if not isinstance(node, yaml.ScalarNode) or not str(node.value):
                raise MappingError(
                    f"{path}:{node.start_mark.line + 1}: no name", "write `name: name` lines"
                )
    return [(str(a.value), str(b.value), a.start_mark.line + 1) for a, b in document.value]
