"""Members of the suite with a compiler that needs no kernels: it is named where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from evaluation.compile_faults.__main__ import first_of, names_module
from evaluation.compile_faults.faults import FAULTS, causal_mask_dropped, wrong_gelu_backward
from msprobe.compile_check import Case, check_compilation
from tests.msprobe_core.torch.graph.models import Language, batch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def boxed(graph: Any, _: Any) -> Any:
    return make_boxed_func(graph.forward)


def without_mask(graph: Any, _: Any) -> Any:
    causal_mask_dropped(graph.graph)
    graph.recompile()
    return make_boxed_func(graph.forward)


GELU = {torch.ops.aten.gelu_backward.default: wrong_gelu_backward}


@pytest.mark.parametrize(
    ("name", "compiler"),
    [
        (
            "gradient of gelu",
            aot_autograd(fw_compiler=boxed, bw_compiler=boxed, decompositions=GELU),
        ),
        ("causal mask", aot_autograd(fw_compiler=without_mask, bw_compiler=boxed)),
    ],
)
def test_the_first_wrong_module_and_call_are_named(
    name: str, compiler: Any, tmp_path: Path
) -> None:
    def case() -> Case:
        torch.manual_seed(0)
        return Case(Language(), (batch(),), {})

    (fault,) = (each for each in FAULTS if name in each.name)
    finding = first_of(check_compilation(case, tmp_path, compiler))
    assert finding is not None
    assert finding.node in fault.calls
    assert names_module(fault, finding)
