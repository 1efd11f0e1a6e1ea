"""Rates two details tables against each other: is one device worse than the other, both measured
against the same reference?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.errors import InputError
from msprobe.acc_check.rows import BLANK, DETAILS_HEADER, read_table, write_table

Row = Mapping[str, str]
RESULT_HEADER = ("API Name", "Forward Test Success", "Backward Test Success", "Message")
VERDICT, ALGORITHM = "比对结果", "比对算法"
COMPARE_HEADER = (
    *("API Name", "小值域错误比值", "小值域判定结果", "均方根误差比值", "均方根误差判定结果"),
    *(
        "相对误差最大值比值",
        "相对误差最大值判定结果",
        "相对误差平均值比值",
        "相对误差平均值判定结果",
    ),
    *("误差均衡性比值", "误差均衡性判定结果", "inf/nan错误率", "inf/nan判定结果"),
    *("相对误差错误率", "相对误差判定结果", "绝对误差错误率", "绝对误差判定结果"),
    *("二进制一致错误率", "二进制一致错误率判定结果", "ULP误差平均值", "ULP误差大于阈值占比"),
    *("ULP误差大于阈值占比比值", "ULP误差判定结果", "双千指标", "双千指标判定结果"),
    *(VERDICT, ALGORITHM, "Message"),
)
STANDARDS = ("benchmark", "absolute", "ulp", "thousandth", "binary")
_NAMES = {
    "benchmark": "标杆比对法",
    "binary": "二进制一致法",
    "ulp": "ULP误差比对法",
    "absolute": "绝对阈值法",
    "thousandth": "双千指标法",
}
_NONFINITE, _UNEQUAL = "inf/nan错误率", "二进制一致错误率"
_STATUSES = ("SKIP", "pass", "warning", "error")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was written, and how many values of each verdict there are.

    `alone` are values of one table only, `repeated` names that stand in a table twice.
    """

    result: Path
    details: Path
    counts: Mapping[str, int]
    calls: Mapping[str, int]
    alone: tuple[str, ...]
    repeated: tuple[str, ...]


def compare_tables(
    npu: Path, gpu: Path, folder: Path, stamp: str, standard: str = "benchmark"
) -> Comparison:
    """Rate each value of `npu` beside its partner of `gpu`; raises InputError.

    `standard` is what floating values are rated by; integers and truth values must be equal.
    """
    (ours, twice), (theirs, twice_too) = (_by_name(path) for path in (npu, gpu))
    for path, table in ((npu, ours), (gpu, theirs)):
        _check_columns(path, table.values(), standard)
    rows = [_rate(name, ours.get(name), theirs.get(name), standard) for name in dict(ours) | theirs]
    calls = [_call(name, call_rows) for name, call_rows in _by_call(rows).items()]
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / f"api_precision_compare_result_{stamp}.csv"
    details = folder / f"api_precision_compare_details_{stamp}.csv"
    write_table(details, COMPARE_HEADER, [[row[c] for c in COMPARE_HEADER] for row in rows])
    write_table(result, RESULT_HEADER, calls)
    return Comparison(
        result,
        details,
        _counts(row[VERDICT] for row in rows),
        _counts(max(call[1:3], key=_rank) for call in calls),
        tuple(sorted(ours.keys() ^ theirs.keys())),
        tuple(twice + twice_too),
    )


def _by_name(path: Path) -> tuple[dict[str, Row], list[str]]:
    rows: dict[str, Row] = {}
    twice: list[str] = []
    for row in read_table(path, DETAILS_HEADER):
        name = row["API Name"]
        if name in rows:
            twice.append(name)
        else:
            rows[name] = row
    if not rows:
        raise InputError(f"{path}: has no rows", "give the details table of a run that was done")
    return rows, twice


def _check_columns(path: Path, rows: Iterable[Row], standard: str) -> None:
    """Refuse tables of another standard: of what was not measured nothing is said."""
    needed = _NEEDED.get(standard)
    floating = [row for row in rows if _algorithm(row, standard) == standard]
    if needed is None or not floating or any(_number(row[needed]) is not None for row in floating):
        return
    raise InputError(
        f"{path}: holds no {needed}, which the {standard} standard looks at",
        f"make both tables with `msprobe acc_check --standard {standard}`",
    )


_NEEDED = {"absolute": "相对误差错误率", "ulp": "ULP误差大于阈值占比"}


def _rate(name: str, npu: Row | None, gpu: Row | None, standard: str) -> dict[str, str]:
    row = dict.fromkeys(COMPARE_HEADER, BLANK) | {"API Name": name}
    if npu is None or gpu is None:
        side = "first" if gpu is None else "second"
        return row | {VERDICT: "SKIP", "Message": f"it stands in the {side} table only"}
    algorithm = _algorithm(npu, standard)
    if algorithm is None:
        return row | {VERDICT: "SKIP", "Message": _why_not(npu)}
    cells, errors = _RATINGS[algorithm](npu, gpu)
    broken = _nonfinite(npu, gpu)
    if broken is not None:
        cells |= {_NONFINITE: broken, "inf/nan判定结果": "error"}
        errors = [*errors, _NONFINITE]
    message = "".join(f"ERROR: {error}超过阈值\n" for error in errors)
    verdict = "error" if errors else "pass"
    return row | cells | {VERDICT: verdict, ALGORITHM: _NAMES[algorithm], "Message": message}


def _algorithm(row: Row, standard: str) -> str | None:
    dtype = row["DEVICE Dtype"].strip().removeprefix("torch.")
    if row["Status"] == "SKIP" or not dtype or row["Shape"] == "(0,)":
        return None
    if dtype in _FLOORS:
        return standard
    if "float8" in dtype:
        return "ulp"
    return None if dtype == "float64" or dtype.startswith("complex") else "binary"


def _why_not(row: Row) -> str:
    if row["Status"] == "SKIP":
        return row["Message"]
    dtype = row["DEVICE Dtype"].strip() or "what is no tensor"
    return f"The data type {dtype} is not supported for new precision standard."


def _nonfinite(npu: Row, gpu: Row) -> str | None:
    """The share of NaN and infinities where the reference has none, if only one side has them.

    Tables of mindstudio-probe leave them out of all errors; there NaN in the cosine or in the
    largest error is what is left of them.
    """
    shares = [_number(row[_NONFINITE]) or 0.0 for row in (npu, gpu)]
    if shares[0] > 0 and shares[1] == 0:
        return f"{shares[0]:.14f}"
    marks = [
        any(
            row[column].strip().lower() in ("nan", "inf")
            for column in ("余弦相似度", "最大绝对误差")
        )
        for row in (npu, gpu)
    ]
    return "nan" if marks[0] and not marks[1] else None


# --- ratings: cells, and the names of what is above its threshold ---------------------------------

Rating = tuple[dict[str, str], list[str]]
_FLOORS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}
_STRICT = frozenset(
    "addmm matmul mm layer_norm gelu sum index one_hot nonzero npu_rms_norm npu_rms_norm_backward "
    "npu_cross_entropy_loss npu_cross_entropy_loss_backward".split()
)
_STRICTER = frozenset(
    "embedding npu_fusion_attention npu_fusion_attention_grad scatter_ scatter_add_".split()
)


def _limits(name: str) -> tuple[float, float, float]:
    """Of the ratios of largest and mean relative error and of the root mean square."""
    api = name.split(".")[1]
    if api in _STRICT:
        return 2.0, 1.2, 1.2
    return (5.0, 1.5, 1.5) if api in _STRICTER else (10.0, 2.0, 2.0)


def _benchmark(npu: Row, gpu: Row) -> Rating:
    largest, mean, square = _limits(npu["API Name"])
    floor = _FLOORS[npu["DEVICE Dtype"].strip().removeprefix("torch.")]
    columns = (
        ("小值域错误占比", "小值域错误比值", "小值域判定结果", 2.0, True),
        ("均方根误差", "均方根误差比值", "均方根误差判定结果", square, True),
        ("相对误差最大值", "相对误差最大值比值", "相对误差最大值判定结果", largest, True),
        ("相对误差平均值", "相对误差平均值比值", "相对误差平均值判定结果", mean, True),
        ("误差均衡性", "误差均衡性比值", "误差均衡性判定结果", 2.0, False),
    )
    cells: dict[str, str] = {}
    errors = []
    for column, ratio_column, verdict_column, limit, counts in columns:
        ratio, verdict = _ratio(_number(npu[column]), _number(gpu[column]), floor, limit)
        cells |= {ratio_column: ratio, verdict_column: verdict}
        if verdict == "error" and counts:
            errors.append(ratio_column)
    return cells, errors


def _ratio(npu: float | None, gpu: float | None, floor: float, limit: float) -> tuple[str, str]:
    ours, theirs = npu or 0.0, gpu or 0.0
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        alike = str(ours) == str(theirs)
        return str(ours), "pass" if alike or math.isfinite(ours) else "error"
    ratio = abs(ours) / max(abs(theirs), floor)
    return f"{ratio:.14f}", "error" if ratio > limit else "pass"


def _absolute(npu: Row, gpu: Row) -> Rating:
    del gpu  # its own thresholds decide
    cells: dict[str, str] = {}
    errors = []
    for column, verdict in (
        (_NONFINITE, "inf/nan判定结果"),
        ("相对误差错误率", "相对误差判定结果"),
        ("绝对误差错误率", "绝对误差判定结果"),
    ):
        share = _number(npu[column]) or 0.0
        cells |= {column: f"{share:.14f}", verdict: "error" if share else "pass"}
        errors += [column] if share else []
    return cells, errors


def _binary(npu: Row, gpu: Row) -> Rating:
    del gpu  # equal or wrong, whatever the other device does
    share = _number(npu[_UNEQUAL]) or 0.0
    verdict = "error" if share else "pass"
    cells = {_UNEQUAL: f"{share:.14f}", "二进制一致错误率判定结果": verdict}
    return cells, [_UNEQUAL] if share else []


def _ulp(npu: Row, gpu: Row) -> Rating:
    mean, share = _number(npu["ULP误差平均值"]) or 0.0, _number(npu["ULP误差大于阈值占比"]) or 0.0
    other = _number(gpu["ULP误差大于阈值占比"]) or 0.0
    ratio = share / other if other else 1.0 if not share else math.inf
    if npu["DEVICE Dtype"].strip() == "torch.float32":
        right = mean < 64 or share < 0.05 or ratio < 1
    else:
        right = share < 0.001 or ratio < 1
    cells = {
        "ULP误差平均值": f"{mean:.14f}",
        "ULP误差大于阈值占比": f"{share:.14f}",
        "ULP误差大于阈值占比比值": f"{ratio:.14f}",
        "ULP误差判定结果": "pass" if right else "error",
    }
    return cells, [] if right else ["ULP误差"]


def _thousandth(npu: Row, gpu: Row) -> Rating:
    del gpu  # its own threshold decides
    share = _number(npu["双千指标"])
    right = share is None or share > 0.999  # blank where an earlier test passed it
    cells = {
        "双千指标": BLANK if share is None else f"{share:.14f}",
        "双千指标判定结果": "pass" if right else "error",
    }
    return cells, [] if right else ["双千指标"]


_RATINGS: dict[str, Callable[[Row, Row], Rating]] = {
    "benchmark": _benchmark,
    "absolute": _absolute,
    "binary": _binary,
    "ulp": _ulp,
    "thousandth": _thousandth,
}


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


# --- calls ----------------------------------------------------------------------------------------


def _by_call(rows: Iterable[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    by_call: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_call.setdefault(_owner(row["API Name"])[0], []).append(row)
    return by_call


def _owner(name: str) -> tuple[str, str]:
    """`Functional.linear.0` and `forward` of `Functional.linear.0.forward.output.0`."""
    for direction in ("forward", "backward"):
        head, separator, _ = name.partition(f".{direction}.")
        if separator:
            return head, direction
    return name, "forward"


def _call(name: str, rows: list[dict[str, str]]) -> tuple[str, str, str, str]:
    verdicts: dict[str, list[str]] = {"forward": [], "backward": []}
    for row in rows:
        verdicts[_owner(row["API Name"])[1]].append(row[VERDICT])
    forward, backward = (
        max(ratings, key=_rank) if ratings else BLANK for ratings in verdicts.values()
    )
    messages = [row["Message"].strip() for row in rows if row[VERDICT] == "SKIP"]
    only_skipped = {forward, backward} <= {"SKIP", BLANK}
    return name, forward, backward, messages[0] if only_skipped and messages else ""


def _rank(status: str) -> int:
    return _STATUSES.index(status) if status in _STATUSES else -1


def _counts(statuses: Iterable[str]) -> dict[str, int]:
    counts = dict.fromkeys(_STATUSES, 0)
    for status in statuses:
        counts[status] = counts.get(status, 0) + 1
    return counts
