"""The former standards, by option: fixed thresholds over the columns of the details table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from msprobe.acc_check.columns import (
    ABSOLUTE_ERRORS,
    BALANCE,
    COSINE,
    LARGEST_ERROR,
    LARGEST_RELATIVE,
    LARGEST_ULP,
    MEAN_RELATIVE,
    MEAN_ULP,
    MEASURE_COLUMNS,
    NONFINITE,
    RELATIVE_ERRORS,
    ROOT_MEAN_SQUARE,
    SHARES,
    SMALL_ERRORS,
    ULP_ABOVE,
    UNEQUAL,
)
from msprobe.acc_check.rows import ValueRow

Standard = Literal["rounding", "msprobe", "absolute", "ulp", "binary", "thousandth"]
STANDARDS: tuple[Standard, ...] = (
    "rounding", "msprobe", "absolute", "ulp", "binary", "thousandth",
)  # fmt: skip
Measures = Mapping[str, float]


def by_standard(row: ValueRow, standard: Standard) -> ValueRow:
    """The row with the verdict of a former standard, and with the measures that it looks at.

    A value that has no measures keeps its verdict, and so does NaN or infinity where the
    reference is finite: that is an error in every standard.
    """
    shown = _shown(row.measures, row.device_dtype, standard)
    if standard == "rounding" or not row.measures or row.measures.get(NONFINITE):
        return replace(row, measures=shown)
    verdict = _VERDICTS[standard](row.measures, row.device_dtype)
    return replace(row, status=verdict, message=f"by the {standard} standard", measures=shown)


def _shown(measures: Measures, dtype: str, standard: Standard) -> dict[str, float]:
    """The measures that stand in the table; the rest are blank, as in those of mindstudio-probe.

    Its api_precision_compare rates a value by the first standard whose columns are filled, so that
    a column too many is another verdict.
    """
    if UNEQUAL in measures:
        return {UNEQUAL: measures[UNEQUAL]}
    wanted = [COSINE, LARGEST_ERROR, *_COLUMNS[standard]]
    if measures.get(NONFINITE):
        wanted.append(NONFINITE)
    if standard == "thousandth" or measures.get(LARGEST_ERROR, 0.0) >= _LEAST:
        # The shares are what is looked at next, two of them for each format.
        wanted += SHARES_OF_NARROW if dtype in _NARROW else SHARES_OF_WIDE
    return {
        column: measures[column] for column in MEASURE_COLUMNS if column in {*wanted} & {*measures}
    }


def _msprobe(measures: Measures, dtype: str) -> str:
    """The order of mindstudio-probe's acc_check: the first that decides wins."""
    if "二进制一致错误率" in measures:
        return _binary(measures, dtype)
    if measures.get("余弦相似度", 1.0) <= 0.99:
        return "error"
    if measures.get("最大绝对误差", 0.0) < _LEAST:
        return "pass"
    narrow = dtype in _NARROW
    if narrow and measures["双百指标"] <= 0.99:
        return "error"
    if measures["双千指标"] <= 0.999:
        return "warning" if narrow else "error"
    return "pass" if narrow or measures["双万指标"] > 0.9999 else "warning"


def _absolute(measures: Measures, dtype: str) -> str:
    if "二进制一致错误率" in measures:
        return _binary(measures, dtype)
    wrong = any(measures.get(column) for column in ("相对误差错误率", "绝对误差错误率"))
    return "error" if wrong else "pass"


def _ulp(measures: Measures, dtype: str) -> str:
    if "ULP误差大于阈值占比" not in measures:
        return _binary(measures, dtype)
    share = measures["ULP误差大于阈值占比"]
    if dtype in _NARROW:
        return "pass" if share < 0.001 else "error"
    return "pass" if measures["ULP误差平均值"] < 64 or share < 0.05 else "error"


def _binary(measures: Measures, dtype: str) -> str:
    unequal = measures.get("二进制一致错误率", measures.get("最大绝对误差", 0.0))
    return "error" if unequal else "pass"


def _thousandth(measures: Measures, dtype: str) -> str:
    if "双千指标" not in measures:
        return _binary(measures, dtype)
    return "pass" if measures["双千指标"] > 0.999 else "error"


_LEAST = 0.001  # mindstudio-probe passes whatever is nearer than that
_NARROW = ("torch.float16", "torch.bfloat16")
SHARES_OF_NARROW, SHARES_OF_WIDE = tuple(SHARES)[:2], tuple(SHARES)[1:]
_BENCHMARK = (BALANCE, ROOT_MEAN_SQUARE, SMALL_ERRORS, LARGEST_RELATIVE, MEAN_RELATIVE)
_COLUMNS: dict[str, tuple[str, ...]] = {
    "rounding": _BENCHMARK,
    "msprobe": _BENCHMARK,
    "thousandth": _BENCHMARK,
    "binary": _BENCHMARK,
    "absolute": (NONFINITE, RELATIVE_ERRORS, ABSOLUTE_ERRORS),
    "ulp": (LARGEST_ULP, MEAN_ULP, ULP_ABOVE),
}
_VERDICTS: dict[str, Callable[[Measures, str], str]] = {
    "msprobe": _msprobe,
    "absolute": _absolute,
    "ulp": _ulp,
    "binary": _binary,
    "thousandth": _thousandth,
}
