"""The part of the compiler that a difference comes from, named by torch's own bisector."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from evaluation.compile_faults.faults import norm_with_a_wrong_scale, with_pass
from msprobe.compile_check import Case, check_compilation
from msprobe.compile_check.blame import Blamed
from tests.msprobe_core.torch.graph.models import RootMeanSquareNorm

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")


@pytest.mark.parametrize(
    ("blamed", "said"),
    [
        (Blamed("aot_eager"), "aot_eager; none of its parts"),
        (Blamed("inductor", "lowerings", 3, "aten.rsqrt"), "operator (number 3): aten.rsqrt"),
        (Blamed("inductor", "inductor_layout_optimization"), "its setting inductor_layout"),
    ],
)
def test_what_is_to_blame_is_said(blamed: Blamed, said: str) -> None:
    assert said in blamed.told()


@needs_compiler
def test_a_wrong_pass_of_inductors_is_named(tmp_path: Path) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(nn.Sequential(RootMeanSquareNorm(8)), (torch.randn(4, 8),), {})

    with with_pass(norm_with_a_wrong_scale):
        answer = check_compilation(make, tmp_path, level="L0", bisect=True)
    assert answer.blamed is not None
    assert (answer.blamed.backend, answer.blamed.part) == ("inductor", "post_grad_passes")
    assert "post_grad_custom_pre_pass" in answer.blamed.name
