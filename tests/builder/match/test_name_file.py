"""Cell and data mappings: what the lines mean, and what is wrong in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.errors import MappingError
from builder.match.name_file import read_cell_mapping, read_data_mapping
from builder.match.tree import build_tree
from tests.builder.dumps import forward, tensor, write_dump


def translated(tmp_path: Path, mapping: str, *modules: str) -> dict[str, str]:
    names = [f"Module.{module}.forward.0" for module in modules]
    data = {name: forward([tensor()], [tensor()]) for name in names}
    tree = build_tree(read_dump(write_dump(tmp_path / "rank0", data, dict.fromkeys(names))))
    file = tmp_path / "cells.yaml"
    file.write_text(mapping)
    found = read_cell_mapping(file).translate(tree)
    return {node.entry.path: path for node, (path, _) in found.items() if node.entry is not None}


def test_whole_line_decides_before_parts_of_names(tmp_path: Path) -> None:
    mapping = "fc1.Dense: linear1.Linear\nenc.fc1.Dense: encoder.first.Linear\n"
    assert translated(tmp_path, mapping, "enc.fc1.Dense", "dec.fc1.Dense") == {
        "enc.fc1": "encoder.first",
        "dec.fc1": "dec.linear1",
    }


def test_part_of_a_path_renames_all_below_it(tmp_path: Path) -> None:
    assert translated(tmp_path, "encoder: enc\n", "encoder.0.mlp.Linear", "head.Linear") == {
        "encoder.0.mlp": "enc.0.mlp",
        "head": "head",
    }


def test_data_mapping_is_a_dictionary_of_names(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a.0.forward.input.0: b.0.forward.input.1\n")
    assert read_data_mapping(file) == {"a.0.forward.input.0": "b.0.forward.input.1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n", "no mapping"),
        ("a: [b]\n", r":1: no name"),
        ("a: 'b\n", "no valid YAML"),
        ("", "no mapping"),
    ],
)
def test_mistake_is_said_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(MappingError, match=words):
        read_data_mapping(file)
    file.write_bytes(b"\xff")
    with pytest.raises(MappingError, match="cannot be read"):
        read_cell_mapping(file)
