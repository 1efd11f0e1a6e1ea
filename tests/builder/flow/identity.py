"""What really flowed in a forward pass: tensors are followed from call to call by identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves


class Identity(TorchFunctionMode):
    """Notes between which calls tensors went, by the names that a recording has for the calls.

    Attributes and questions as `dim` are no calls. What is written by index is what that call puts
    out; what is copied over is not read. All tensors are kept, so that none takes the identity of
    another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.edges: set[tuple[str, str]] = set()
        self._maker: dict[int, str] = {}
        self._calls: Counter[str] = Counter()
        self._kept: list[torch.Tensor] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        path = resolve_name(func) or ""
        read = _tensors((args[1:] if path.endswith(".copy_") else args, kwargs))
        makers = [self._maker[id(one)] for one in read if id(one) in self._maker]
        out = func(*args, **(kwargs or {}))
        made = _tensors(args[0] if path.endswith("__setitem__") else out)
        if made and not path.endswith(("__get__", "as_tensor")):
            name = self._numbered(path)
            self.edges |= {(maker, name) for maker in makers}
            self._maker |= {id(one): name for one in made}
            self._kept += read + made
        return out

    def _numbered(self, path: str) -> str:
        kind = "Tensor" if ".Tensor." in path else "Torch"
        if "nn.functional" in path or "._nn." in path:
            kind = "Functional"
        call = f"{kind}.{path.rpartition('.')[2]}"
        self._calls[call] += 1
        return f"{call}.{self._calls[call] - 1}.forward"


def _tensors(nested: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(nested) if isinstance(one, torch.Tensor)]
