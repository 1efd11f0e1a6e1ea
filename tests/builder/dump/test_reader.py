"""One rank directory in all the forms that users have: old and new files, text for numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.errors import DumpError
from tests.builder.dumps import forward, tensor, write_dump

ONE, TWO = "Torch.one.0.forward", "Torch.two.0.forward"
FRAMES = ["File a.py, line 3, in run, \n x = one(y)", "File main.py, line 9, in <module>, \n run()"]


def entries() -> dict[str, object]:
    return {name: forward([tensor()], [tensor()]) for name in (ONE, TWO)}


@pytest.mark.parametrize(
    "stack", [{"0": [[ONE, TWO], FRAMES]}, {ONE: FRAMES, TWO: FRAMES}], ids=["new", "old"]
)
def test_old_and_new_stack_files_say_the_same(tmp_path: Path, stack: dict[str, object]) -> None:
    dump = read_dump(write_dump(tmp_path, entries(), {ONE: None, TWO: None}, stack))
    texts = {name: dump.frames[index] for name, index in dump.stacks.items()}
    assert set(texts) == {ONE, TWO}
    assert texts[ONE] == texts[TWO]
    assert texts[ONE].splitlines()[0].startswith("File a.py, line 3, in run")


def test_a_stack_of_two_frames_is_no_group(tmp_path: Path) -> None:
    dump = read_dump(write_dump(tmp_path, entries(), None, {ONE: FRAMES}))
    assert list(dump.stacks) == [ONE]


def test_a_dump_without_structure_and_stacks_has_its_entries(tmp_path: Path) -> None:
    dump = read_dump(write_dump(tmp_path, entries()))
    assert list(dump.ranges) == [ONE, TWO]
    assert (dump.parents, dump.stacks) == ({}, {})


def test_statistics_may_be_text_null_or_bare_tokens(tmp_path: Path) -> None:
    odd = tensor(Max=None, Min="-inf", Mean="nan", Norm=float("inf"))
    dump = read_dump(write_dump(tmp_path, {ONE: forward([odd], [tensor()])}))
    record = dump.values.records[0]
    assert (record.Max, record.Min, record.Mean) == (None, "-inf", "nan")
    assert float(record.Norm or 0) == float("inf")


def test_a_folder_without_a_dump_is_named(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"dump\.json: missing"):
        read_dump(tmp_path)
