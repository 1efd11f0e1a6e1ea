"""Manual mapping files: round trip, atomic writing, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import MappingError
from builder.match.manual_file import MappedPair, mapping_path, read_mapping, write_mapping

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
