"""What tests of all packages share: where the sample dumps lie."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real dumps and result files beside the repository."""
    folder = ROOT.parent / "shared" / "samples" / "msprobe-26.2.0"
    if not folder.is_dir():
        pytest.fail(f"{folder} is missing: the sample dumps belong beside the repository")
    return folder
