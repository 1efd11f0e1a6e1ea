"""Records by column, as JSON that packs well: what is alike stands together, or once.

A column is one of
`{"all": cell, "count": n}`, `{"plain": cells}`,
`{"steps": [...]}` of integers, each less the one before,
`{"without": column of places, "of": column}` of cells with None among them,
`{"sizes": column, "items": column}` of lists,
`{"shapes": keys, "which": column, "fields": columns}` of objects.
`frontend/src/offline/columns.ts` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

_SCALARS = (str, int, float, bool, type(None))


def packed(cells: Sequence[Any]) -> dict[str, Any]:
    """JSON values as a column."""
    kinds = set(map(type, cells))
    if len(kinds) == 1 and isinstance(cells[0], _SCALARS) and len(set(cells)) == 1:
        return {"all": cells[0], "count": len(cells)}
    if type(None) in kinds:
        places = [place for place, cell in enumerate(cells) if cell is None]
        return {"without": packed(places), "of": packed([c for c in cells if c is not None])}
    if kinds == {int}:
        return {"steps": [cells[0], *(after - before for before, after in pairwise(cells))]}
    if kinds == {list}:
        sizes = packed([len(cell) for cell in cells])
        return {"sizes": sizes, "items": packed(list(chain.from_iterable(cells)))}
    if kinds == {dict}:
        return _objects(cells)
    return {"plain": list(cells)}


def _objects(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    shapes: dict[tuple[str, ...], int] = {}
    which = [shapes.setdefault(tuple(cell), len(shapes)) for cell in cells]
    names = dict.fromkeys(chain.from_iterable(shapes))
    fields = {name: packed([cell[name] for cell in cells if name in cell]) for name in names}
    return {"shapes": [list(keys) for keys in shapes], "which": packed(which), "fields": fields}
