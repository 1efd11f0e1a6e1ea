"""The peer's own result, recorded from two small Megatron checkpoints, against ours.

Wrong there, and not equal here: a cosine above 1 (1.0000001192092896), and sums of float32.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from msprobe.checkpoints import compare_checkpoints, report

SAMPLE = Path(__file__).parents[2] / "samples" / "tools-26.2.0" / "checks"


def test_result_has_the_keys_and_values_of_the_sample(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLE / "mkck.py.txt"], cwd=tmp_path, check=True)
    result = compare_checkpoints(tmp_path / "ck1", tmp_path / "ck2")
    report.write(result, tmp_path / "out.json")
    ours = json.loads((tmp_path / "out.json").read_text())
    theirs = json.loads((SAMPLE / "ckpt_similarity.json").read_text())
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert list(ours[name]) == list(expected)
        assert ours[name]["shape"] == expected["shape"]
        assert ours[name]["numel"] == expected["numel"]
        assert ours[name]["l2"] == pytest.approx(expected["l2"], rel=1e-6)
        assert ours[name]["cos"] == pytest.approx(expected["cos"], abs=2e-7)
        assert ours[name]["cos"] <= 1
