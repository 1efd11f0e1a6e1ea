"""Guesses are those of all pairs, best first, and of equal ones the first."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.match.guess import ACCEPTED, guess_modules
from builder.match.tree import Tree, TreeNode, build_tree
from tests.builder.dumps import forward, tensor, write_dump


def _drawn(folder: Path, drawn: random.Random, kinds: int, names: int) -> Tree:
    """Modules side by side; few kinds, shapes and names make many of them alike."""
    data = {}
    for at in range(drawn.randint(1, 12)):
        name = f"Module.part{at}.n{drawn.randrange(names)}.C{drawn.randrange(kinds)}.forward.0"
        weights = {f"w{n}": tensor(shape=[drawn.randint(1, 2)]) for n in range(drawn.randint(0, 2))}
        data[name] = forward([], [], parameters=weights)
    return build_tree(read_dump(write_dump(folder, data, dict.fromkeys(data))))


def _score(ours: TreeNode, theirs: TreeNode, trees: tuple[Tree, Tree], apart: float) -> float:
    def shapes(node: TreeNode, tree: Tree) -> list[object]:
        return sorted(tree.dump.values.records[at].shape or () for at in range(*node.values))

    assert ours.entry is not None and theirs.entry is not None
    score = 0.2 * (1.0 - abs(apart)) + 0.3 * (ours.entry.type_name == theirs.entry.type_name)
    score += 0.2 * (ours.label == theirs.label)
    return score + 0.3 * (shapes(ours, trees[0]) == shapes(theirs, trees[1]))


@pytest.mark.parametrize("seed", range(40))
def test_guesses_are_the_best_of_all_pairs_again_and_again(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    many = drawn.choice([(1, 1), (2, 9), (3, 2)])
    trees = _drawn(tmp_path / "a", drawn, *many), _drawn(tmp_path / "b", drawn, *many)
    left, right = (tree.root.children for tree in trees)
    scored = sorted(
        (-_score(left[i], right[j], trees, i / len(left) - j / len(right)), i, j)
        for i, j in product(range(len(left)), range(len(right)))
    )
    expected, taken = [], set()
    for score, i, j in scored:
        if -score >= ACCEPTED and not {("l", i), ("r", j)} & taken:
            taken |= {("l", i), ("r", j)}
            expected.append((left[i], right[j], pytest.approx(-score)))

    assert guess_modules(left, right, trees) == expected
