"""What the dumper's tests share: where the samples lie, and a debugger that is always closed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def debugger(tmp_path: Path) -> Iterator[Callable[..., PrecisionDebugger]]:
    """Makes debuggers that write to `tmp_path / "dump"` and closes them."""

    def make(**arguments: object) -> PrecisionDebugger:
        arguments.setdefault("dump_path", str(tmp_path / "dump"))
        return PrecisionDebugger(**arguments)  # type: ignore[arg-type]

    yield make
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()


@pytest.fixture
def dumps(tmp_path: Path) -> Callable[[], list[RankDump]]:
    """Reads what was written to `tmp_path / "dump"`, ordered by step and process."""
    return lambda: read_rank_dumps(tmp_path / "dump")


@pytest.fixture(scope="session")
def kernel_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel that reads elements once, compiled as an install does it."""
    sys.path.insert(0, str(ROOT / "build_backend"))
    kernel: ModuleType = importlib.import_module("kernel")
    sys.path.pop(0)
    library: Path = tmp_path_factory.mktemp("kernel") / "libone_pass.so"
    if not kernel.build_kernel(library):
        pytest.skip("no C compiler here")
    return library
