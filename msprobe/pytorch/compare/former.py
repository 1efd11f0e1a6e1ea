"""`compare` and `compare_distributed` as they were called before 2025-11.

Nothing heavy is imported here: every script that records a run imports this module too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# Stacks always stand in the table; there is no text of advice, and no colours.
_WITHOUT_EFFECT = ("stack_mode", "auto_analyze", "highlight", "summary_compare", "md5_compare")


def compare(
    input_param: Mapping[str, object],
    output_path: str | Path,
    stack_mode: bool = False,
    auto_analyze: bool = True,
    fuzzy_match: bool = False,
    **options: object,
) -> None:
    """Compare npu_json_path with bench_json_path into a table below `output_path`."""
    from msprobe.pytorch.compare.tables import pt_compare

    pt_compare(input_param, output_path, fuzzy_match=fuzzy_match, **_effective(options))


def compare_distributed(
    npu_dump_dir: str | Path,
    bench_dump_dir: str | Path,
    output_path: str | Path,
    **options: object,
) -> None:
    """Compare all ranks of two step folders, or two whole dumps, a table for each rank."""
    from msprobe.pytorch.compare.tables import compare_ranks

    compare_ranks(npu_dump_dir, bench_dump_dir, output_path, **_effective(options))


def _effective(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name not in _WITHOUT_EFFECT}
