"""Rows that a grouped matrix product leaves unwritten are no evidence; all that it writes is."""

from __future__ import annotations

from math import nan
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.dump.grouped_products import mark_unwritten
from builder.dump.reader import Dump, read_dump
from builder.dump.sources import find_sources
from builder.dump.values import Ranges, Record, Values
from msprobe.pytorch import PrecisionDebugger

ROWS = 8
needs_grouped_mm = pytest.mark.skipif(
    not hasattr(nn.functional, "grouped_mm"), reason="torch 2.10 brought grouped_mm"
)


class _Experts(nn.Module):
    """Two experts for the first rows; the others belong to another rank's, under a mask."""

    def __init__(self, ends: tuple[int, int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 16, 16))
        self.ends = ends

    def forward(self, x: Tensor) -> Tensor:
        offs = torch.tensor(self.ends, dtype=torch.int32)
        out: Tensor = nn.functional.grouped_mm(x * 1.0, self.weight, offs=offs)
        out.add_(torch.ones(16))
        return out.masked_fill(torch.arange(ROWS)[:, None] >= self.ends[1], 0.0)


def _dump(folder: Path, ends: tuple[int, int]) -> Dump:
    model = _Experts(ends)
    debugger = PrecisionDebugger(level="mix", dump_path=str(folder))
    with debugger.recording(model):
        model(torch.randn(ROWS, 16, requires_grad=True)).sum().backward()
    debugger.close()
    return read_dump(find_sources(folder).sources[0].path)


def _unwritten(dump: Dump) -> set[str]:
    values = dump.values
    return {
        f"{name}.{values.keys[index]}"
        for name, place in dump.ranges.items()
        for index in range(*place)
        if values.records[index].unwritten
    }


@needs_grouped_mm
def test_rows_behind_the_last_group_are_unwritten_until_a_mask_covers_them(tmp_path: Path) -> None:
    dump = _dump(tmp_path, (3, 5))
    # What it is multiplied into is of it where it happened to be no number.
    assert _unwritten(dump) - {"Tensor.__mul__.0.backward.output.0"} == {
        "Torch._grouped_mm.0.forward.output.0",
        "Torch._grouped_mm.0.backward.output.0",
        "Tensor.add_.0.forward.input.0",
        "Tensor.add_.0.forward.output.0",
        "Tensor.masked_fill.0.forward.input.0",
        "Tensor.__mul__.0.backward.input.0",
    }
    blank = dump.values.records[dump.ranges["Torch._grouped_mm.0.backward"][1] - 2]
    assert (blank.Max, blank.Norm, blank.sketch, blank.shape) == (None, None, None, (ROWS, 16))


@needs_grouped_mm
def test_groups_that_fill_all_rows_leave_nothing_unwritten(tmp_path: Path) -> None:
    assert _unwritten(_dump(tmp_path, (3, ROWS))) == set()


def _values(*entries: tuple[str, dict[str, Record]]) -> tuple[Values, Ranges]:
    values, ranges = Values(), {}
    for name, content in entries:
        start = len(values.keys)
        values.keys += content
        values.records += content.values()
        ranges[name] = (start, len(values.keys))
    return values, ranges


def _tensor(*shape: int, last: float = 1.0, source: str | None = None) -> Record:
    return Record("torch.Tensor", "torch.float32", shape, Max=last, Norm=last, source=source)


PRODUCT = "Torch._grouped_mm.0.forward"


def _product(left: Record, right: Record, last: int) -> tuple[str, dict[str, Record]]:
    ends = _tensor(2, last=last)
    content = {"input.0": left, "input.1": right, "input.offs": ends, "output.0": _tensor(8, 4)}
    return PRODUCT, content


def test_zero_times_memory_that_holds_nan_is_of_that_memory_and_covered_by_its_mask() -> None:
    """A gradient comes to the mask through `chunk`, whose backward call leaves no record."""
    values, ranges = _values(
        _product(_tensor(8, 4), _tensor(2, 4, 4), 5),
        ("Tensor.__mul__.0.backward", {
            "input.0": _tensor(8, 4, source="Torch._grouped_mm.0.backward.output.0"),
            "output.0": _tensor(8, 4, last=nan),
            "output.1": _tensor(8, 4),
        }),
        ("Tensor.masked_fill.0.backward", {
            "input.0": _tensor(8, 8, last=nan),
            "output.0": _tensor(8, 8),
        }),
    )  # fmt: skip
    mark_unwritten(values, ranges)
    blank = [key for key, record in zip(values.keys, values.records) if record.unwritten]
    assert blank == ["output.0", "input.0", "output.0", "input.0"]
    assert not values.records[ranges["Tensor.__mul__.0.backward"][0] + 2].unwritten


def test_a_mask_in_a_run_whose_groups_are_full_hides_no_nan() -> None:
    values, ranges = _values(
        _product(_tensor(8, 4), _tensor(2, 4, 4), 8),
        ("Tensor.masked_fill.0.forward", {"input.0": _tensor(8, last=nan), "output.0": _tensor(8)}),
    )
    mark_unwritten(values, ranges)
    assert not any(record.unwritten for record in values.records)


@pytest.mark.parametrize(("last", "is_cut"), [(5, True), (6, False)])
def test_groups_of_columns_end_before_the_second_operand_does(last: int, is_cut: bool) -> None:
    backward = _tensor(4, 6), _tensor(4, 6)
    values, ranges = _values(
        _product(_tensor(2, 8, 4), _tensor(4, 6), last),
        ("Torch._grouped_mm.0.backward", {"output.0": backward[0], "output.1": backward[1]}),
    )
    mark_unwritten(values, ranges)
    assert [bool(r.unwritten) for r in values.records[-2:]] == [False, is_cut]
