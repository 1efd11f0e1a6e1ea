"""A net with a compiled function and a compiled cell: MindSpore compiles what lies in files."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import nn, ops


@ms.jit
def scaled(value, scale):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return ops.relu(value) * scale


class Compiled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(4, 4)

    @ms.jit
    def construct(self, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        return ops.tanh(self.fc(x))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle = nn.Dense(4, 4), Compiled()

    def construct(self, x: Any) -> Any:
        return scaled(self.middle(self.first(x)), 2.0).sum()


def build() -> Net:
    """The net with weights of a seed."""
    ms.set_seed(4)
    return Net()
