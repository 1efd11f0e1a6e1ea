"""Configurations of two training logs side by side, or of one against expected values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msprobe.config_check.hyper_parameters import flattened
from msprobe.config_check.redaction import redacted
from msprobe.config_check.training_log import slime_configuration, verl_configuration
from msprobe.config_check.value_meaning import same
from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_yaml
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.format.whole_file import written_whole

Framework = Literal["verl", "slime"]
COMPARED = ("超参名称", "NPU生效值", "bench生效值", "是否一致")
VERIFIED = ("关键参数名称", "bench生效值", "target生效值", "是否一致")
ABSENT = "NA"
_READERS = {"verl": verl_configuration, "slime": slime_configuration}
# Where a run keeps its profiles and its cluster changes nothing of what it computes.
_PASSED_OVER = ("profiler", "ray")
# What verl on Ascend should run with while its accuracy is being examined.
EXPECTED: dict[str, object] = {
    "VLLM_ASCEND_ENABLE_NZ": 0,
    "actor_rollout_ref/actor/load_weight": True,
    "actor_rollout_ref/actor/megatron/override_transformer_config/use_ascend_mc2": False,
    "actor_rollout_ref/actor/override_transformer_config/calculate_per_token_loss": False,
    "actor_rollout_ref/actor/shuffle": False,
    "actor_rollout_ref/actor/use_dynamic_bsz": False,
    "actor_rollout_ref/actor/use_remove_padding": True,
    "actor_rollout_ref/model/use_remove_padding": True,
    "actor_rollout_ref/ref/load_weight": True,
    "actor_rollout_ref/ref/log_prob_use_dynamic_bsz": False,
    "actor_rollout_ref/rollout/log_prob_use_dynamic_bsz": False,
    "algorithm/filter_groups/enable": False,
    "critic/model/use_remove_padding": True,
    "critic/shuffle": False,
    "critic/use_dynamic_bsz": False,
    "data/shuffle": False,
    "trainer/balance_batch": False,
}
Row = tuple[str, str, str, str]


def compare_logs(framework: Framework, npu: Path, bench: Path, output: Path) -> list[Row]:
    """Write both configurations and `hyper_params_compare.csv`; all rows, sorted by name."""
    read = _READERS[framework]
    configurations = {"NPU": _redacted(read(npu)), "bench": _redacted(read(bench))}
    ours, theirs = (_leaves(configurations[side]) for side in ("NPU", "bench"))
    rows = [_row(name, ours, theirs) for name in sorted(ours.keys() | theirs.keys())]
    files = {f"{side}_config.json": content for side, content in configurations.items()}
    _write(output, files, "hyper_params_compare.csv", COMPARED, rows)
    return rows


def verify_log(bench: Path | None, target: Path, output: Path) -> list[Row]:
    """Write the configuration and `hyper_params_verify.csv` against a YAML file, or EXPECTED."""
    configuration = _redacted(verl_configuration(target))
    expected = EXPECTED if bench is None else _expected(bench)
    values = {name: _lookup(name, _all_leaves(configuration)) for name in expected}
    present = {name: value for name, value in values.items() if value is not _MISSING}
    rows = [_row(name, expected, present) for name in sorted(expected)]
    _write(output, {"tgt_config.json": configuration}, "hyper_params_verify.csv", VERIFIED, rows)
    return rows


def _row(name: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Row:
    both = name in left and name in right
    agree = both and same(left[name], right[name])
    texts = [repr(side[name]) if name in side else ABSENT for side in (left, right)]
    return name, texts[0], texts[1], "是" if agree else "否"


def _leaves(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in _all_leaves(configuration).items()
        if not any(part.startswith(_PASSED_OVER) for part in name.split("/"))
    }


def _all_leaves(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return dict(flattened(configuration, "/"))


_MISSING = object()


def _lookup(name: str, leaves: Mapping[str, Any]) -> Any:
    """The value under the full name, or under the only one that ends so (environment variables)."""
    if name in leaves:
        return leaves[name]
    ends = [other for other in leaves if other.endswith(f"/{name}")]
    return leaves[ends[0]] if len(ends) == 1 else _MISSING


def _expected(file: Path) -> dict[str, Any]:
    try:
        content = parse_yaml(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckError(f"{file}: cannot be read as YAML ({reason})", "check the file") from error
    if not isinstance(content, dict) or not content:
        raise CheckError(f"{file}: holds no names with values", "give a configuration in YAML")
    return {name.replace(".", "/"): value for name, value in flattened(content, "/")}


def _redacted(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: redacted(name, value) for name, value in configuration.items()}


def _write(
    output: Path, configurations: Mapping[str, Any], table: str, header: Row, rows: list[Row]
) -> None:
    if output.exists() and not output.is_dir():
        raise CheckError(f"{output}: is a file", "give a folder for the result")
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, content in configurations.items():
            text = json.dumps(content, indent=2, ensure_ascii=False, default=str)
            with written_whole(output / name) as beside:
                beside.write_text(text, encoding="utf-8")
        # With a byte-order mark, or Excel takes the Chinese header for another encoding.
        with (
            written_whole(output / table) as beside,
            beside.open("w", newline="", encoding="utf-8-sig") as file,
        ):
            lines = CsvTable(file)
            lines.row(header)
            lines.rows(rows)
    except OSError as error:
        raise CheckError(
            f"{output}: cannot be written ({error.strerror})", "choose another"
        ) from error
