"""The columns of a comparison table: the names that users' scripts read, in their order.

The side called problem elsewhere is NPU here and the benchmark is Bench: that is what the files
have said since the first release.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.compare.modes import Mode

_COMMON = (
    "NPU Name",
    "Bench Name",
    "NPU Dtype",
    "Bench Dtype",
    "NPU Tensor Shape",
    "Bench Tensor Shape",
    "NPU Requires_grad",
    "Bench Requires_grad",
)
STATISTICS = (
    "NPU max",
    "NPU min",
    "NPU mean",
    "NPU l2norm",
    "Bench max",
    "Bench min",
    "Bench mean",
    "Bench l2norm",
)
STATISTICS_MEASURES = (
    "Max diff",
    "Min diff",
    "Mean diff",
    "L2norm diff",
    "MaxRelativeErr",
    "MinRelativeErr",
    "MeanRelativeErr",
    "NormRelativeErr",
)
TENSOR_MEASURES = (
    "Cosine",
    "EucDist",
    "MaxAbsErr",
    "MaxRelativeErr",
    "One Thousandth Err Ratio",
    "Five Thousandths Err Ratio",
)
CHECKSUMS = ("NPU MD5", "BENCH MD5")
GRADIENT = "Requires_grad Consistent"
RESULT = "Result"
MESSAGES = "Err_message"
STACK = "NPU_Stack_Info"
FILES = "Data_name"
OWN = ("Score", "Introduced", "Reason")
SCORES = "Score"
"""The sheet of a workbook that holds our columns."""


def own_places(header: Sequence[str]) -> list[int]:
    """Where the columns of the sheet of scores stand: the names of a row, its verdict, and ours."""
    return [header.index(name) for name in (*_COMMON[:2], RESULT, *OWN)]


def header(mode: Mode, measures: Sequence[str] = (), *, stack: bool = False) -> list[str]:
    """The header line of a table; `measures` are columns that extensions add.

    `stack` says whether the problem's dump has stacks. Ours come last: a script that counts
    columns finds what it always found.
    """
    if mode == "md5":
        values = (*CHECKSUMS, *measures)
    elif mode == "tensor":
        values = (*TENSOR_MEASURES, *measures, *STATISTICS)
    else:
        values = (*STATISTICS_MEASURES, *measures, *STATISTICS)
    last = ((STACK,) if stack else ()) + ((FILES,) if mode == "tensor" else ())
    return [*_COMMON, *values, GRADIENT, RESULT, MESSAGES, *last, *OWN]
