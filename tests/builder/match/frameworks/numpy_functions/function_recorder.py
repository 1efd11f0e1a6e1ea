"""Records calls of functions of NumPy, and the blocks that they run in, as a dump."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format import api_entry
from msprobe_core.writer.step_files import Header, StepFiles
from tests.builder.match.frameworks.numpy_functions import NUMPY

Array: TypeAlias = NDArray[np.float32]


class FunctionRecorder:
    """Writes one step of one process; `np.<name>(…)` on it is the function, recorded."""

    def __init__(self, dump: Path) -> None:
        folder = dump / "step0" / "rank0"
        folder.mkdir(parents=True)
        self._files = StepFiles(folder, Header(NUMPY.name, "statistics", "mix", None), True)
        self._around: list[str] = []
        self._calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)

        def recorded(*arrays: Array | float) -> Array:
            entry = api_entry("Numpy", name, self._next(name), "forward")
            result: Array = function(*arrays)
            self._write(entry, arrays, result)
            return result

        return recorded

    @contextmanager
    def block(
        self, name: str, given: Array, parameters: Mapping[str, Array]
    ) -> Iterator[list[Array]]:
        """Record a block around what runs in it; it puts what it returns into the list."""
        entry = f"Block.{name}.forward.{self._next(name)}"
        returned: list[Array] = []
        self._around.append(entry)
        yield returned
        self._around.pop()
        self._write(entry, (given,), returned[0], parameters)

    def close(self) -> None:
        """Close the files as complete."""
        self._files.complete({}, None)

    def _next(self, name: str) -> int:
        self._calls[name] += 1
        return self._calls[name] - 1

    def _write(
        self,
        entry: str,
        arrays: tuple[Array | float, ...],
        result: Array,
        parameters: Mapping[str, Array] | None = None,
    ) -> None:
        told: dict[str, object] = {"input_args": [_record(each) for each in arrays]}
        told |= {"input_kwargs": {}, "output": [_record(result)]}
        if parameters:
            told["parameters"] = {name: _record(each) for name, each in parameters.items()}
        above = self._around[-1] if self._around else None
        stack = [
            f"File {frame.filename}, line {frame.lineno}, in {frame.name}, {frame.line}"
            for frame in reversed(traceback.extract_stack())
            if frame.filename not in (__file__, np.__file__)
        ]
        member = f"{json.dumps(entry)}: {json.dumps(told)}"
        self._files.append([member], [(entry, above)], [([entry], json.dumps(stack))])


def _record(value: object) -> object:
    if not isinstance(value, np.ndarray):
        return {"type": type(value).__name__, "value": value}
    wide = value.astype(np.float64)
    return {
        "type": NUMPY.tensor_type,
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "Max": float(wide.max()),
        "Min": float(wide.min()),
        "Mean": float(wide.mean()),
        "Norm": float(np.linalg.norm(wide)),
    }
