"""What an answer says of itself, and that nothing on the page says otherwise, over all samples."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import builder
from builder import BuildOptions
from builder.results.certainty import ENOUGH_SHARED, is_certain, share_of
from builder.results.database import ResultDatabase
from builder.results.open_results import open_results
from builder.results.reading import Results
from builder.results.records import Pair
from tb_graph_ascend.view.answer import Answer, answer
from tb_graph_ascend.view.diff.index import diff_index
from tb_graph_ascend.view.html import html_report
from tb_graph_ascend.view.rank_strip import rank_strip
from tb_graph_ascend.view.slide import slide
from tests.tb_graph_ascend.view.ports import LAYERS, port

# Every sample that is a comparison, with a threshold that leaves something above it unexplained.
PAIRS = {
    "statistics": ("statistics/problem", "statistics/bench"),
    "equal": ("statistics/bench", "statistics/bench"),
    "ranks": ("ranks/problem", "ranks/bench"),
    "tensor": ("tensor/problem", "tensor/bench"),
    "md5": ("md5/problem", "md5/bench"),
    "modules": ("level-L0/problem", "level-L0/bench"),
    "structure": ("structure/bench", "statistics/bench"),
    "micro-steps": ("micro-steps/bench", "statistics/bench"),
    "recompute": ("recompute/problem", "statistics/bench"),
    "nan": ("nan/problem", "statistics/bench"),
    "renamed": ("renamed/problem", "statistics/bench"),
    "extra-api": ("extra-api/problem", "statistics/bench"),
    "bert": ("bert-names/problem", "bert-names/bench"),
    "other model": ("communication/bench", "statistics/bench"),
}


# A port is compared by its weights otherwise.
_BY_NAME = BuildOptions(workers=1, same="program")


@pytest.fixture
def build(samples: Path, tmp_path: Path) -> Callable[[Path, Path], Path]:
    def made(problem: Path, benchmark: Path) -> Path:
        return builder.build(problem, benchmark, tmp_path / "out", _BY_NAME).path

    return made


def pair(matched: int, problem: int, benchmark: int) -> Pair:
    return Pair(0, 0, "ok", None, None, 0, matched, problem, benchmark)


def test_share_is_that_of_the_run_that_has_fewer() -> None:
    assert share_of([pair(6, 4, 94)]) == 0.6
    assert share_of([pair(1, 9, 0), pair(5, 1, 30)]) == 0.375
    assert share_of([]) is None
    assert is_certain(None)
    assert is_certain(ENOUGH_SHARED)
    assert not is_certain(ENOUGH_SHARED - 0.01)


def test_a_port_is_said_to_be_one(
    samples: Path, tmp_path: Path, build: Callable[[Path, Path], Path]
) -> None:
    ported = port(samples / "statistics" / "problem", tmp_path / "port", LAYERS)
    path = build(ported, samples / "statistics" / "bench")
    database = ResultDatabase(path)
    said = answer(database)
    assert (said.certain, said.causes) == (False, [])
    assert said.coverage.share is not None
    assert said.coverage.share < 0.35
    assert_consistent(database, said)
    database.close()


@pytest.mark.parametrize("name", PAIRS)
def test_no_sentence_contradicts_another(
    name: str, samples: Path, build: Callable[[Path, Path], Path]
) -> None:
    problem, benchmark = PAIRS[name]
    path = build(samples / problem, samples / benchmark)
    database = ResultDatabase(path)
    assert_consistent(database, answer(database))
    report = re.sub(r"<[^>]+>", " ", html_report(path))
    assert ("No difference" in report) == says_equal(answer(database))
    database.close()


@pytest.mark.parametrize("name", ["ranks", "nan-overflow"])
def test_nor_in_files_of_msprobe(name: str, samples: Path) -> None:
    database = open_results(samples / "vis-db" / f"{name}.vis.db")
    said = answer(database)
    assert said.certain
    for cause in said.causes[:1]:
        finding = cause.finding
        index = diff_index(database, finding.step, finding.rank)
        assert index.words.cause.any()
    database.close()


def says_equal(said: Answer) -> bool:
    """Whether the runs are said to be equal, wholly or as far as they were compared."""
    equal = said.claim.code in ("equal", "rounding") and not said.claim.incomplete
    assert equal <= (said.certain and not said.causes and not said.divergent)
    return equal and said.certain


def assert_consistent(database: Results, said: Answer) -> None:
    """Headline, strip, list, slide and rows are of one mind."""
    pairs = database.summary().pairs
    strip = rank_strip(pairs, said.threshold)
    looks = {cell.look for row in strip.rows for cell in row.cells if cell is not None}
    # The strip is red exactly where the headline's counts say so.
    assert bool(looks & {"low", "middle", "high"}) == any(
        one.worst is not None and one.worst > said.threshold for one in pairs
    )
    assert said.divergent == sum(one.divergent for one in pairs)
    marked: set[int] = set()
    for one in pairs:
        if one.status == "ok":
            index = diff_index(database, one.step, one.rank)
            rows = np.flatnonzero(index.words.cause)
            marked |= {int(key) for key in index.rows.key[rows]}
            divergent = int(index.words.divergent.sum())
            assert divergent == one.divergent, "rows and headline count alike"
    named = {place.node for cause in said.causes for place in cause.places}
    # Whatever begins in a row is in the list, and whatever is listed begins in a row.
    assert marked == named
    assert {cause.finding.node.id for cause in said.causes} <= named
    picture = slide(database, said)
    assert ("It begins" in picture) == bool(said.causes)
    assert ("No difference" in picture) == says_equal(said)
