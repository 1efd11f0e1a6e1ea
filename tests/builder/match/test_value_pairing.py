"""Values of matched nodes pair by key, each exactly once, in the order of the nodes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import read_dump
from builder.match.nodes import Matching, match_trees
from builder.match.tree import build_tree
from builder.match.value_pairing import SURPLUS, pair_values
from tests.builder.dumps import forward, tensor, write_dump

SIZES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6)


def matched(folder: Path, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Matching:
    trees = []
    for side, sizes in (("p", left), ("b", right)):
        data = {
            f"Torch.op{place}.0.forward": forward([tensor()] * inputs, [tensor()] * outputs)
            for place, (inputs, outputs) in enumerate(sizes)
        }
        path = write_dump(folder / side, data, dict.fromkeys(data))
        trees.append(build_tree(read_dump(path)))
    return match_trees(*trees)


@given(SIZES, SIZES)
def test_every_value_of_a_matched_node_stands_in_one_row(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        matching = matched(Path(folder), left, right)
    pairs = pair_values(matching)
    assert pairs.node.tolist() == sorted(pairs.node.tolist())
    keys = [tree.dump.values.keys for tree in (matching.problem, matching.benchmark)]
    for p, b in zip(pairs.problem.tolist(), pairs.benchmark.tolist(), strict=True):
        assert SURPLUS in (p, b) or keys[0][p] == keys[1][b]
    both = [
        (node, partner)
        for node in matching.problem.in_order
        if (partner := matching.partner.get(node)) is not None
        and node.values[0] < node.values[1]
        and partner.values[0] < partner.values[1]
    ]
    for column, place in ((pairs.problem, 0), (pairs.benchmark, 1)):
        wanted = [index for pair in both for index in range(*pair[place].values)]
        assert Counter(column[column != SURPLUS].tolist()) == Counter(wanted)
