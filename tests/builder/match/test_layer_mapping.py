"""Layer mapping files: what they translate, and the file and line of every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.errors import MappingError
from builder.match.layer_file import read_layer_mapping
from builder.match.nodes import MatchRules, match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import write_dump


def modules(folder: Path, paths: dict[str, str]) -> Tree:
    """A tree of modules by path and class, nested where one path extends another."""
    names = {path: f"Module.{path}.{kind}.forward.0" for path, kind in paths.items()}
    construct = {}
    for path, name in names.items():
        above = [p for p in names if path.startswith(p + ".")]
        construct[name] = names[max(above, key=len)] if above else None
    return build_tree(read_dump(write_dump(folder, {}, construct)))


def translated(
    tmp_path: Path, rules: str, ours: dict[str, str], theirs: dict[str, str]
) -> dict[str, str]:
    file = tmp_path / "mapping.yaml"
    file.write_text(rules)
    mapping = read_layer_mapping(file)
    problem = modules(tmp_path / "p", ours)
    matching = match_trees(problem, modules(tmp_path / "b", theirs), MatchRules(mapping))
    mapping.check([r.used for r in mapping.rules], [r.reached for r in mapping.rules])
    return {
        node.entry.path: partner.entry.path
        for node in problem.in_order
        if node.entry is not None
        and (partner := matching.partner.get(node)) is not None
        and partner.entry is not None
    }


def test_the_longest_rule_wins(tmp_path: Path) -> None:
    ours = {"net": "Net", "net.a": "A", "net.a.x": "X", "net.a.y": "X"}
    theirs = {"net": "Net", "net.b": "B", "net.b.y": "X", "net.c": "C"}
    rules = "Net:\n  a: b\n  a.x: c\n"
    assert translated(tmp_path, rules, ours, theirs) == {
        "net": "net",
        "net.a": "net.b",
        "net.a.x": "net.c",
        "net.a.y": "net.b.y",
    }


@pytest.mark.parametrize("key", ['"0": "1"', "0: 1"])
def test_layer_numbers_work_quoted_or_not(tmp_path: Path, key: str) -> None:
    assert translated(tmp_path, f"TopLayer:\n  {key}\n", {"0": "A"}, {"1": "B"}) == {"0": "1"}


def test_a_rule_reaches_another_level(tmp_path: Path) -> None:
    ours = {"net": "Net", "net.attn": "Attn", "net.attn.qkv": "Linear"}
    theirs = {"net": "Net", "net.qkv": "Linear"}
    found = translated(tmp_path, "Net:\n  attn.qkv: qkv\n", ours, theirs)
    assert found == {"net": "net", "net.attn.qkv": "net.qkv"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Net:\n  nowhere: b\n", 2),
        ("Net:\n  a: missing\n", 2),
        ("Net:\n  a: b\n  a: c\n", 3),
        ("Net: b\n", 1),
        ("Net:\n  a: [b]\n", 2),
        ("- Net\n", 1),
    ],
)
def test_a_rule_that_does_nothing_is_an_error_with_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(MappingError, match=rf"mapping\.yaml:{line}: "):
        translated(tmp_path, text, {"net": "Net", "net.a": "A"}, {"net": "Net", "net.b": "B"})


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match=r"none\.yaml: no such file"):
        read_layer_mapping(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("Net: [\n")
    with pytest.raises(MappingError, match=r"broken\.yaml: no valid YAML"):
        read_layer_mapping(broken)
