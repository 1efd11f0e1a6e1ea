"""The values of an earlier dump, put in the place of a run's own ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from msprobe_core.errors import LifecycleError
from msprobe_core.format import DUMP_FILE, TENSOR_DIR, parse_rank_dir
from msprobe_core.report import say


class Substitute(torch.autograd.Function):
    """The loaded value forwards, the gradient unchanged backwards."""

    @staticmethod
    def forward(_: Any, own: torch.Tensor, loaded: torch.Tensor) -> torch.Tensor:
        return loaded.clone()

    @staticmethod
    def backward(_: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


class DumpedValues:
    """The entries of one step and rank. Raises LifecycleError when the dump cannot serve.

    `replaced` lists what was put in place of an own value, and whether the two were equal.
    """

    def __init__(self, section: str, path: str, step: int, rank: int | None, task: str) -> None:
        self._section = section
        self._directory = _rank_dir(section, path, step, rank)
        self.entries: dict[str, Any] = _read_entries(section, self._directory, task)
        self.replaced: list[dict[str, object]] = []
        self._said: set[str] = set()

    def put(self, own: Any, saved: Any, path: str) -> Any:
        """An own value with its tensors and numbers replaced by the saved ones of that path."""
        if isinstance(own, torch.Tensor):
            loaded = self.load(own, saved, path)
            if loaded is None:
                return own
            if not own.requires_grad:
                return loaded
            return Substitute.apply(own, loaded)  # type: ignore[no-untyped-call]  # torch has no types there
        if isinstance(own, (list, tuple)) and isinstance(saved, list):
            if type(own) in (list, tuple):
                inner = (self.put(v, item(saved, n), f"{path}.{n}") for n, v in enumerate(own))
                return type(own)(inner)
            return own
        if isinstance(own, dict) and isinstance(saved, dict):
            return {k: self.put(v, saved.get(k), f"{path}.{k}") for k, v in own.items()}
        return own

    def load(self, own: torch.Tensor, saved: Any, path: str) -> torch.Tensor | None:
        """The saved tensor where it can stand for an own one; what hinders is said once."""
        name = saved.get("data_name") if isinstance(saved, dict) else None
        if name is None:
            self.say(path, "has no saved tensor in that dump; it is not replaced")
            return None
        file = self._directory / TENSOR_DIR / name
        loaded = torch.load(file, map_location="cpu", weights_only=True)
        if loaded.shape != own.shape or loaded.dtype != own.dtype:
            said = f"is {list(loaded.shape)} {loaded.dtype} there and {list(own.shape)} {own.dtype}"
            self.say(path, f"{said} here; it is not replaced")
            return None
        loaded = loaded.to(own.device)
        equal = bool(loaded.equal(own.detach()))
        self.replaced.append({"value": path, "file": name, "equal": equal})
        return loaded  # type: ignore[no-any-return]  # what the user's file holds

    def say(self, what: str, text: str) -> None:
        """Say something of a path, once."""
        if what not in self._said:
            self._said.add(what)
            say(f"{self._section} {self._directory}: {what} {text}")


def item(values: Any, position: int) -> Any:
    """The saved value at a position, None where there are fewer."""
    return values[position] if isinstance(values, list) and position < len(values) else None


def _rank_dir(section: str, path: str, step: int, rank: int | None) -> Path:
    folder = Path(path) / f"step{step}"
    folders = [each for each in sorted(folder.glob("*")) if parse_rank_dir(each.name)]
    named = [each for each in folders if rank is not None and each.name == f"rank{rank}"]
    if named or len(folders) == 1:
        return (named or folders)[0]
    raise LifecycleError(
        f"{section}: {folder} has {len(folders)} process folders, none of them for rank {rank}; "
        f"correct path, step and rank of the {section} section"
    )


def _read_entries(section: str, directory: Path, task: str) -> dict[str, Any]:
    path = directory / DUMP_FILE
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LifecycleError(f"{section}: {path} cannot be read ({error})") from None
    if head.get("task") != task or not isinstance(head.get("data"), dict):
        raise LifecycleError(
            f"{section}: {directory} is a dump of task {head.get('task')!r}; "
            f"give one of task {task}"
        )
    return dict(head["data"])
