"""A pair that comes to one result in two ways: nothing begins there, and a fault beside it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.results.database import ResultDatabase
from builder.run.build import BuildResult
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.diff.index import DiffIndex, diff_index
from tb_graph_ascend.view.diff.outline import OutlineWish, outline_of
from tb_graph_ascend.view.diff.words import WORDS
from tb_graph_ascend.view.slide import slide
from tests.builder.diagnosis.test_healing import compared, scaled_before, scaled_behind

ALARM = "#b3261e"


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    """The two ways alone."""
    yield from opened(compared(tmp_path_factory.mktemp("ways"), scaled_before, scaled_behind))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultDatabase]:
    """The two ways, and a fault in a branch beside them."""
    folder = tmp_path_factory.mktemp("beside")
    yield from opened(compared(folder, scaled_before, scaled_behind, scale=1.5))


def opened(made: BuildResult) -> Iterator[ResultDatabase]:
    results = ResultDatabase(Path(made.path))
    yield results
    results.close()


def said(index: DiffIndex) -> dict[str, int]:
    """How many rows have each word, of those that are themselves what it says."""
    own = index.words.word[~index.words.inside].tolist()
    return {word: own.count(code) for code, word in enumerate(WORDS)}


def test_nothing_begins_where_all_heals(healed: ResultDatabase) -> None:
    index = diff_index(healed, 0, 0)
    assert said(index)["heals"] > 0
    assert "begins" not in {WORDS[word] for word in index.words.word.tolist()}
    assert index.profile.causes == [] and index.profile.heals != []
    rows = outline_of(index, OutlineWish(divergent=True), 0, 99).rows
    assert rows and not any(row.begins for row in rows)


def test_a_fault_beside_it_begins_and_the_way_still_heals(faulty: ResultDatabase) -> None:
    index = diff_index(faulty, 0, 0)
    words = said(index)
    assert words["begins"] > 0 and words["heals"] > 0
    assert index.profile.causes != [] and index.profile.heals != []
    assert WORDS[index.words.word[0]] == "begins" and index.words.inside[0]  # of both the graver


def test_the_slide_is_as_mild_as_its_sentence(
    healed: ResultDatabase, faulty: ResultDatabase
) -> None:
    drawn = slide(healed, answer(healed))
    assert "another way" in drawn and "BEGINS" not in drawn and ALARM not in drawn
    said = answer(faulty)
    assert ALARM in slide(faulty, said)
    beside = slide(faulty, said, cause=said.causes[-1])  # the runs come to two results
    assert "mixer comes to the same result another way" in beside


def test_the_strip_marks_calls_of_one_run_alone_and_no_others(healed: ResultDatabase) -> None:
    index = diff_index(healed, 0, 0)
    leaves = index.words.alone & (index.rows.children == 0)
    assert 0 < len(index.profile.alone) <= int(leaves.sum())
