"""Hyper-parameters: collected from launch scripts and YAML files, compared by name and meaning."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from msprobe.config_check.redaction import redacted
from msprobe.config_check.sheet import Sheet
from msprobe.config_check.shell_script import hyper_parameters
from msprobe.config_check.value_meaning import same
from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_yaml

HEADER = (
    "file_name",
    "bench_para",
    "cmp_para",
    "bench_value",
    "cmp_value",
    "matched_with",
    "level",
)
SUFFIXES = (".sh", ".yaml", ".yml")
_SIMILAR = 0.8
# Names of one setting in Megatron, DeepSpeed, Hugging Face and their short forms.
_ALIASES = (
    ("lr", "learning_rate"),
    ("tp", "tp_size", "tensor_parallel_size", "tensor_model_parallel_size"),
    ("pp", "pp_size", "pipeline_parallel_size", "pipeline_model_parallel_size"),
    ("ep", "ep_size", "expert_parallel_size", "expert_model_parallel_size"),
    ("cp", "cp_size", "context_parallel_size"),
    ("dp", "dp_size", "data_parallel_size"),
    ("num_layers", "num_hidden_layers", "n_layer", "n_layers"),
    ("hidden_size", "hidden_dim", "n_embd", "d_model"),
    ("ffn_hidden_size", "intermediate_size"),
    ("num_attention_heads", "num_heads", "n_head", "n_heads"),
    ("num_query_groups", "num_key_value_heads", "num_kv_heads"),
    ("seq_length", "seq_len", "max_seq_len", "max_seq_length"),
    ("micro_batch_size", "per_device_train_batch_size", "train_micro_batch_size_per_gpu"),
    ("global_batch_size", "train_batch_size"),
    ("train_iters", "max_steps", "num_train_steps"),
    ("lr_warmup_iters", "warmup_steps", "lr_warmup_steps"),
    ("lr_decay_style", "lr_scheduler_type"),
    ("clip_grad", "max_grad_norm", "gradient_clipping", "grad_clip"),
    ("attention_dropout", "attn_dropout", "attention_probs_dropout_prob"),
    ("hidden_dropout", "hidden_dropout_prob"),
    ("norm_epsilon", "rms_norm_eps", "layernorm_epsilon", "layer_norm_eps"),
    ("rotary_base", "rope_theta"),
    ("bf16", "bfloat16", "use_bf16"),
    ("fp16", "float16", "use_fp16"),
)
_ALIAS_OF = {name: names[0] for names in _ALIASES for name in names}


def collect(files: list[Path]) -> dict[str, Any]:
    """All hyper-parameters of the files, redacted; keys of a YAML file are joined with dots.

    A name that two files give different values keeps both, the later as `<file>:<name>`.
    Raises CheckError for a file that is missing, of another kind or cannot be read.
    """
    merged: dict[str, Any] = {}
    for file in files:
        for name, value in _read(file).items():
            key = name if name not in merged or merged[name] == value else f"{file.name}:{name}"
            merged[key] = redacted(name, value)
    return merged


def compare_hyper_parameters(
    file_name: str, bench: Mapping[str, Any], other: Mapping[str, Any]
) -> list[tuple[object, ...]]:
    """Rows for what differs or only one side has, sorted by the benchmark's name."""
    rows: list[tuple[object, ...]] = []
    left, right = dict(bench), dict(other)
    for ours, theirs, how in _pairs(bench, other):
        a, b = left.pop(ours), right.pop(theirs)
        if not same(a, b):
            rows.append((file_name, ours, theirs, _text(a), _text(b), how, "error"))
    rows += [
        (file_name, n, "Only in benchmark", _text(v), None, None, "warning")
        for n, v in left.items()
    ]
    rows += [
        (file_name, "Only in comparison", n, None, _cell(v), None, "warning")
        for n, v in right.items()
    ]
    return sorted(rows, key=lambda row: (str(row[1]), str(row[2])))


def hyper_parameter_sheet(rows: list[tuple[object, ...]]) -> Sheet:
    """The sheet over the rows of all files."""
    return Sheet("hyperparameters", HEADER, rows, Sheet.worst(str(row[-1]) for row in rows))


def flattened(value: Any, separator: str, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf of nested mappings with its joined keys; an empty mapping is a leaf."""
    if isinstance(value, Mapping) and (value or not name):
        for key, inner in value.items():
            yield from flattened(inner, separator, f"{name}{separator}{key}" if name else str(key))
    else:
        yield name, value


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise CheckError(f"{file}: no such file", "correct the path")
    if file.suffix not in SUFFIXES:
        raise CheckError(f"{file}: is no launch script or YAML file", "give *.sh, *.yaml or *.yml")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise CheckError(f"{file}: cannot be read ({reason})", "check the path") from error
    if file.suffix == ".sh":
        return dict(hyper_parameters(text, os.environ))
    try:
        content = parse_yaml(text)
    except ValueError as error:
        raise CheckError(f"{file}: is no YAML ({error})", "correct the file") from error
    if content is not None and not isinstance(content, dict):
        raise CheckError(f"{file}: holds no names with values", "give a configuration file")
    return dict(flattened(content or {}, "."))


def _pairs(bench: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Pairs by the same full name, the same last name, an alias, a similar name; each used once."""
    left, right = dict.fromkeys(bench), dict.fromkeys(other)
    for name_of, how in ((_plain, "pure name"), (_last, "pure name"), (_alias, "mapping")):
        for ours, theirs in list(_unambiguous(left, right, name_of)):
            del left[ours], right[theirs]
            yield ours, theirs, how
    for ours in list(left):
        scores = {theirs: _similarity(ours, theirs) for theirs in right}
        best = max(scores, key=lambda theirs: scores[theirs], default=None)
        if best is not None and scores[best] > _SIMILAR:
            del left[ours], right[best]
            yield ours, best, f"similarity:{scores[best]}"


def _unambiguous(
    left: Mapping[str, object],
    right: Mapping[str, object],
    name_of: Any,
) -> Iterator[tuple[str, str]]:
    theirs = {name_of(name): name for name in right}
    once = {k for side in (left, right) for k, n in Counter(map(name_of, side)).items() if n > 1}
    for name in left:
        key = name_of(name)
        if key in theirs and key not in once:
            yield name, theirs[key]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _last(name: str) -> str:
    return re.split(r"[./]", _plain(name))[-1]


def _alias(name: str) -> str:
    return _ALIAS_OF.get(_last(name), _last(name))


def _similarity(ours: str, theirs: str) -> float:
    """Zero where the numbers in the names differ: beta1 is not beta2."""
    if re.findall(r"\d+", ours) != re.findall(r"\d+", theirs):
        return 0.0
    return SequenceMatcher(None, _plain(ours), _plain(theirs)).ratio()


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
