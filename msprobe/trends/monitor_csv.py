"""The tables that mindstudio-probe's monitor writes (v1), read from its folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msprobe.errors import CheckError
from msprobe.trends.folder_time import EXAMPLE, in_year, is_between
from msprobe.trends.trend_db import STATISTICS, Row
from msprobe_core.errors import nearest
from msprobe_core.format.csv_table import csv_records

KINDS = (
    *("actv", "actv_grad", "grad_unreduced", "grad_reduced", "exp_avg", "exp_avg_sq"),
    *("param_origin", "param_updated", "other", "linear_hook", "attention_hook"),
    *("moe_router_weight_hook", "moe_router_logit_hook"),
)
_FOLDER = re.compile(r"(?P<time>.+)-rank(?P<rank>\d+)(?:-[0-9a-f]+)?")
_FILE = re.compile(r"(?P<kind>\w+?)_(?P<first>\d+)-(?P<last>\d+)\.csv")
_LAYOUT = ("vpp_stage", "name", "step")


@dataclass(frozen=True, slots=True)
class Table:
    """One csv: the kind and steps that its name says, the rank and time of its folder."""

    path: Path
    kind: str
    rank: int
    first: int
    time: str


def find_tables(folder: Path) -> list[Table]:
    """The tables below a folder, by rank, kind and step. Raises CheckError where there are none."""
    found: list[Table] = []
    for path in sorted(folder.rglob("*.csv")):
        file, parent = _FILE.fullmatch(path.name), _FOLDER.fullmatch(path.parent.name)
        if file and file["kind"] in KINDS:
            rank, time = (int(parent["rank"]), parent["time"]) if parent else (0, "")
            found.append(Table(path, file["kind"], rank, int(file["first"]), time))
    if not found:
        raise CheckError(
            f"{folder}: no tables of a monitor are here", "give a folder with actv_0-9.csv and such"
        )
    return sorted(found, key=lambda table: (table.rank, table.kind, table.first))


def choose_tables(
    folder: Path,
    kinds: Sequence[str] | None = None,
    first: str | None = None,
    last: str | None = None,
) -> list[Table]:
    """Those of some kinds in folders of a time, None for any. Raises CheckError."""
    for kind in kinds or ():
        if kind not in KINDS:
            raise CheckError(f"data_type_list: there is no {kind!r}", nearest(kind, KINDS))
    for name, time in (("time_start", first), ("time_end", last)):
        if time is not None and in_year(time) is None:
            raise CheckError(f"{name} is {time!r}", f"write it as folders are named: {EXAMPLE}")
    found = [
        table
        for table in find_tables(folder)
        if (not kinds or table.kind in kinds)
        and ((first is None and last is None) or is_between(table.time, first, last))
    ]
    if not found:
        raise CheckError(
            f"{folder}: no table of {', '.join(kinds or ('any kind',))} from {first or 'ever'} to "
            f"{last or 'now'}",
            "name kinds and times that the folder has",
        )
    return found


def read_table(table: Table) -> Iterator[Row]:
    """The rows of a table; those whose step is no number are passed over. Raises CheckError."""
    with table.path.open(newline="", encoding="utf-8") as file:
        header, lines = csv_records(file)
        if not set(_LAYOUT) <= set(header):
            raise CheckError(f"{table.path}: its header is {header}", f"{_LAYOUT} are needed")
        for line in lines:
            row = _row(table, line)
            if row is not None:
                yield row


def _row(table: Table, line: dict[str, str]) -> Row | None:
    values = {name: _number(line.get(name)) for name in STATISTICS}
    try:
        stage, step = int(line["vpp_stage"]), int(line["step"])
        micro = int(line.get("micro_step") or 0)
    except (TypeError, ValueError):  # the peer's rows of collectives stand in other columns
        return None
    return Row(table.rank, step, stage, micro, line["name"], table.kind, values)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
