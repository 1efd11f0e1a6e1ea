"""The arguments that the routes of the trends take."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

_Step = Annotated[int, msgspec.Meta(ge=0, le=2**32)]
_Name = Annotated[str, msgspec.Meta(max_length=1000)]
_Columns = Annotated[int, msgspec.Meta(ge=1, le=4000)]
_Rows = Annotated[int, msgspec.Meta(ge=1, le=1000)]
_Offset = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
Statistic = Literal["norm", "mean", "min", "max", "nans", "infs", "zeros", "size"]


class RowsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows and steps: `open` names the open modules, separated by commas."""

    kind: _Name
    statistic: Statistic = "norm"
    first: _Step | None = None
    last: _Step | None = None
    open: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    offset: _Offset = 0
    limit: _Rows = 100
    other: _Name | None = None


class HeatQuery(RowsQuery, frozen=True, forbid_unknown_fields=True):
    """Rows of the heat map, and how many columns they have at most."""

    columns: _Columns = 1200
    absolute: bool = False


class TilesQuery(RowsQuery, frozen=True, forbid_unknown_fields=True):
    """Rows as small lines, and how many points each has at most."""

    points: _Columns = 160


class LineQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which series, and over which steps."""

    kind: _Name
    name: _Name
    statistic: Statistic = "norm"
    rank: Annotated[int, msgspec.Meta(ge=0, le=10**6)] | None = None
    first: _Step | None = None
    last: _Step | None = None
    points: _Columns = 1200


class ScalarsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many points a line has at most."""

    points: _Columns = 1200


class PartingQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run to compare with."""

    other: _Name


class CellQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a target, beside another run's where one is named."""

    kind: _Name
    name: _Name
    step: _Step
    statistic: Statistic = "norm"
    other: _Name | None = None
