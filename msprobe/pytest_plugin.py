"""A fixture of pytest, `precision_diff(run_a, run_b)`: a test that fails where two runs differ.

Only pytest imports this module, for every session that it starts: it loads nothing before it is
used.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from builder.claim import Claim

_THRESHOLD = "precision_threshold"


@dataclass(frozen=True, slots=True)
class PrecisionResult:
    """What a comparison that passed says of its runs, and the result file to look at."""

    text: str
    all_clear: bool
    path: Path


class PrecisionDiff(Protocol):
    """Compares a run with the one that is right, and fails the test with the first finding."""

    def __call__(
        self, run_a: Path | str, run_b: Path | str, *, threshold: float | None = None
    ) -> PrecisionResult:
        """Compare the dumps of two runs, the one in question first.

        Without a threshold the test passes on an all-clear alone: all there is was compared, and
        nothing differs beyond rounding. With one (a score between 0 and 1), differences up to it
        pass too, if all there is was compared.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the threshold that a project has for all its comparisons."""
    told = "score up to which precision_diff lets runs differ [none: an all-clear is needed]"
    parser.addini(_THRESHOLD, told)


@pytest.fixture
def precision_diff(request: pytest.FixtureRequest, tmp_path: Path) -> PrecisionDiff:
    """Compare two dumps, and fail with the text of the first finding."""
    configured = configured_threshold(str(request.config.getini(_THRESHOLD) or ""))

    numbers = count(1)

    def compare(
        run_a: Path | str, run_b: Path | str, *, threshold: float | None = None
    ) -> PrecisionResult:
        wanted = configured if threshold is None else threshold
        # Results are named by the second: two comparisons of one test need a folder each.
        folder = tmp_path / "precision_diff" / str(next(numbers))
        return _compared(run_a, run_b, wanted, folder)

    return compare


def configured_threshold(text: str) -> float | None:
    """The threshold in a project's configuration, None without one; raises UsageError."""
    try:
        return float(text) if text else None
    except ValueError:
        raise pytest.UsageError(
            f"{_THRESHOLD} = {text}: is no number; give a score between 0 and 1"
        ) from None


def _compared(
    run_a: Path | str, run_b: Path | str, threshold: float | None, folder: Path
) -> PrecisionResult:
    from builder import BuilderError, BuildOptions, build, diagnose

    if threshold is not None and not 0 < threshold < 1:
        pytest.fail(f"precision_diff: a threshold of {threshold} is no score between 0 and 1")
    options = BuildOptions() if threshold is None else BuildOptions(threshold=threshold)
    try:
        path = build(run_a, run_b, folder, options).path
        diagnosis = diagnose(path)
    except BuilderError as error:
        pytest.fail(f"precision_diff: {error}", pytrace=False)
    from msprobe.cli.diagnose import report

    said = diagnosis.claim
    text = "\n".join(report(diagnosis, 1))
    if not _passes(said, is_told=threshold is not None):
        pytest.fail(f"{text}\nto look at it: msprobe serve {folder}", pytrace=False)
    return PrecisionResult(text, said.is_clear, path)


def _passes(said: Claim, *, is_told: bool) -> bool:
    """Whether the one function that may say an all-clear says it, or all lies below a threshold."""
    return said.is_clear or (is_told and said.whole and said.code == "close")
