"""Reads result tables back, and makes packs by hand."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl

SAMPLES = Path(__file__).parents[2] / "samples" / "tools-26.2.0" / "checks"
Table = list[tuple[Any, ...]]


def sheets(file: Path) -> dict[str, Table]:
    """The rows of each sheet, header first, in the order of the workbook."""
    book = openpyxl.load_workbook(file)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(folder).as_posix())
    return target


def pack(target: Path, **members: Any) -> Path:
    """A pack of members by short name: env, pip, static, dynamic, random, dataset, weights."""
    names = {
        "static": "hyperparameters/hyperparameters_static.json",
        "dynamic": "hyperparameters/hyperparameters_dynamic.json",
        "random": "random/rank0.json",
        "dataset": "dataset/step0/rank0/dataset.json",
        "weights": "weights/step0/rank0/weight.json",
    }
    with zipfile.ZipFile(target, "w") as packed:
        for name, content in members.items():
            text = content if isinstance(content, str) else json.dumps(content)
            packed.writestr(names.get(name, name), text)
    return target
