"""The JSON records inside dump.json, typed: what a value and an entry may carry.

The writer produces these shapes; the reader accepts them and the older forms named here.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Task = Literal["statistics", "tensor", "structure"]
Level = Literal["L0", "L1", "mix", "debug"]
Direction = Literal["forward", "backward"]
SummaryMode = Literal["statistics", "md5", "xor"]

Statistic = float | int | bool | str | None


class TensorRecord(TypedDict, total=False):
    """One tensor; `Max`, `Min`, `Mean`, `Norm` are null where they mean nothing.

    `Norm` is the L2 norm. Older dumps hold non-finite statistics as text ("nan", "inf").
    `nan_count` and `inf_count` are ours and present only when above 0.
    """

    type: Literal["torch.Tensor"]
    dtype: str
    shape: list[int]
    Max: Statistic
    Min: Statistic
    Mean: Statistic
    Norm: Statistic
    requires_grad: bool
    data_name: str
    md5: str
    nan_count: int
    inf_count: int


class ScalarRecord(TypedDict):
    """A non-tensor argument: int, float, bool, str, complex, slice, torch.Size and the like."""

    type: str
    value: object


class GroupRecord(TypedDict):
    """A process group argument of a communication call."""

    type: Literal["torch.ProcessGroup"]
    group_ranks: list[int]
    group_id: str


class ForwardEntry(TypedDict, total=False):
    """A forward call; only modules have `parameters`. Values nest as lists and objects."""

    input_args: list[object]
    input_kwargs: dict[str, object]
    output: list[object]
    parameters: dict[str, object]


class BackwardEntry(TypedDict):
    """A backward call: `input` = gradients of the outputs, `output` = gradients of the inputs."""

    input: list[object]
    output: list[object]


class DumpFile(TypedDict):
    """dump.json as a whole; a parameters_grad entry maps each parameter to a one-value list."""

    task: Task
    level: Level
    framework: str
    dump_data_dir: str | None
    data: dict[str, object]
