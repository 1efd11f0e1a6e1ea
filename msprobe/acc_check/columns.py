"""The measures of the details table by the names that users' scripts read, in their order."""

from __future__ import annotations

from collections.abc import Mapping

COSINE = "余弦相似度"
LARGEST_ERROR = "最大绝对误差"
SHARES: Mapping[str, float] = {"双百指标": 0.01, "双千指标": 0.001, "双万指标": 0.0001}
UNEQUAL = "二进制一致错误率"
BALANCE = "误差均衡性"
ROOT_MEAN_SQUARE = "均方根误差"
SMALL_ERRORS = "小值域错误占比"
LARGEST_RELATIVE = "相对误差最大值"
MEAN_RELATIVE = "相对误差平均值"
NONFINITE = "inf/nan错误率"
RELATIVE_ERRORS = "相对误差错误率"
ABSOLUTE_ERRORS = "绝对误差错误率"
LARGEST_ULP = "ULP误差最大值"
MEAN_ULP = "ULP误差平均值"
ULP_ABOVE = "ULP误差大于阈值占比"

MEASURE_COLUMNS = (
    *(COSINE, LARGEST_ERROR, *SHARES, UNEQUAL, BALANCE, ROOT_MEAN_SQUARE, SMALL_ERRORS),
    *(LARGEST_RELATIVE, MEAN_RELATIVE, NONFINITE, RELATIVE_ERRORS, ABSOLUTE_ERRORS),
    *(LARGEST_ULP, MEAN_ULP, ULP_ABOVE),
)
