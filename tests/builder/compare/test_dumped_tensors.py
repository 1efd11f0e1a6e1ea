"""A file with several names is measured once for each other file, and each row has its outcome."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from builder.compare import dumped_tensors
from builder.compare.dumped_tensors import measure_files
from builder.compare.tensors import TensorMeasures


def test_names_of_one_file_are_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def saved(name: str, value: float, *more: str) -> list[str]:
        torch.save(torch.full((3,), value), tmp_path / name)
        for other in more:
            os.link(tmp_path / name, tmp_path / other)
        return [str(tmp_path / each) for each in (name, *more)]

    ours, theirs = saved("a", 2.0, "b", "c"), saved("x", 1.0, "y", "z")
    alone, lost = saved("alone", 3.0), str(tmp_path / "lost")
    measured: list[tuple[str, str]] = []
    real = dumped_tensors.measure_pair
    monkeypatch.setattr(
        dumped_tensors, "measure_pair", lambda pair: (measured.append(pair), real(pair))[1]
    )
    pairs = dict(enumerate([*zip(ours, theirs), (alone[0], theirs[1]), (lost, theirs[0])]))
    found = measure_files(pairs, cores=1)
    assert len(measured) == 3
    distances = [each.max_abs_err for each in found.values() if isinstance(each, TensorMeasures)]
    assert distances == [1.0, 1.0, 1.0, 2.0]
    assert found[4] == f"{lost}: missing"


def test_files_of_unlike_length_are_no_agreement(tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours.pt"), str(tmp_path / "theirs.pt")
    torch.save(torch.ones(3), ours)
    torch.save(torch.ones(64), theirs)
    told = measure_files({0: (ours, theirs)}, cores=1)[0]
    assert isinstance(told, str)
    assert told.startswith(f"{ours}: holds 3 numbers")
