"""The result for people and scripts: mindstudio-probe's JSON, a table beside it, a short text."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from builder.claim import told
from msprobe.checkpoints.checkpoint_comparison import CheckpointComparison, Row
from msprobe.checkpoints.parameter import Parameter
from msprobe.checkpoints.result_files import table_of
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.format.whole_file import written_whole

COLUMNS = (
    "parameter",
    "second_name",
    "status",
    "l2",
    "relative_l2",
    "cos",
    "max_abs",
    "numel",
    "shape1",
    "shape2",
    "dtype1",
    "dtype2",
    "matched_by",
    "non_finite",
)


def write(result: CheckpointComparison, path: Path) -> None:
    """Write both files: {parameter: {l2, cos, numel, shape}} and one line for every parameter."""
    with written_whole(path) as beside:
        text = json.dumps(_as_json(result), indent=4, allow_nan=False)
        beside.write_text(text, encoding="utf-8")
    with (
        written_whole(table_of(path)) as beside,
        beside.open("w", newline="", encoding="utf-8") as file,
    ):
        table = CsvTable(file)
        table.row(COLUMNS)
        table.rows(_line(row) for row in result.rows)


def text(result: CheckpointComparison, top: int = 10) -> list[str]:
    """What was compared, how it ended, and the worst parameters."""
    counts = Counter(row.status for row in result.rows)
    numbered = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    lines = [
        f"{place}: {side.path} ({side.layout}, {len(side.parameters)} parameters)"
        for place, side in (("first", result.first), ("second", result.second))
    ]
    lines += [f"parameters: {numbered}", told(result.claim, "checkpoints")]
    lines += [f"note: {note}" for note in result.notes]
    worst = sorted(result.different, key=_badness, reverse=True)
    lines += [_worded(row) for row in worst[:top]]
    if len(worst) > top:
        lines.append(f"… and {len(worst) - top} more; the table lists them")
    return lines


def _as_json(result: CheckpointComparison) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for row in result.compared:
        if row.distance is not None and row.first is not None:
            entries[row.name] = {
                "l2": row.distance.l2,
                "cos": row.distance.cosine,
                "numel": row.first.numel,
                "shape": list(row.first.shape),
            }
    return entries


def _line(row: Row) -> list[object]:
    measured = row.distance
    numbers: list[object] = ["", "", "", ""]
    if measured is not None:
        numbers = [measured.l2, measured.relative, measured.cosine, measured.max_abs]
    renamed = row.first and row.second and row.second.name != row.first.name
    return [
        row.name,
        row.second.name if renamed and row.second else "",
        row.status,
        *numbers,
        (row.first or row.second).numel,  # type: ignore[union-attr]  # one of both is there
        _shape(row.first),
        _shape(row.second),
        _dtype(row.first),
        _dtype(row.second),
        row.matched_by or "",
        measured.non_finite if measured else "",
    ]


def _shape(side: Parameter | None) -> str:
    return "" if side is None else str(list(side.shape))


def _dtype(side: Parameter | None) -> str:
    return "" if side is None else str(side.dtype).removeprefix("torch.")


def _badness(row: Row) -> float:
    measured = row.distance
    return float("inf") if measured is None or measured.relative is None else measured.relative


def _worded(row: Row) -> str:
    if row.status == "shape":
        return f"  {row.name}: shape {_shape(row.first)} against {_shape(row.second)}"
    if row.distance is None:
        return f"  {row.name}: {row.status}"
    measured = row.distance
    return (
        f"  {row.name}: relative L2 {_number(measured.relative)}, cosine {_number(measured.cosine)}"
    )


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3g}"
