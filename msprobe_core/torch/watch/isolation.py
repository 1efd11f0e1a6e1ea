"""Runs named modules on the inputs of an earlier tensor dump: the `load` section.

Their own error then stands alone, freed from what came before. Gradients flow as if the module
had run on its own inputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from msprobe_core.config import LoadConfig
from msprobe_core.errors import LifecycleError
from msprobe_core.format import DUMP_FILE, TENSOR_DIR, parse_rank_dir
from msprobe_core.report import say


class _Substitute(torch.autograd.Function):
    """The loaded value forwards, the gradient unchanged backwards."""

    @staticmethod
    def forward(_: Any, own: torch.Tensor, loaded: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
        return loaded.clone()

    @staticmethod
    def backward(_: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:  # noqa: ANN401
        return gradients[0], None


class Isolation:
    """Finds and loads the inputs. Raises LifecycleError when the dump cannot serve."""

    def __init__(self, config: LoadConfig, step: int, rank: int | None) -> None:
        self._modules = frozenset(config.modules)
        self.replaced: list[dict[str, object]] = []
        self._said: set[str] = set()
        self._directory = _rank_dir(config, step, rank)
        head = _read_head(self._directory)
        self._data: dict[str, Any] = head["data"]

    def concerns(self, path: str) -> bool:
        """Whether a module is to run on loaded inputs."""
        return path in self._modules

    def missing(self, paths: set[str]) -> list[str]:
        """Modules of the section that the model does not have."""
        return sorted(self._modules - paths)

    def replace(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments with their tensors replaced; keyword arguments are replaced in place."""
        record = self._data.get(entry)
        if record is None:
            self._say(entry, "is not in that dump; it runs on its own inputs")
            return args
        fresh = tuple(
            self._walk(value, _item(record.get("input_args"), n), f"{entry}.input.{n}")
            for n, value in enumerate(args)
        )
        for key, value in kwargs.items():
            saved = (record.get("input_kwargs") or {}).get(key)
            kwargs[key] = self._walk(value, saved, f"{entry}.input.{key}")
        return fresh

    def _walk(self, own: Any, saved: Any, path: str) -> Any:  # noqa: ANN401
        if isinstance(own, torch.Tensor):
            return self._tensor(own, saved, path)
        if (
            isinstance(own, (list, tuple))
            and isinstance(saved, list)
            and type(own) in (list, tuple)
        ):
            return type(own)(
                self._walk(value, _item(saved, n), f"{path}.{n}") for n, value in enumerate(own)
            )
        if isinstance(own, dict) and isinstance(saved, dict):
            return {k: self._walk(v, saved.get(k), f"{path}.{k}") for k, v in own.items()}
        return own

    def _tensor(self, own: torch.Tensor, saved: Any, path: str) -> torch.Tensor:  # noqa: ANN401
        name = saved.get("data_name") if isinstance(saved, dict) else None
        if name is None:
            self._say(path, "has no saved tensor in that dump; it is not replaced")
            return own
        loaded = torch.load(
            self._directory / TENSOR_DIR / name, map_location="cpu", weights_only=True
        )
        if loaded.shape != own.shape or loaded.dtype != own.dtype:
            said = f"is {list(loaded.shape)} {loaded.dtype} there and {list(own.shape)} {own.dtype}"
            self._say(path, f"{said} here; it is not replaced")
            return own
        loaded = loaded.to(own.device)
        self.replaced.append(
            {"value": path, "file": name, "equal": bool(loaded.equal(own.detach()))}
        )
        return _Substitute.apply(own, loaded) if own.requires_grad else loaded  # type: ignore[no-any-return,no-untyped-call]

    def _say(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            say(f"load {self._directory}: {what} {text}")


Replace = Callable[[str, tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]


def _rank_dir(config: LoadConfig, step: int, rank: int | None) -> Path:
    number = step if config.step is None else config.step
    folder = Path(config.path) / f"step{number}"
    wanted = config.rank if config.rank is not None else rank
    folders = [each for each in sorted(folder.glob("*")) if parse_rank_dir(each.name)]
    named = [each for each in folders if wanted is not None and each.name == f"rank{wanted}"]
    if named or len(folders) == 1:
        return (named or folders)[0]
    raise LifecycleError(
        f"load: {folder} has {len(folders)} process folders, none of them for rank {wanted}; "
        "correct path, step and rank of the load section"
    )


def _read_head(directory: Path) -> dict[str, Any]:
    try:
        head = json.loads((directory / DUMP_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LifecycleError(f"load: {directory / DUMP_FILE} cannot be read ({error})") from None
    if head.get("task") != "tensor" or not isinstance(head.get("data"), dict):
        raise LifecycleError(
            f"load: {directory} is a dump of task {head.get('task')!r}; give one of task tensor"
        )
    return dict(head)


def _item(values: Any, position: int) -> Any:  # noqa: ANN401
    return values[position] if isinstance(values, list) and position < len(values) else None
