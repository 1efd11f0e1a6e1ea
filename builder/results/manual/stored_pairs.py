"""The pairs of a result as the matching takes them, those that people made since included.

With them the dumps can be compared anew as the page shows them, without the mapping files of then.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from builder.match.manual_file import MappedPair
from builder.results.manual.patches import NodeSource, Patches
from builder.results.schema import node

_GUESSED = "fuzzy"  # a guess is made anew, so that it stays one


def stored_pairs(engine: Engine, patches: Patches, graph: int) -> list[MappedPair]:
    """Every node of a problem's graph that has a partner, but for guesses."""
    source = NodeSource(patches)
    partner = node.alias("partner")
    joined = source.table.join(partner, partner.c.id == source["match"])
    wanted = node.c.graph == graph, source["match_reason"] != _GUESSED
    names = select(node.c.name, partner.c.name.label("other")).select_from(joined).where(*wanted)
    with engine.connect() as connection:
        rows = connection.execute(names.order_by(node.c.id)).all()
    return [MappedPair(row.name, row.other) for row in rows]
