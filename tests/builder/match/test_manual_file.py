"""Manual mapping files: round trip, atomic writing, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import MappingError
from builder.match.manual_file import (
    MappedPair,
    MappedWeights,
    mapping_path,
    read_mapping,
    read_weights,
    write_mapping,
)

NUMBERS = st.none() | st.integers(0, 9)
PAIRS = st.lists(st.builds(MappedPair, st.text(), st.text(), st.booleans(), NUMBERS, NUMBERS))


@given(PAIRS)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[MappedPair]
) -> None:
    path = tmp_path_factory.mktemp("mapping") / "x.mapping.json"
    write_mapping(path, pairs)
    assert read_mapping(path) == pairs
    assert [file.name for file in path.parent.iterdir()] == ["x.mapping.json"]


def test_the_file_stands_beside_its_database() -> None:
    assert mapping_path(Path("a/x.vis.db")) == Path("a/x.mapping.json")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "pairs": []}', '{"version": 1, "pairs": [{"problem": "a"}]}']
)
def test_other_forms_are_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.mapping.json"
    path.write_text(text)
    with pytest.raises(MappingError, match=r"x\.mapping\.json: "):
        read_mapping(path)


def test_pairs_without_step_and_rank_apply_everywhere() -> None:
    assert MappedPair("a", "b").applies_to(3, 1)
    assert MappedPair("a", "b", step=3).applies_to(3, 1)
    assert not MappedPair("a", "b", step=2).applies_to(3, 1)


def test_what_is_said_of_weights_stays_where_pairs_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.mapping.json"
    path.write_text(
        '{"version": 1, "weights": [{"problem": ["a.qkv"], "benchmark": ["b.q", "b.k"]},'
        ' {"problem": ["a.w"], "benchmark": ["b.w"], "factor": 2.0, "step": 1}]}'
    )
    weights = read_weights(path)
    assert weights == [
        MappedWeights(("a.qkv",), ("b.q", "b.k")),
        MappedWeights(("a.w",), ("b.w",), 2.0, step=1),
    ]
    assert read_mapping(path) == []
    write_mapping(path, [MappedPair("a", "b")])
    assert read_mapping(path) == [MappedPair("a", "b")]
    assert read_weights(path) == weights


@pytest.mark.parametrize(
    "weights",
    [
        '{"problem": [], "benchmark": ["b"]}',
        '{"problem": ["a"], "benchmark": []}',
        '{"problem": ["a", "c"], "benchmark": ["b", "d"]}',
        '{"problem": ["a", "c", "e"], "benchmark": ["b", "d"]}',
        '{"problem": ["a"], "benchmark": ["b"], "factor": 0}',
        '{"problem": ["a"], "benchmark": ["b"], "factor": "two"}',
        '{"problem": "a", "benchmark": "b"}',
    ],
)
def test_weights_that_say_nothing_are_refused_by_name(tmp_path: Path, weights: str) -> None:
    path = tmp_path / "x.mapping.json"
    path.write_text(f'{{"version": 1, "weights": [{weights}]}}')
    with pytest.raises(MappingError, match=r"x\.mapping\.json: "):
        read_weights(path)
