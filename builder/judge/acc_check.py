"""Brings the verdicts of the pre-check (`msprobe acc_check`) to the nodes of a graph.

A pre-check is no comparison of two runs: its verdict stands in place of a score, 0, 0.5 or 1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from builder.errors import InputError
from builder.judge.verdict import Judgement, Verdict
from builder.match.tree import Tree
from builder.reasons import Extension, MeasureTaken, Reason
from msprobe_core.format.csv_table import csv_records

SCORES: Mapping[Verdict, float] = {"pass": 0.0, "warning": 0.5, "error": 1.0}
_RESULT, _DETAILS = "accuracy_checking_result_", "accuracy_checking_details_"
_DIRECTIONS = {"forward": "Forward Test Success", "backward": "Backward Test Success"}
# What is shown of a value, by the column of the details table.
_SHOWN = {
    "最大绝对误差": "largest error",
    "相对误差最大值": "largest relative error",
    "相对误差平均值": "mean relative error",
    "余弦相似度": "cosine",
    "二进制一致错误率": "share of unequal elements",
    "inf/nan错误率": "share of NaN or infinity on one side",
}
Checks = Mapping[str, Judgement]


def read_checks(result: Path) -> Checks:
    """Judgements by entry name, of a result table and the details table beside it.

    A call that was not run has none. Raises InputError when the file is no such table.
    """
    if not result.name.startswith(_RESULT):
        raise InputError(f"{result}: no {_RESULT}<time>.csv", "give the result table of acc_check")
    judgements: dict[str, Judgement] = {}
    for row in _rows(result, ("API name", *_DIRECTIONS.values())):
        for direction, column in _DIRECTIONS.items():
            for verdict in get_args(Verdict):
                if row[column] == verdict:
                    judgements[f"{row['API name']}.{direction}"] = _judgement(
                        verdict, row["Message"]
                    )
    details = result.with_name(result.name.replace(_RESULT, _DETAILS))
    for row in _rows(details, ("API Name", "Status", "Message")):
        entry, value = _split(row["API Name"])
        if entry in judgements:
            judgements[entry].reasons.extend(_facts(value, row))
    return judgements


def judge_checked(tree: Tree, checks: Checks) -> dict[int, Judgement]:
    """The judgement of every checked node by its execution order.

    Raises InputError where the table has none of the graph's calls: it is of another dump.
    """
    named = ((node.exec_order, checks.get(node.name)) for node in tree.in_order)
    judged = {order: judgement for order, judgement in named if judgement is not None}
    if checks and not judged:
        raise InputError(
            f"{tree.dump.path}: has none of the calls that were checked",
            "give the result table of this dump with --acc_check",
        )
    return judged


def _judgement(verdict: Verdict, message: str) -> Judgement:
    said: list[Reason] = [Extension(message)] if message.strip() else []
    return Judgement(verdict, said)


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, rows = csv_records(file)
            missing = [column for column in columns if column not in header]
            if missing:
                raise InputError(
                    f"{path}: has no column {missing[0]!r}", "give the tables of acc_check"
                )
            yield from rows
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}", "keep both tables of acc_check beside each other"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: cannot be read as a table ({error})", "give the tables of acc_check"
        ) from None


def _split(name: str) -> tuple[str, str]:
    """`Torch.mul.0.forward` and `output.0` of `Torch.mul.0.forward.output.0`."""
    for direction in _DIRECTIONS:
        head, separator, value = name.partition(f".{direction}.")
        if separator:
            return f"{head}.{direction}", value
    return name, ""


def _facts(value: str, row: Mapping[str, str]) -> Iterator[Reason]:
    if row["Status"] in ("warning", "error") and row["Message"].strip():
        yield Extension(f"{value}: {' '.join(row['Message'].split())}")
    for column, name in _SHOWN.items():
        cell = row.get(column, "").strip()
        if cell:
            yield MeasureTaken(value, name, _number(cell))


def _number(cell: str) -> float | str:
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if abs(number) < float("inf") else str(number)
