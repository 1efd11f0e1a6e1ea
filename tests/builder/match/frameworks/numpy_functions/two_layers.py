"""python two_layers.py DUMP WEIGHTS [extra|offset]: two layers of NumPy, sound or with a fault."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tests.builder.match.frameworks.numpy_functions.function_recorder import (
    Array,
    FunctionRecorder,
)

FAULTS = frozenset(sys.argv[3:])


def affine(
    recorder: FunctionRecorder, name: str, given: Array, matrix: Array, offset: Array
) -> Array:
    """A layer of the name `Affine`; its offset is left out where a fault says so."""
    parameters = {"matrix": matrix, "offset": offset}
    with recorder.block(f"net.{name}.Affine", given, parameters) as returned:
        product = recorder.matmul(given, matrix.T)
        is_left_out = name == "second" and "offset" in FAULTS
        returned.append(product if is_left_out else recorder.add(product, offset))
    return returned[0]


def run(recorder: FunctionRecorder, weights: dict[str, Array]) -> Array:
    """The model on its input."""
    given = weights["given"]
    with recorder.block("net.Net", given, {}) as returned:
        hidden = affine(recorder, "first", given, weights["first.weight"], weights["first.bias"])
        if "extra" in FAULTS:
            hidden = recorder.multiply(hidden, 1.5)
        hidden = recorder.arctan(hidden)
        last = affine(recorder, "second", hidden, weights["second.weight"], weights["second.bias"])
        returned.append(recorder.exp(last))
    return returned[0]


if __name__ == "__main__":
    functions = FunctionRecorder(Path(sys.argv[1]))
    run(functions, dict(np.load(sys.argv[2])))
    functions.close()
