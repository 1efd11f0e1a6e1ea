"""Whether work is counted wherever it hides: in loops, in C, in numpy, in copies."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.growth.__main__ import too_much
from tests.growth.counting import COUNTERS, work
from tests.growth.rewriting import rewritten

_QUADRATIC = {
    "loop": "for _ in rows:\n        for _ in rows:\n            pass",
    "while": "for at in rows:\n        while at:\n            at -= 1",
    "comprehension": "return [sum(1 for other in rows if other) for _ in rows]",
    "sorted": "return [sorted(rows)[0] for _ in rows]",
    "set": "return [set(rows) for _ in rows]",
    "looked_through": "return [one in rows for one in rows]",
    "slice": "return [rows[1:] for _ in rows]",
    "added": "found = ()\n    for one in rows:\n        found = found + (one,)",
    "unpacked": "return [[*rows] for _ in rows]",
    "merged": "return [{**dict.fromkeys(rows)} for _ in rows]",
    "moved": "queue = list(rows)\n    while queue:\n        queue.pop(0)",
    "numpy": "cells = np.array(rows)\n    return [(cells == one).any() for one in rows]",
    "masked": "cells = np.array(rows)\n    return [cells[cells > one] for one in rows]",
    "lazy": "return [max(map(abs, rows)) for _ in rows]",
    "appended": "found = np.empty(0)\n    for one in rows:\n        found = np.append(found, one)",
}
_LINEAR = {
    "loop": "for _ in rows:\n        pass",
    "sorted": "return sorted(rows)",
    "known": "known = set(rows)\n    return [one in known for one in rows]",
    "searched": "return [bisect_left(rows, one) for one in rows]",
    "appended": "found = []\n    for one in rows:\n        found.append(one)",
    "views": "cells = np.array(rows)\n    return [cells[one : one + 3] for one in rows]",
    "updated": "found = set()\n    for one in rows:\n        found.update((one,))",
    "taken": "queue = list(rows)\n    while queue:\n        queue.pop()",
}


@pytest.mark.parametrize("body", _QUADRATIC.values(), ids=_QUADRATIC)
def test_quadratic_work_is_found_wherever_it_hides(body: str) -> None:
    (line,) = too_much(_work(body, 50), _work(body, 200), 200)

    assert line.startswith("flow: builder.flow.some:work: ")


@pytest.mark.parametrize("body", _LINEAR.values(), ids=_LINEAR)
def test_linear_work_is_none(body: str) -> None:
    assert not list(too_much(_work(body, 50), _work(body, 200), 200))


def _work(body: str, count: int) -> Counter[str]:
    """What a function of this body does with a list of so many numbers."""
    source = f"from bisect import bisect_left\nimport numpy as np\n\ndef work(rows):\n    {body}\n"
    module = dict(COUNTERS)
    exec(compile(rewritten(source, "builder.flow.some"), "some.py", "exec"), module)
    work.clear()
    module["work"](list(range(count)))
    return Counter(work)


def test_rewritten_functions_do_what_they_did() -> None:
    source = """
def answers(x=None, *rest, key=lambda one: -one, **more):
    a = {"b": [*rest], **more}
    a["b"][0] += 1 if 1 < a["b"][0] <= 3 else 2
    match a["b"]:
        case [2, *others] if others:
            return sorted(others, key=key), 5 not in others, "ab"[0], a.get("c", 7), -1, ~1
        case _:
            return None

class Pair(tuple):
    def __new__(cls, *both):
        return super().__new__(cls, both)
    def __add__(self, other):
        return Pair(*(one + two for one, two in zip(self, other, strict=True)))
"""
    plain: dict[str, object] = {}
    exec(source, plain)
    counted = dict(COUNTERS)
    exec(compile(rewritten(source, "builder.some"), "some.py", "exec"), counted)

    for names in (plain, counted):
        assert names["answers"](0, 0, 3, 4, c=1) == ([4, 3], True, "a", 1, -1, -2)  # type: ignore[operator]
        assert names["Pair"](1, 2) + names["Pair"](3, 4) == (4, 6)  # type: ignore[operator]


def test_the_plain_numbers_of_an_array_stay_views() -> None:
    cells = np.arange(10)

    assert COUNTERS["_growth_item"]("place", cells, slice(2, 4)).base is cells
