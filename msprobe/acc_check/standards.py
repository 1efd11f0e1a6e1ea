"""The former standards, by option: fixed thresholds over the columns of the details table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msprobe.acc_check.rows import ValueRow

Standard = Literal["rounding", "msprobe", "absolute", "ulp", "binary", "thousandth"]
STANDARDS: tuple[Standard, ...] = (
    "rounding", "msprobe", "absolute", "ulp", "binary", "thousandth",
)  # fmt: skip
Measures = Mapping[str, float]


def by_standard(row: ValueRow, standard: Standard) -> ValueRow:
    """The row with the verdict of a former standard.

    A value that has no measures keeps its verdict, and so does NaN or infinity where the
    reference is finite: that is an error in every standard.
    """
    if standard == "rounding" or not row.measures or row.measures.get("inf/nan错误率"):
        return row
    verdict = _VERDICTS[standard](row.measures, row.device_dtype)
    return ValueRow(
        row.name,
        verdict,
        f"by the {standard} standard",
        row.reference_dtype,
        row.device_dtype,
        row.shape,
        row.measures,
    )


def _msprobe(measures: Measures, dtype: str) -> str:
    """The order of mindstudio-probe's acc_check: the first that decides wins."""
    if "二进制一致错误率" in measures:
        return _binary(measures, dtype)
    if measures.get("余弦相似度", 1.0) <= 0.99:
        return "error"
    if measures.get("最大绝对误差", 0.0) < 0.001:
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


_NARROW = ("torch.float16", "torch.bfloat16")
_VERDICTS: dict[str, Callable[[Measures, str], str]] = {
    "msprobe": _msprobe,
    "absolute": _absolute,
    "ulp": _ulp,
    "binary": _binary,
    "thousandth": _thousandth,
}
