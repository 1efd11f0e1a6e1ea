"""Memory is that of a few parameters, counted allocation by allocation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from msprobe.checkpoints import compare_checkpoints
from tests.conftest import ROOT
from tests.msprobe.checkpoints.saved import (
    Cut,
    Sizes,
    hugging_face,
    save_dcp,
    save_megatron,
    save_safetensors,
    save_state_dict,
)

# The largest parameter has 8 MiB, all together 90 MiB.
SIZES = Sizes(layers=14, hidden=512, heads=8, groups=4, ffn=600, vocabulary=4096)
FACTOR = 4
# What is no tensor: names, notes and results as Python objects, pages mapped around those read.
OWN_BYTES = 1 << 20


def peak_bytes(first: Path, second: Path) -> int:
    """The most bytes that torch held at one time while the two were compared.

    Files that are mapped are reported as memory of their size; they take none that cannot be
    given back at once.
    """
    files = [file for folder in (first, second) for file in folder.rglob("*") if file.is_file()]
    mapped = {file.stat().st_size for file in files}
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = compare_checkpoints(first, second)
    assert len(result.compared) > 40
    events = recorded.profiler.kineto_results.events()  # type: ignore[union-attr]
    changes = [(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"]
    held = peak = 0
    for _, change in sorted(changes):
        held += 0 if abs(change) in mapped else change
        peak = max(peak, held)
    return peak


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    weights = hugging_face(SIZES)
    save_megatron(folder / "megatron", weights, SIZES, Cut(tensor=2, pipeline=2))
    save_megatron(folder / "other_cut", weights, SIZES, Cut(tensor=4))
    save_safetensors(folder / "safetensors", weights)
    save_dcp(folder / "dcp", weights)
    save_state_dict(folder / "state_dict" / "model.pt", weights)
    save_state_dict(folder / "small" / "a.pt", {"w": torch.ones(3)})
    renamed = {f"net.{name.replace('self_attn', 'attn')}": w for name, w in weights.items()}
    save_safetensors(folder / "renamed", renamed)
    return folder


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("megatron", "safetensors"),
        ("megatron", "megatron"),
        ("safetensors", "dcp"),
        ("dcp", "dcp"),
        ("state_dict", "megatron"),
        ("safetensors", "renamed"),
    ],
)
def test_peak_is_at_most_four_times_the_largest_parameter(
    first: str, second: str, folder: Path
) -> None:
    largest = SIZES.vocabulary * SIZES.hidden * torch.float32.itemsize
    whole = sum(file.stat().st_size for file in (folder / first).rglob("*") if file.is_file())
    assert whole > 10 * largest
    assert 0 < peak_bytes(folder / first, folder / second) <= FACTOR * largest


RESIDENT = """
import sys
from pathlib import Path
from msprobe.checkpoints import compare_checkpoints

def status(key):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.partition(key + ":")[2].split()[0])

small, first, second = map(Path, sys.argv[1:])
compare_checkpoints(small, small)  # what is loaded once
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the highest mark begins anew
assert len(compare_checkpoints(first, second).compared) > 40
print(status("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize("second", ["other_cut", "state_dict", "safetensors", "dcp"])
def test_mapped_files_do_not_add_up_either(second: str, folder: Path) -> None:
    """Resident memory as the system counts it, pages of mapped files included.

    What is freed goes back at once, so that the allocator's stock of free memory does not count.
    """
    arguments = [folder / "small" / "a.pt", folder / "megatron", folder / second]
    done = subprocess.run(
        [sys.executable, "-c", RESIDENT, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_MMAP_THRESHOLD_": str(1 << 20)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    largest = SIZES.vocabulary * SIZES.hidden * torch.float32.itemsize
    assert int(done.stdout) <= FACTOR * largest + OWN_BYTES
