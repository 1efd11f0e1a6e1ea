"""Sets of manual pairs that clients lay down: how many are kept."""

from __future__ import annotations

from builder.match.manual_file import MappedPair
from tb_graph_ascend.server.errors import PreconditionError
from tb_graph_ascend.server.manual_pairs import PairSets


def _pairs(number: int, letters: int = 100) -> list[MappedPair]:
    return [MappedPair(f"{number:0{letters}}", "b")]


def test_sets_are_kept_until_they_are_too_large_together() -> None:
    sets = PairSets(most_bytes=1000)
    names = [sets.keep(_pairs(number)) for number in range(20)]

    kept = [name for name in names if _is_kept(sets, name)]
    assert kept == names[-len(kept) :]
    assert 2 <= len(kept) <= 1000 // 100


def test_one_set_is_kept_however_large_it_is() -> None:
    sets = PairSets(most_bytes=1000)
    before = sets.keep(_pairs(1))
    large = sets.keep(_pairs(2, 5000))

    assert sets.find(large) == _pairs(2, 5000)
    assert not _is_kept(sets, before)


def test_a_set_that_is_laid_down_again_counts_once() -> None:
    sets = PairSets(most_bytes=400)
    first = sets.keep(_pairs(1))
    for _ in range(20):
        sets.keep(_pairs(2))

    assert _is_kept(sets, first)


def _is_kept(sets: PairSets, name: str) -> bool:
    try:
        sets.find(name)
    except PreconditionError:
        return False
    return True
