"""A walk over two runs of a few calls each, written down as their dumps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builder.compare.comparison import compare
from builder.compare.score import Tolerance
from builder.diagnosis.blame import Walked, walk
from builder.diagnosis.finding import Finding
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import forward, tensor, write_dump

Entries = Mapping[str, object]
A, B, C = (f"Torch.op{x}.0.forward" for x in "abc")


def walked(tmp_path: Path, ours: Entries, theirs: Entries, **parents: str) -> Walked:
    """What a walk establishes; `parents` by an entry's name, or by the second part of it."""

    def make(side: str, data: Entries) -> Tree:
        construct = {name: parents.get(name, parents.get(name.split(".")[1])) for name in data}
        return build_tree(read_dump(write_dump(tmp_path / side, data, construct)))

    return walk(compare(match_trees(make("p", ours), make("b", theirs)), Tolerance()))


def findings(tmp_path: Path, ours: Entries, theirs: Entries, **parents: str) -> list[Finding]:
    """What a walk finds, as in `walked`."""
    return walked(tmp_path, ours, theirs, **parents).findings


def chain(*norms: float) -> dict[str, object]:
    """Calls a, b, c in a row, each reading what the one before put out."""
    names = (A, B, C)
    pairs = zip(names, norms, norms[1:])
    return {name: forward([tensor(x)], [tensor(y)]) for name, x, y in pairs}


def names(found: list[Finding]) -> list[str]:
    return [finding.node.name for finding in found]
