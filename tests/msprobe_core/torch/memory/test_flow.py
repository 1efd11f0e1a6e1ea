"""Inputs name the recorded output that they are, through views and changes in place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.memory.book import MemoryBook
from msprobe_core.torch.memory.flow import keep, source_of
from msprobe_core.torch.memory.views import view_of
from tests.msprobe_core.dump_reading import RankDump, tensors
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def sources(dump: RankDump) -> dict[str, str]:
    """The source of each positional input of a forward entry."""
    return {
        f"{name}.input.{n}": value["source"]
        for name, entry in dump.data.items()
        for n, value in enumerate(entry.get("input_args", []))
        if isinstance(value, dict) and "source" in value
    }


def run(debugger: Make, dumps: Read, body: Callable[[], object], **arguments: Any) -> RankDump:
    target = debugger(**{"level": "L1", **arguments})
    target.start()
    body()
    target.stop()
    target.step()
    return dumps()[-1]


def test_a_chain_of_calls(debugger: Make, dumps: Read) -> None:
    def body() -> None:
        x = torch.ones(3)
        y = torch.exp(x)
        torch.add(torch.sin(y), y)

    assert sources(run(debugger, dumps, body)) == {
        "Torch.sin.0.forward.input.0": "Torch.exp.0.forward.output.0",
        "Torch.add.0.forward.input.0": "Torch.sin.0.forward.output.0",
        "Torch.add.0.forward.input.1": "Torch.exp.0.forward.output.0",
    }


def test_views_changes_in_place_and_parts(debugger: Make, dumps: Read) -> None:
    def body() -> None:
        y = torch.exp(torch.ones(4, 4))
        torch.sin(y[1:].detach())
        y.mul_(2.0)
        torch.cos(y)
        left, right = torch.exp(y).split(2)
        left.add_(1.0)
        torch.tan(right)
        torch.tan(left[0])

    assert sources(run(debugger, dumps, body)) == {
        "Torch.sin.0.forward.input.0": "Torch.exp.0.forward.output.0",
        "Tensor.mul_.0.forward.input.0": "Torch.exp.0.forward.output.0",
        "Torch.cos.0.forward.input.0": "Tensor.mul_.0.forward.output.0",
        "Torch.exp.1.forward.input.0": "Tensor.mul_.0.forward.output.0",
        "Tensor.add_.0.forward.input.0": "Torch.exp.1.forward.output.0",
        "Torch.tan.0.forward.input.0": "Torch.exp.1.forward.output.0",
        "Torch.tan.1.forward.input.0": "Tensor.add_.0.forward.output.0",
    }


@pytest.mark.parametrize("inference", [False, True])
def test_the_call_that_made_a_value_stands_before_the_module_that_returned_it(
    inference: bool, debugger: Make, dumps: Read
) -> None:
    model = Net()

    def body() -> None:
        with torch.inference_mode(inference):
            model(torch.ones(2, 4))

    one_step(debugger(level="mix"), model, body)
    found = sources(dumps()[0])
    assert found["Torch.relu.0.forward.input.0"] == "Functional.linear.0.forward.output.0"
    assert found["Module.second.Linear.forward.0.input.0"] == "Torch.relu.0.forward.output.0"


def test_modules_alone_and_their_gradients(debugger: Make, dumps: Read) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    one_step(debugger(level="L0"), model, lambda: model(torch.ones(2, 4)).square().sum().backward())
    dump = dumps()[0]
    assert sources(dump) == {
        "Module.1.Linear.forward.0.input.0": "Module.0.Linear.forward.0.output.0"
    }
    arrived = dump.data["Module.0.Linear.backward.0"]["input"][0]
    assert arrived["source"] == "Module.1.Linear.backward.0.output.0"


def test_outputs_and_parameters_have_none(debugger: Make, dumps: Read) -> None:
    model = Net()
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(2, 4)).sum().backward())
    for entry in dumps()[0].data.values():
        for key in ("output", "parameters"):
            assert not any("source" in record for record in tensors(entry.get(key)))


def test_it_can_be_turned_off(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"flow": False}))
    dump = run(debugger, dumps, lambda: torch.exp(torch.exp(torch.ones(3))), config_path=config)
    assert sources(dump) == {}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["new", "view", "change"]), st.integers(0, 20)), max_size=30)
)
def test_a_tensor_leads_to_the_last_output_that_wrote_its_part(
    steps: list[tuple[str, int]],
) -> None:
    """Against a model in which each element remembers who wrote it."""
    book = MemoryBook()
    owners = torch.zeros(12, dtype=torch.long)
    values = torch.zeros(12)
    whole: list[tuple[torch.Tensor, torch.Tensor]] = [(values, owners)]
    keep(book.at(values, True), view_of(values), "0")
    for number, (kind, at) in enumerate(steps, 1):
        one, written = whole[at % len(whole)]
        if kind == "new":
            whole.append((torch.zeros(12), torch.full((12,), number)))
            keep(book.at(whole[-1][0], True), view_of(whole[-1][0]), str(number))
        elif kind == "view" and len(one) > 3:
            half = len(one) // 2
            cut = slice(0, half) if at % 2 else slice(half, None)
            whole.append((one[cut], written[cut]))
        elif kind == "change":
            one.add_(1.0)
            book.written([one])
            written.fill_(number)
            keep(book.at(one, True), view_of(one), str(number))
    for one, written in whole:
        newest = int(written.max())
        assert source_of(book.at(one, True), view_of(one)) == str(newest)
