"""Matrices that dumped tensors are multiplied with before they are compared, from a YAML file.

A rotation that one side applies to its weights and activations is undone by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from builder.dump.joined_tensors import JoinedTensor
from builder.dump.reader import Dump
from builder.dump.tensor_files import TensorFileError, shape_of
from builder.errors import MappingError
from msprobe_core.format.bounded import parse_yaml

# Section and key of the file → where the matrix stands: (problem's?, left of the tensor?).
_PLACES = {
    ("left_matmul", "target_tensor_map"): (True, True),
    ("left_matmul", "golden_tensor_map"): (False, True),
    ("right_matmul", "target_tensor_map"): (True, False),
    ("right_matmul", "golden_tensor_map"): (False, False),
    ("left_right_matmul", "left_target_tensor_map"): (True, True),
    ("left_right_matmul", "left_golden_tensor_map"): (False, True),
    ("left_right_matmul", "right_target_tensor_map"): (True, False),
    ("left_right_matmul", "right_golden_tensor_map"): (False, False),
}


@dataclass(frozen=True, slots=True)
class Factors:
    """The files of the matrices on either side of a tensor."""

    left: str | None = None
    right: str | None = None


@dataclass(frozen=True, slots=True)
class Matrices:
    """What is multiplied, by the tensor's file name (`data_name`), and the matrices' shapes."""

    path: Path
    problem: Mapping[str, Factors]
    benchmark: Mapping[str, Factors]
    shapes: Mapping[str, tuple[int, ...]]


def read_matrices(path: Path) -> Matrices:
    """Read the file and the shapes of its matrices; raises MappingError for what is wrong in it."""
    sides: tuple[dict[str, Factors], dict[str, Factors]] = ({}, {})
    shapes: dict[str, tuple[int, ...]] = {}
    for of_problem, is_left, matrix, names in _lines(path):
        shapes[matrix] = _shape(path, matrix)
        side = sides[0 if of_problem else 1]
        for name in names:
            known = side.get(name, Factors())
            if (known.left if is_left else known.right) is not None:
                raise MappingError(
                    f"{path}: {name} has two matrices on one side", "keep one of them"
                )
            side[name] = replace(known, **{"left" if is_left else "right": matrix})
    return Matrices(path, *sides, shapes)


def multiply(dump: Dump, factors: Mapping[str, Factors], matrices: Matrices) -> list[str]:
    """Let the dump's tensors be read as products; returns a sentence for each that cannot be.

    Only names and shapes are looked at here; the numbers are multiplied when they are compared.
    """
    said, seen = [], set()
    records = dump.values.records
    for index, record in enumerate(records):
        name = record.data_name
        wanted = factors.get(name) if name is not None else None
        if name is None or wanted is None:
            continue
        seen.add(name)
        shape = _product_shape(record.shape or (), wanted, matrices.shapes)
        place = dump.tensor_finder()(name)
        if shape is None or not isinstance(place, str):
            said.append(f"{name}: no matrix fits {list(record.shape or ())}, compared as it is")
            continue
        dump.joined[name] = JoinedTensor(
            (place,), (record.shape or (),), (), left=wanted.left, right=wanted.right
        )
        records[index] = msgspec.structs.replace(record, shape=shape)
    said += [f"{name}: no such tensor in {dump.path}" for name in factors if name not in seen]
    return said


def _product_shape(
    shape: tuple[int, ...], factors: Factors, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[int, ...] | None:
    """The shape of left · tensor · right over the last two dimensions; None where it has none."""
    if len(shape) < 2:
        return None
    *batch, rows, columns = shape
    if factors.left is not None:
        height, width = shapes[factors.left]
        rows, fits = height, width == rows
        if not fits:
            return None
    if factors.right is not None:
        height, width = shapes[factors.right]
        columns, fits = width, height == columns
        if not fits:
            return None
    return (*batch, rows, columns)


def _lines(path: Path) -> Iterator[tuple[bool, bool, str, list[str]]]:
    for section, maps in _mapping(path, _read(path), "the file").items():
        for key, entries in _mapping(path, maps, section).items():
            place = _PLACES.get((section, key))
            if place is None:
                known = ", ".join(f"{a}: {b}" for a, b in _PLACES)
                raise MappingError(f"{path}: {section}: {key} is unknown", f"write one of {known}")
            for matrix, names in _mapping(path, entries, key).items():
                if not isinstance(names, list):
                    raise MappingError(
                        f"{path}: {matrix}: no list", "list the tensors' file names under it"
                    )
                yield *place, matrix, [str(name) for name in names]


def _read(path: Path) -> object:
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MappingError(f"{path}: no such file", "give a YAML file to --config") from None
    except OSError as error:
        raise MappingError(f"{path}: {error.strerror}", "give a YAML file to --config") from None
    except ValueError as error:
        raise MappingError(f"{path}: cannot be read ({error})", "correct the file") from None


def _mapping(path: Path, content: object, what: str) -> dict[str, object]:
    if not isinstance(content, dict):
        raise MappingError(
            f"{path}: {what} holds no names with values",
            "write left_matmul, right_matmul or left_right_matmul with their maps",
        )
    return {str(key): value for key, value in content.items()}


def _shape(path: Path, matrix: str) -> tuple[int, ...]:
    try:
        shape = shape_of(matrix)
    except TensorFileError as error:
        raise MappingError(
            f"{path}: {matrix}: {error}", "give the path of a matrix, .pt or .npy"
        ) from None
    if len(shape) != 2:
        raise MappingError(f"{path}: {matrix} has the shape {list(shape)}", "give a matrix")
    return shape
