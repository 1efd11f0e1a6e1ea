"""What is said about dumps and builds."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from builder.results.records import Count
from builder.work.phases import Phase

_Path = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class DumpEntry(msgspec.Struct, frozen=True):
    """A dump that can be built."""

    path: str
    granularity: Literal["rank", "step", "root"]
    steps: list[int]
    ranks: list[int]


class Dumps(msgspec.Struct, frozen=True):
    """The dumps below the log folders, and where results may go."""

    dumps: list[DumpEntry]
    outputs: list[str]


class BuildRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Compare two dumps, or draw one; all paths lie below the log folders.

    With `result`, a result file by its token, its own dumps and layer mapping may lie anywhere.
    """

    problem: _Path
    benchmark: _Path | None = None
    output: _Path | None = None
    overflow_check: bool = False
    fuzzy_match: bool = False
    threshold: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    layer_mapping: _Path | None = None
    manual_mapping: _Path | None = None
    result: Annotated[str, msgspec.Meta(max_length=4096)] | None = None


class BuildWish(msgspec.Struct, frozen=True):
    """How a result was built, ready to be built again; `outside`: paths that are gone.

    A path is null where there is none, or where it is not there. `command` does the same in a
    shell, for where the page may not.
    """

    problem: str | None
    benchmark: str | None
    output: str | None
    overflow_check: bool
    fuzzy_match: bool
    threshold: float
    layer_mapping: str | None
    manual_mapping: str | None
    outside: list[str]
    command: str


class BuildTask(msgspec.Struct, frozen=True):
    """What a worker is told: the request, and a folder of its own for what is unfinished."""

    wanted: BuildRequest
    workshop: str


class RunningPair(msgspec.Struct, frozen=True):
    """A pair that is worked on, and what is being done with it."""

    step: int
    rank: int
    phase: Phase


class Progress(msgspec.Struct, frozen=True):
    """One line of the worker: a pair that entered a phase or is finished, or how it ended."""

    done: int = 0
    total: int = 0
    step: int = 0
    rank: int = 0
    phase: Phase | None = None
    text: str | None = None
    file: str | None = None
    error: str | None = None


class Build(msgspec.Struct, frozen=True):
    """A build and how far it is."""

    id: str
    state: Literal["running", "done", "failed", "cancelled"]
    problem: str
    benchmark: str | None
    done: Count
    total: Count
    running: list[RunningPair]
    log: list[str]
    error: str | None
    database: str | None


class Builds(msgspec.Struct, frozen=True):
    """The builds since the server started, newest first."""

    builds: list[Build]


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""
