"""Two packs compared item by item, into `result.xlsx` with both packs unpacked beside it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msprobe.config_check.environment_variables import HEADER as ENVIRONMENT_HEADER
from msprobe.config_check.environment_variables import compare_environments
from msprobe.config_check.hyper_parameters import (
    HEADER as HYPER_PARAMETER_HEADER,
)
from msprobe.config_check.hyper_parameters import compare_hyper_parameters, hyper_parameter_sheet
from msprobe.config_check.pack import Pack, holds_members_alone, read_pack
from msprobe.config_check.packages import HEADER as PACKAGE_HEADER
from msprobe.config_check.packages import compare_packages
from msprobe.config_check.random_calls import HEADER as RANDOM_HEADER
from msprobe.config_check.random_calls import compare_random_calls
from msprobe.config_check.sheet import Sheet
from msprobe.config_check.tensor_statistics import compare_statistics
from msprobe.config_check.workbook import write_workbook
from msprobe.errors import CheckError

RESULT = "result.xlsx"
SIDES = ("bench", "cmp")


def compare_packs(bench: Path, other: Path, output: Path) -> list[Sheet]:
    """Compare two zips and write the result folder; the sheets without the summary.

    Raises CheckError for a zip that cannot be read, an output that is no folder, and one where
    files of somebody else stand in the place of the unpacked zips.
    """
    packs = read_pack(bench), read_pack(other)
    sheets = compare(*packs)
    _check_output(output)
    try:
        for side, pack in zip(SIDES, packs, strict=True):
            _unpack(pack, output / side)
        write_workbook(output / "result", [_summary(sheets), *sheets])
    except OSError as error:
        raise CheckError(
            f"{output}: cannot be written ({error.strerror})", "choose another"
        ) from error
    return sheets


def compare(bench: Pack, other: Pack) -> list[Sheet]:
    """The sheets of all items that either pack holds, in the order of the workbook."""
    sheets = [
        _sheet(
            "env", ENVIRONMENT_HEADER, bench.environment, other.environment, compare_environments
        ),
        _sheet("pip", PACKAGE_HEADER, bench.packages, other.packages, compare_packages),
        _statistics("dataset", bench.dataset, other.dataset),
        _statistics("weights", bench.weights, other.weights),
        _sheet(
            "hyperparameters",
            HYPER_PARAMETER_HEADER,
            bench.hyper_parameters,
            other.hyper_parameters,
            _hyper_parameters,
        ),
        _sheet("random", RANDOM_HEADER, bench.random, other.random, compare_random_calls),
    ]
    return [sheet for sheet in sheets if sheet is not None]


def _sheet(
    name: str,
    header: tuple[str, ...],
    bench: Any,
    other: Any,
    compared: Callable[[Any, Any], Sheet],
) -> Sheet | None:
    """The item's sheet; with a warning and no rows where only one pack recorded it."""
    if bench is None and other is None:
        return None
    if bench is None or other is None:
        return Sheet(name, header, [], "warning")
    return compared(bench, other)


def _statistics(name: Any, bench: Any, other: Any) -> Sheet | None:
    empty = compare_statistics(name, {}, {})
    return _sheet(name, empty.header, bench, other, lambda a, b: compare_statistics(name, a, b))


def _hyper_parameters(bench: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> Sheet:
    rows = [
        row
        for name in sorted(bench.keys() | other.keys(), reverse=True)  # what scripts say first
        for row in compare_hyper_parameters(name, bench.get(name, {}), other.get(name, {}))
    ]
    return hyper_parameter_sheet(rows)


def _summary(sheets: list[Sheet]) -> Sheet:
    rows: list[tuple[object, ...]] = [(sheet.name, sheet.level) for sheet in sheets]
    return Sheet("summary", ("filename", "pass_check"), rows, Sheet.worst(s.level for s in sheets))


def _check_output(output: Path) -> None:
    """Refuse a place for the result where something else would be lost."""
    if output.exists() and not output.is_dir():
        raise CheckError(f"{output}: is a file", "give a folder for the result")
    for side in SIDES:
        folder = output / side
        if folder.exists() and not (folder.is_dir() and holds_members_alone(folder)):
            raise CheckError(
                f"{folder}: holds other files, which would be lost", "choose another -o"
            )


def _unpack(pack: Pack, folder: Path) -> None:
    if folder.is_dir():  # of an earlier comparison
        shutil.rmtree(folder)
    for name, text in pack.members.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
