"""A dump as columns: what is loaded is what was read, of every sample and of odd values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builder.dump.reader import Dump, FedInput, read_dump
from builder.dump.stored_dump import load_dump, store_dump
from builder.errors import DumpError
from tests.builder.dumps import forward, tensor, write_dump
from tests.conftest import ROOT

SAMPLES = sorted(path.parent for path in (ROOT / "tests" / "samples").rglob("dump.json"))


def _all_of(dump: Dump) -> str:
    # As text, since NaN is no number's equal and 0.0 is not -0.0; dicts keep their order in it.
    return repr(dump)


def _again(dump: Dump, tmp_path: Path) -> Dump:
    store_dump(dump, tmp_path / "columns")
    return load_dump(tmp_path / "columns", dump.path)


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_samples_come_back(folder: Path, tmp_path: Path) -> None:
    try:
        dump = read_dump(folder)
    except DumpError:
        pytest.skip("no dump that can be read")
    assert _all_of(_again(dump, tmp_path)) == _all_of(dump)


def test_odd_values_come_back(tmp_path: Path) -> None:
    values = [
        tensor(float("nan"), Max=-0.0, Min=0.0, Mean="inf"),
        {"type": "torch.ProcessGroup", "group_ranks": [0, 1]},
        {"type": "slice", "value": [None, 3, {"a": [True, -0.0]}]},
        {"type": "int", "value": 1},
        {"type": "bool", "value": True},
        None,
        tensor(2.0, shape=[]),
    ]
    folder = tmp_path / "rank0"
    write_dump(folder, {"Torch.f.0.forward": forward(values, [])}, {"Torch.f.0.forward": None})
    dump = read_dump(folder)
    assert len(dump.values.records) >= 6
    assert _all_of(_again(dump, tmp_path)) == _all_of(dump)


def test_checksums_of_inputs_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "rank0"
    write_dump(
        folder, {"Torch.f.0.forward": forward([tensor(1.0)], [])}, {"Torch.f.0.forward": None}
    )
    fed = {"0": FedInput((2, 3), "0badcafe", ("01234567", "89abcdef"))}
    dump = replace(read_dump(folder), inputs={"Module.m.M.forward.0": fed})
    assert _again(dump, tmp_path).inputs == dump.inputs


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "columns"
    for content in (b"", b"x", b"\x78\x01\x03\x00\x00\x00\x00\x01"):
        file.write_bytes(content)
        with pytest.raises(DumpError, match="columns: no dump in columns"):
            load_dump(file, tmp_path)
