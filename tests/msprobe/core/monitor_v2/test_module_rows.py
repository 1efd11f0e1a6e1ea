"""Rows of modules stand where mindstudio-probe 26.2.0 writes them."""

from __future__ import annotations

from msprobe.core.monitor_v2.module_rows import ModuleRows


def test_inputs_stand_where_a_call_begins_and_gradients_where_its_backward_pass_ends() -> None:
    rows = ModuleRows()
    rows.begin("")
    rows.begin("fc")
    for named in ("fc.input.0", "fc.output.0"):
        rows.add("actv", named, 0, [named])
    for named in (".input.0", ".output.0"):
        rows.add("actv", named, 0, [named])
    for named in (".grad_output.0", "fc.grad_output.1", "fc.grad_output.0", "fc.grad_input.0"):
        rows.add("actv_grad", named, 0, [named])
    rows.add("actv_grad", ".grad_input.0", 0, [".grad_input.0"])
    forward = [".input.0", "fc.input.0", "fc.output.0", ".output.0"]
    inner = ["fc.grad_input.0", "fc.grad_output.0", "fc.grad_output.1"]
    outer = [".grad_input.0", ".grad_output.0"]
    assert [name for (name,) in rows.take()] == [*forward, *inner, *outer]
    assert rows.take() == []


def test_a_call_that_an_exception_left_moves_no_row_of_later_ones() -> None:
    rows = ModuleRows()
    for module in ("", "fc"):  # the second never ends
        rows.begin(module)
    rows.add("actv", ".input.0", 0, ["left"])
    for module in ("", "fc"):
        rows.begin(module)
    rows.add("actv", "fc.input.0", 0, ["fc"])
    rows.add("actv", ".input.0", 1, ["whole"])
    assert [name for (name,) in rows.take()] == ["left", "whole", "fc"]
