"""What tests of all packages share: where the sample dumps lie, and the same run every time."""

from __future__ import annotations

import gc
import os
import signal
import tarfile
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Without a GPU kernels of Triton run in its interpreter, which is chosen before Triton is imported.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# A red run of somebody's unrelated change helps nobody: inputs are new only where they are asked
# for, with HYPOTHESIS_PROFILE=searching. No test is timed: a busy machine is no defect.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure() -> None:
    """Let programs under test be interrupted also where a shell started this in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = (
    "situations/test_core.py",
    "docs/test_commands.py",
    "evaluation/",
    "builder/ranks/",
    "build_backend/test_distribution.py",
    "soak/",
    "msprobe_core/torch/graph/",
    "msprobe/compile_check/",
    "msprobe/cli/test_acc_check.py",
    "msprobe/acc_check/",
    "msprobe/config_check/test_recorder.py",
    "msprobe/checkpoints/test_memory.py",
    "msprobe/cli/test_graph_visualize.py",
    "msprobe_core/test_defects.py",
    "msprobe_core/capture/test_process_state.py",
    "msprobe/pytorch/test_trends_distributed.py",
    "docs/",
    "examples/",
    "builder/run/",
)
"""Files that take longest, first: the one that starts last decides when all workers are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; what is not listed follows in its order.

    A place of the list that was moved away is refused: what it named would start late.
    """
    gone = [name for name in LONGEST if not (ROOT / "tests" / name).exists()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py: LONGEST names {gone}, which are not in tests/")

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(ROOT / "tests").as_posix()
        return next((n for n, each in enumerate(LONGEST) if name.startswith(each)), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Collect no garbage among what was imported, half a million objects that live to the end.

    Walking over them takes a third of a second, for each test that sees to it that nothing is left
    behind, and for each of torch's own collections.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all go at the end: extensions complain of what still lives then."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real dumps and result files."""
    return ROOT / "tests" / "samples" / "msprobe-26.2.0"


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of what the tools of mindstudio-probe wrote."""
    return ROOT / "tests" / "samples" / "tools-26.2.0"


@pytest.fixture(scope="session")
def compared_dumps(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dumps that the recorded tables were made from, unpacked."""
    return _unpacked(tools / "compare" / "inputs", tmp_path_factory)


@pytest.fixture(scope="session")
def overflowing_dumps(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of two ranks with one cause of NaN or infinity each, unpacked."""
    return _unpacked(tools / "overflow", tmp_path_factory)


@pytest.fixture(scope="session")
def mindspore_dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of MindSpore, and of the same model in PyTorch, unpacked."""
    return _unpacked(ROOT / "tests" / "samples" / "mindspore-2.10", tmp_path_factory)


def _unpacked(folder: Path, factory: pytest.TempPathFactory) -> Path:
    target = factory.mktemp("dumps")
    with tarfile.open(folder / "dumps.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target / "dumps"
