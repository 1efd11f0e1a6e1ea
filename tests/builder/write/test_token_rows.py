"""Lines over tokens: bounded, by request and position, the worst of each cell kept."""

from __future__ import annotations

import numpy as np
import pytest

from builder.match.sequences.token_alignment import Tokens
from builder.match.sequences.token_matching import TokenErrors
from builder.write.token_rows import MOST_CELLS, cells_of, token_cell_rows


def known(requests: list[int], positions: list[int]) -> TokenErrors:
    rows = np.zeros((len(requests), 2), dtype=np.int64)
    return TokenErrors(Tokens(np.array(requests), np.array(positions), rows, rows, (), 0), {})


def test_cells_stand_in_the_order_of_requests_whatever_computed_them_first() -> None:
    rows = list(token_cell_rows(known([1, 0, 1, 0], [1, 1, 0, 0]), 7))
    assert rows == [
        (7, 0, 0, 0, 0, 0, 1),
        (7, 1, 0, 1, 0, 1, 1),
        (7, 2, 1, 0, 1, 0, 1),
        (7, 3, 1, 1, 1, 1, 1),
    ]
    assert list(token_cell_rows(None, 7)) == []


@pytest.mark.parametrize("count", [1, MOST_CELLS, MOST_CELLS + 1, 8192])
def test_long_runs_share_cells_and_each_token_is_in_one(count: int) -> None:
    rows = list(token_cell_rows(known([0] * count, list(range(count))), 1))
    scores = np.linspace(0, 1, count)
    assert len(rows) == len(cells_of(scores)) <= MOST_CELLS
    spans = [(int(str(row[3])), int(str(row[5]))) for row in rows]
    assert [at for first, last in spans for at in range(first, last + 1)] == list(range(count))
    assert sum(int(str(row[6])) for row in rows) == count


def test_a_cell_has_the_worst_of_its_tokens_and_says_where_there_is_none() -> None:
    scores = np.zeros(2 * MOST_CELLS)
    scores[3], scores[4:6], scores[6] = 1.0, np.nan, 1e-9
    cells = cells_of(scores)
    assert cells[:4] == bytes((0, 254, 255, 1))  # what has any score at all is not 0
    assert set(cells[4:]) == {0}
    assert cells_of(np.zeros(0)) == b""
