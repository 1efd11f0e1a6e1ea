"""Which device is taken, and that a device other than the CPU is really the one that computes.

There is no accelerator where these tests are written: a stand-in of its own device type, whose
kernels are the CPU's, goes the way that an accelerator goes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from builder.errors import InputError
from msprobe.acc_check import devices
from msprobe.acc_check.call_check import check_call
from msprobe.acc_check.devices import choose_pair, describe
from msprobe.acc_check.framework import Pair, Place
from msprobe.acc_check.inputs import Source
from tests.conftest import ROOT
from tests.msprobe.acc_check.calls import call, checked


def stand_in(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.msprobe.acc_check.stand_in", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_calls_run_on_the_device_that_was_asked_for() -> None:
    found = stand_in()
    assert found["pair"] == "standin:0 against CPU in float64"
    assert {name: v for name, v in found["verdicts"].items() if set(v[:2]) - {"pass", " "}} == {}


def test_wrong_kernel_of_the_device_is_found_and_nothing_else() -> None:
    verdicts = stand_in("--faulty")["verdicts"]
    wrong = [name for name, (forward, backward, _) in verdicts.items() if "error" in forward]
    assert wrong == ["Functional.linear.0", "Functional.linear.1"]
    assert verdicts["Functional.linear.0"][1] == "pass"  # its backward pass uses another kernel


def test_accelerator_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, "cuda", 2)
    pairs = [choose_pair(("0", "1"), number, "float64", 1) for number in range(3)]
    assert [pair.device.device for pair in pairs] == ["cuda:0", "cuda:1", "cuda:0"]
    assert choose_pair((), 0, "float64", 1).device.device == "cuda:0"
    with pytest.raises(InputError, match="device 2: this machine has 2 of cuda"):
        choose_pair(("2",), 0, "float64", 1)


def _with(monkeypatch: pytest.MonkeyPatch, kind: str | None, count: int = 0) -> None:
    monkeypatch.setattr(devices, "_accelerator", lambda: kind)
    monkeypatch.setattr(devices, "_count", lambda _: count)


def test_cpu_is_taken_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, None)
    pair = choose_pair((), 0, "float64", 1)
    assert describe(pair) == "cpu against CPU in float64"
    both = choose_pair(("compile",), 0, "cpu", 1)
    assert describe(both) == "cpu under torch.compile against cpu"
    with pytest.raises(InputError, match="device 0: torch sees no accelerator") as refused:
        choose_pair(("0",), 0, "float64", 1)
    assert "-d cpu" in refused.value.hint


@pytest.mark.parametrize("asked", [(), ("0",), ("npu:0",)])
def test_torch_npu_that_cannot_be_loaded_is_said(
    asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch_npu.py").write_text('raise OSError("libascendcl.so: cannot open")')
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"torch_npu: cannot be imported .*libascendcl") as refused:
        choose_pair(asked, 0, "float64", 1)
    assert "set_env.sh" in refused.value.hint
    assert choose_pair(("cpu",), 0, "float64", 1).device.device == "cpu"


def test_formats_that_a_device_shortens_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, "cuda", 1)
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for allowed, unit in ((True, 2.0**-11), (False, 0.0)):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            assert choose_pair(("0",), 0, "float64", 1).shortens[0] == unit
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    _with(monkeypatch, "npu", 1)
    assert choose_pair(("0",), 0, "float64", 1).shortens == (0.0, 2.0**-12)


def test_product_of_shortened_inputs_passes_only_where_the_device_shortens() -> None:
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(32, 32, generator=generator) for _ in range(2))

    def shortened(_: Any) -> Any:
        def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return _to_tf32(a) @ _to_tf32(b)

        return product

    made = call("Torch.matmul", x, y)
    assert checked(made, shortened).row.forward == "error"
    assert checked(made, shortened, shortens=(2.0**-11, 0.0)).row.forward == "pass"


def _to_tf32(value: torch.Tensor) -> torch.Tensor:
    mantissa, exponent = torch.frexp(value)
    return torch.ldexp((mantissa * 2**11).round() / 2**11, exponent)


@pytest.mark.parametrize("name", ["cuda:77", "nonsense"])
def test_device_that_is_not_there_is_refused_with_the_next_step(name: str) -> None:
    with pytest.raises(InputError, match=f"device {name}: cannot be used here") as refused:
        choose_pair((name,), 0, "float64", 1)
    assert "-d cpu" in refused.value.hint


@pytest.mark.filterwarnings("ignore")  # of torch's compiler about its own parts
def test_call_under_torch_compile_is_checked() -> None:
    made = call("Torch.exp", torch.linspace(-1, 1, 64))
    row = check_call(made, Source(None, 1), Pair(Place(compiled=True))).row
    assert row.forward == "pass", row
