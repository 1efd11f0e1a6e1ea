"""What two dumps hold of their tensors, and so which measures they have in common."""

from __future__ import annotations

from typing import Literal, TypeAlias

from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.reasons import UnlikeAttributes, UnlikeChecksums, UnlikeNames, UnlikeStatistics

Mode = Literal["statistics", "tensor", "md5", "structure"]
Kind = Literal["statistics", "tensor", "md5", "xor", "structure"]
Unlike: TypeAlias = UnlikeAttributes | UnlikeChecksums | UnlikeNames | UnlikeStatistics
_XOR = "0x"  # with which mindstudio-probe's XOR checksums begin


def mode_of(problem: Dump, benchmark: Dump) -> Mode:
    """Which measures two dumps allow: the finest that both have."""
    if not problem.values.records or not benchmark.values.records:
        return "structure"
    if problem.task == benchmark.task == "tensor":
        return "tensor"
    if problem.framework != benchmark.framework:
        return "statistics"  # kernels of two frameworks never agree to the last bit
    checksums = [_checksum_of(dump.values.records) for dump in (problem, benchmark)]
    if None not in checksums and checksums[0] == checksums[1]:
        return "md5"
    return "statistics"


def unlike(problem: Dump, benchmark: Dump) -> Unlike | None:
    """What two dumps that hold unlike things were compared on; None for two of a kind."""
    ours, theirs = kind_of(problem), kind_of(benchmark)
    if ours == theirs:
        return None
    if "structure" in (ours, theirs):
        said: type[Unlike] = UnlikeNames
    elif mode_of(problem, benchmark) == "md5":
        said = UnlikeChecksums
    elif all(_has_statistics(dump.values.records) for dump in (problem, benchmark)):
        said = UnlikeStatistics
    else:
        said = UnlikeAttributes
    return said(ours, theirs)


def kind_of(dump: Dump) -> Kind:
    """What a dump holds of its tensors beyond dtype and shape."""
    if not dump.values.records:
        return "structure"
    if dump.task == "tensor":
        return "tensor"
    return _checksum_of(dump.values.records) or "statistics"


def _checksum_of(records: list[Record]) -> Literal["md5", "xor"] | None:
    # XOR of a tensor without dimensions is a number: it looks like neither.
    checksum = next((r.md5 for r in records if r.md5 is not None and r.shape), None)
    if checksum is None:
        return None
    return "xor" if str(checksum).startswith(_XOR) else "md5"


def _has_statistics(records: list[Record]) -> bool:
    return any(record.dtype is not None and record.Max is not None for record in records)
