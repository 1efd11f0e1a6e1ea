"""Records by column hold what the records held; what they become is kept for the page's test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_graph_ascend.offline.packed_columns import packed

# What `columns.test.ts` of the page unpacks.
CASES = json.loads((Path(__file__).parent / "columns.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_it_packs_as_the_page_unpacks(case: dict[str, Any]) -> None:
    assert json.dumps(packed(case["cells"])) == json.dumps(case["column"])


def test_what_is_alike_takes_the_room_of_one() -> None:
    column = packed([{"kind": "api", "id": place} for place in range(1000)])
    assert len(json.dumps(column)) < 4000
    assert column["fields"]["kind"] == {"all": "api", "count": 1000}


def test_a_number_is_no_truth() -> None:
    """1 and True are alike to Python, and neither is the other in JSON."""
    assert packed([1, True]) == {"plain": [1, True]}
    assert packed([True, True]) == {"all": True, "count": 2}
