"""What ranks say of the rows that they read: shares of the batch, one order along tp."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from builder.claim import Counted
from builder.dump.reader import Dump
from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.placement.shares import SharedRows, misread_rows
from builder.reasons import RowsReordered, RowsShared


def shared_rows(
    step: int, dumps: Mapping[int, Dump], layout: RunLayout
) -> tuple[list[CheckFinding], Counted]:
    """Ranks that read another's rows, and how many axes there are on which all read the same.

    Where all do, it may be meant so; then copies of gradients say nothing of their reduction.
    """
    found = list(misread_rows(dumps, layout))
    whole = [each for each in found if each.is_of_all]
    said = f"{whole[0].call} ({whole[0].axis})" if whole else ""
    listed = [each for each in found if not each.is_of_all]
    return list(_findings(step, listed, layout)), Counted("one_share", len(whole), said)


def _findings(step: int, listed: list[SharedRows], layout: RunLayout) -> Iterator[CheckFinding]:
    for each in listed:
        facts = (", ".join(map(str, each.ranks)), each.rows, each.argument)
        said = RowsReordered(*facts) if each.reordered else RowsShared(*facts, each.axis)
        where = layout.describe_all(each.ranks)
        yield CheckFinding("share", step, each.call, each.axis, each.ranks, where, (said,))
