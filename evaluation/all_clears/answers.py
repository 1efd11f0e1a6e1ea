"""What each command claims of two runs, or of one, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import builder
from builder.claim import Claim
from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.results.database import ResultDatabase
from builder.results.report import diagnose
from builder.run import executor
from builder.tables.comparing import TableOptions, compare_into_tables
from builder.tables.overflow_report import check_overflow
from msprobe_core.format.mendable_error import MendableError
from tb_graph_ascend.view.answer import answer

_OPTIONS = builder.BuildOptions(workers=1)


@dataclass(frozen=True)
class Said:
    """What a command claims of a change; None where it refused with a word."""

    command: str
    claim: Claim | None
    change: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether it says that nothing differs."""
        return self.claim is not None and self.claim.is_clear

    @property
    def outcome(self) -> str:
        """What it says in a word, for counting."""
        if self.claim is None:
            return "refused"
        if self.is_clear:
            return "all-clear"
        is_gap = self.claim.code in ("equal", "rounding")
        return "not all compared" if is_gap else self.claim.code


@contextmanager
def in_this_process() -> Iterator[None]:
    """Let pairs be compared without a process of their own, which costs more than they do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "CAN_FORK", False)
        yield


def of_two(problem: Path, benchmark: Path, output: Path) -> Iterator[Said]:
    """What the build, the diagnosis of its file, the page and the tables say."""
    found: list[Path] = []

    def built() -> Claim:
        result = builder.build(problem, benchmark, output, _OPTIONS)
        found.append(result.path)
        return result.claim

    yield asked("graph_visualize", built)
    if found:
        yield asked("diagnose", lambda: diagnose(found[0]).claim)
        yield asked("page", lambda: _page(found[0]))
    options = TableOptions(build=_OPTIONS)
    yield asked("compare", lambda: compare_into_tables(problem, benchmark, output, options).claim)


def of_ranks(dump: Path, output: Path) -> Iterator[Said]:
    """What `msprobe check` says."""
    yield asked("check", lambda: check_dump(find_sources(dump), Sizes()).claim)


def of_overflow(dump: Path, output: Path) -> Iterator[Said]:
    """What `msprobe overflow_check` says."""
    yield asked("overflow_check", lambda: check_overflow(dump, output, 1).claim)


def asked(command: str, ask: Callable[[], Claim]) -> Said:
    """What a command says, or that it refuses."""
    try:
        return Said(command, ask())
    except MendableError:
        return Said(command, None)


def _page(path: Path) -> Claim:
    database = ResultDatabase(path)
    try:
        return answer(database).claim
    finally:
        database.close()
