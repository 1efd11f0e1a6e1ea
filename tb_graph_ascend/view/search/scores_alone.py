"""The scores that nodes without a partner are shown with: rows, lists and files have the same."""

from __future__ import annotations

from collections.abc import Sequence

from builder.results.certainty import names_beginnings
from builder.results.reading import Results


def scores_alone(results: Results, ids: Sequence[int]) -> dict[int, float]:
    """The scores of what nodes without a partner hand on, by their ids.

    Where no call of both runs reads it, a cause has that of its finding.
    """
    if not ids or not results.comparison:
        return {}
    handed = {id_: one.score for id_, one in results.handed_on(ids).items()}
    findings = results.findings().findings if names_beginnings(results) else []
    causes = {one.node.id: one.score for one in findings if one.score is not None}
    return {id_: causes[id_] for id_ in ids if id_ in causes} | handed
