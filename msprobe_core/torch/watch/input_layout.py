"""The tensors in a module's arguments and where they stand, containers opened."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from msprobe_core.torch.watch.graph import Edge, edge_of, members_of
from msprobe_core.values.arguments import Fragment
from msprobe_core.values.text import quoted

Layout = int | None | list["Layout"] | dict[str, "Layout"]
_DEEPEST = 12


class InputLayout:
    """Numbers the tensors of the arguments: `paths` tells where each stands, `edges` where its
    gradient goes.
    """

    def __init__(self, arguments: Iterable[object]) -> None:
        self.edges: list[Edge | None] = []
        self.paths: list[str] = []
        self._layout = [self._laid_out(each, str(at), 0) for at, each in enumerate(arguments)]

    def forget(self) -> None:
        """Hold no node of the graph any more."""
        self.edges = []

    def arranged(self, texts: list[Fragment]) -> list[Fragment]:
        """One text per argument, made of the texts of its tensors."""
        return [_Arranged(layout, texts) for layout in self._layout]

    def _laid_out(self, value: object, path: str, depth: int) -> Layout:
        if isinstance(value, torch.Tensor):
            self.edges.append(edge_of(value))
            self.paths.append(path)
            return len(self.edges) - 1
        members = members_of(value) if depth < _DEEPEST else None
        if members is None:
            return None
        laid_out = [(k, self._laid_out(each, f"{path}.{k}", depth + 1)) for k, each in members]
        if all(layout is None for _, layout in laid_out):
            return None
        if isinstance(value, (list, tuple)):
            return [layout for _, layout in laid_out]
        return dict(laid_out)


class _Arranged:
    """The text of one argument; what lies on a device is read when it is asked for."""

    def __init__(self, layout: Layout, texts: list[Fragment]) -> None:
        self._layout, self._texts = layout, texts

    @property
    def abnormal(self) -> bool:
        return any(not isinstance(text, str) and text.abnormal for text in self._texts)

    def __str__(self) -> str:
        return self._text(self._layout)

    def _text(self, layout: Layout) -> str:
        if isinstance(layout, list):
            return f"[{', '.join(map(self._text, layout))}]"
        if isinstance(layout, dict):
            members = (f"{quoted(key)}: {self._text(each)}" for key, each in layout.items())
            return f"{{{', '.join(members)}}}"
        return "null" if layout is None else str(self._texts[layout])
