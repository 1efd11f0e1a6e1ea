"""A rank that another one feeds says from which, through which call, and how much runs before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.results.open_results import open_results
from builder.results.reading import Results
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.diff.index import diff_index
from tb_graph_ascend.view.diff.shares import shares_of
from tests.builder.dumps import forward, tensor, write_dump

MADE, REDUCE, READ = (
    "Torch.mul.0.forward",
    "Distributed.all_reduce.0.forward",
    "Torch.add.0.forward",
)


def rank(side: Path, number: int, sent: float, got: float) -> None:
    """What a rank makes, sends to all, and reads of the sum."""
    data = {
        MADE: forward([tensor(1)], [tensor(sent)]),
        REDUCE: forward([tensor(sent)], [tensor(got)]),
        READ: forward([tensor(got)], [tensor(2 * got)]),
    }
    write_dump(side / "step0" / f"rank{number}", data, dict.fromkeys(data))


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    """Two ranks, of which the second one multiplies otherwise."""
    for number, (ours, theirs) in enumerate([(2.0, 2.0), (9.0, 3.0)]):
        rank(tmp_path / "problem", number, ours, 11.0)
        rank(tmp_path / "benchmark", number, theirs, 5.0)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    opened = open_results(builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path)
    yield opened
    opened.close()


def test_a_rank_that_is_fed_by_another_says_from_where(results: Results) -> None:
    (cause,) = answer(results).causes
    assert (cause.ranks, cause.finding.node.name) == ([1], MADE)
    shares = shares_of(diff_index(results, 0, 0))
    assert shares.causes == []
    came = shares.came
    assert came is not None
    assert (came.name, came.peer_rank, came.calls, came.before) == (REDUCE, 1, 1, 0)
    assert shares.divergent == 2
    peer = results.node(came.peer_node)
    assert (peer.name, results.node(came.node).name) == (REDUCE, REDUCE)


def test_the_rank_itself_got_it_from_nobody(results: Results) -> None:
    assert shares_of(diff_index(results, 0, 1)).came is None
