"""What tests of all packages share: where the sample dumps lie, and the same run every time."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# A red run of somebody's unrelated change helps nobody: inputs are new only where they are asked
# for, with HYPOTHESIS_PROFILE=searching. No test is timed: a busy machine is no defect.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure() -> None:
    """Let programs under test be interrupted also where a shell started this in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real dumps and result files beside the repository."""
    folder = ROOT.parent / "shared" / "samples" / "msprobe-26.2.0"
    if not folder.is_dir():
        pytest.fail(f"{folder} is missing: the sample dumps belong beside the repository")
    return folder
