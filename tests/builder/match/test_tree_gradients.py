"""Below which backward entry the gradients of parameters stand."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import read_dump
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, backward, forward, tensor, write_dump

OWNER, AROUND = "Module.net.inner.Linear", "Module.net.Net"


def tree_of(tmp_path: Path, *names: str, inside: dict[str, str] | None = None) -> Tree:
    """Entries in the order in which they were written; gradients are in no construct.json."""
    made: dict[str, Json] = {}
    for name in names:
        if "parameters_grad" in name:
            made[name] = {"weight": [tensor(1)]}
        else:
            made[name] = (backward if ".backward" in name else forward)([tensor(1)], [tensor(1)])
    built = {name: (inside or {}).get(name) for name in names if "parameters_grad" not in name}
    return build_tree(read_dump(write_dump(tmp_path, made, built)))


def parent_of(tree: Tree, name: str) -> str | None:
    parent = tree.by_name[name].parent
    return parent.name if parent is not None and parent.kind != "root" else None


def test_as_many_gradients_as_passes_are_of_one_each(tmp_path: Path) -> None:
    names = [f"{OWNER}.{what}.{n}" for n in (0, 1) for what in ("backward", "parameters_grad")]
    tree = tree_of(tmp_path, *names)
    for n in (0, 1):
        assert parent_of(tree, f"{OWNER}.parameters_grad.{n}") == f"{OWNER}.backward.{n}"


def test_sums_are_of_the_pass_that_ran_when_they_were_written(tmp_path: Path) -> None:
    passes = [f"{OWNER}.backward.{n}" for n in (1, 0, 3, 2)]
    first, second = (f"{OWNER}.parameters_grad.{n}" for n in (0, 1))
    tree = tree_of(tmp_path, *passes[:2], first, *passes[2:], second)
    assert parent_of(tree, first) == passes[1]
    assert parent_of(tree, second) == passes[3]


def test_sums_that_were_all_written_at_the_end_are_numbered(tmp_path: Path) -> None:
    passes = [f"{OWNER}.backward.{n}" for n in range(3)]
    sums = [f"{OWNER}.parameters_grad.{n}" for n in (0, 1)]
    tree = tree_of(tmp_path, *passes, *sums)
    assert [parent_of(tree, name) for name in sums] == passes[:2]


def test_those_of_a_module_that_is_not_called_are_of_the_one_around(tmp_path: Path) -> None:
    gradient = f"{OWNER}.parameters_grad.0"
    tree = tree_of(tmp_path, f"{AROUND}.forward.0", gradient, f"{AROUND}.backward.0")
    assert parent_of(tree, gradient) == f"{AROUND}.backward.0"


def test_without_any_pass_around_they_stand_alone(tmp_path: Path) -> None:
    gradient = f"{OWNER}.parameters_grad.0"
    tree = tree_of(tmp_path, "Module.other.Net.forward.0", gradient, "Module.other.Net.backward.0")
    assert parent_of(tree, gradient) is None
