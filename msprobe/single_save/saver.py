"""`SingleSave`: a tagged value of this micro step and rank, as `.npy` and its statistics as JSON.

Layout: `data/<tag>/step<s>/rank<r>/micro_step<m>/<tag>[.<key>…].npy`, and `<tag>.json` beside.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msprobe.config_check.redaction import redacted
from msprobe.errors import CheckError
from msprobe.tensor_summary import storable, summarise

if TYPE_CHECKING:
    import torch

_TAG = re.compile(r"[\w\-.]+")


class SingleSave:
    """One folder a process: making it again with a path moves on to that folder, from step 0.

    The methods belong to the class, so that code far from where it was made can call them.
    Invariant: `_counts` holds how often each tag was saved in the current step.
    """

    _instance: SingleSave | None = None

    def __init__(self, dump_path: str | None = None, fmk: str = "pytorch") -> None:
        if fmk != "pytorch":
            raise CheckError(f"SingleSave: fmk={fmk!r}", "only 'pytorch' is supported")
        if dump_path is None:
            if SingleSave._instance is None:
                raise CheckError("SingleSave: no dump_path", "make it with SingleSave(dump_path)")
            self.__dict__ = SingleSave._instance.__dict__
            return
        self._folder = Path(dump_path)
        if self._folder.exists() and not self._folder.is_dir():
            raise CheckError(f"SingleSave: {self._folder} is a file", "give a folder")
        self._step = 0
        self._counts: Counter[str] = Counter()
        SingleSave._instance = self

    @staticmethod
    def save(data: Mapping[str, Any]) -> None:
        """Save each tag's value as the next micro step of the tag.

        A value is a tensor, a number, None or text, or a list, tuple or mapping of such, nested at
        will. Raises CheckError for anything else, before anything is written.
        """
        instance = _made()
        _check(data)
        for tag, value in data.items():
            place = f"micro_step{instance._counts[tag]}"
            instance._write(tag, value, place)
            instance._counts[tag] += 1

    @staticmethod
    def save_ex(data: Mapping[str, Any], micro_batch: int | None = None) -> None:
        """Save under a micro step of the caller's own, or directly in the rank's folder."""
        instance = _made()
        _check(data)
        for tag, value in data.items():
            instance._write(tag, value, "" if micro_batch is None else f"micro_step{micro_batch}")

    @staticmethod
    def save_config(data: Mapping[str, Any]) -> None:
        """Save a configuration, without its secrets, as `configurations.json`."""
        folder = _made()._folder
        folder.mkdir(parents=True, exist_ok=True)
        content = {str(key): redacted(str(key), value) for key, value in data.items()}
        _write_json(folder / "configurations.json", content)

    @staticmethod
    def step() -> None:
        """Begin the next step; micro steps count from 0 again."""
        instance = _made()
        instance._step += 1
        instance._counts.clear()

    def _write(self, tag: str, value: Any, place: str) -> None:  # noqa: ANN401 - users save anything
        folder = self._folder / "data" / tag / f"step{self._step}" / f"rank{_rank()}" / place
        folder.mkdir(parents=True, exist_ok=True)
        for name, tensor in _tensors(value, tag):
            _write_array(folder / f"{name}.npy", tensor)
        _write_json(folder / f"{tag}.json", {"data": _described(value)})


def _made() -> SingleSave:
    if SingleSave._instance is None:
        raise CheckError("SingleSave: no folder yet", "call SingleSave(dump_path) once before")
    return SingleSave._instance


def _check(data: object) -> None:
    if not isinstance(data, Mapping):
        raise CheckError(f"SingleSave: {type(data).__name__} given", "give {tag: value}")
    for tag, value in data.items():
        if not isinstance(tag, str) or not _TAG.fullmatch(tag) or set(tag) == {"."}:
            raise CheckError(f"SingleSave: tag {tag!r}", "use letters, digits, _, - and .")
        _check_value(tag, value)


def _check_value(name: str, value: object) -> None:
    import torch

    if isinstance(value, Mapping):
        for key, inner in value.items():
            if "/" in str(key):
                raise CheckError(f"SingleSave: key {key!r} of {name} holds a /", "rename it")
            _check_value(f"{name}.{key}", inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _check_value(f"{name}.{index}", inner)
    elif value is not None and not isinstance(value, torch.Tensor | int | float | str):
        raise CheckError(
            f"SingleSave: {name} is a {type(value).__name__}",
            "give tensors, numbers, text, or lists and mappings of them",
        )


def _tensors(value: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401 - users save anything
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _tensors(inner, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _tensors(inner, f"{name}.{index}")
    elif isinstance(value, int | float):  # compared like a tensor of one element
        yield name, torch.tensor(value)


def _described(value: Any) -> Any:  # noqa: ANN401 - mirrors the value
    import torch

    if isinstance(value, torch.Tensor):
        return {**storable(summarise(value)), "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {str(key): _described(inner) for key, inner in value.items()}
    return [_described(inner) for inner in value] if isinstance(value, list | tuple) else value


def _write_array(file: Path, tensor: torch.Tensor) -> None:
    import numpy as np

    values = tensor.detach().cpu()
    if values.dtype.is_floating_point and str(values.dtype)[6:] not in (
        "float16",
        "float32",
        "float64",
    ):
        values = values.float()  # bfloat16 and float8, which NumPy does not know
    partial = file.with_name(f"{file.name}.partial")
    with partial.open("wb") as opened:
        np.save(opened, values.numpy(), allow_pickle=False)
    partial.replace(file)


def _write_json(file: Path, content: object) -> None:
    text = json.dumps(content, indent=4, ensure_ascii=False, default=str)
    partial = file.with_name(f"{file.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def _rank() -> int:
    from msprobe_core.torch.rank import current_rank

    return current_rank() or 0
