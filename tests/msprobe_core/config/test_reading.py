"""Every wrong configuration is one ConfigError that names place, key, value and what is allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msprobe_core.config import read_config
from msprobe_core.config.slices import Slice
from msprobe_core.errors import ConfigError

FULL: dict[str, Any] = {
    "task": "statistics",
    "dump_path": "out",
    "rank": [0, "4-6"],
    "step": [1, "3-4"],
    "level": "mix",
    "async_dump": False,
    "dump_enable": True,
    "extra_info": False,
    "precision": "high",
    "risk_level": "ALL",
    "statistics": {
        "scope": ["Module.a.A.forward.0", "Tensor.add.0.forward"],
        "list": ["relu"],
        "tensor_list": ["gelu"],
        "data_mode": ["forward", "input"],
        "summary_mode": "md5",
    },
    "acc_check": {"white_list": []},
}


def written(folder: Path, raw: object) -> Path:
    path = folder / "配置 file.json"
    path.write_text(raw if isinstance(raw, str) else json.dumps(raw), encoding="utf-8")
    return path


def test_all_fields_are_read(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, FULL))
    assert config.rank == {0, 4, 5, 6}
    assert config.step == {1, 3, 4}
    assert config.level == "mix"
    assert config.dump_enable is True
    assert config.extra_info is False
    assert config.list == ("relu",)
    assert config.tensor_list == ("gelu",)
    assert config.data_mode == {"forward", "input"}
    assert config.summary_mode == "md5"


def test_defaults_and_arguments_over_the_file(tmp_path: Path) -> None:
    assert read_config(None).level == "L1"
    config = read_config(
        written(tmp_path, FULL), level="L0", dump_path="x", step=None, task="tensor"
    )
    assert (config.level, config.dump_path, config.task) == ("L0", "x", "tensor")
    assert config.step == {1, 3, 4}


MISTAKES: dict[str, tuple[dict[str, Any] | str, str]] = {
    "typo": ({"levle": "L0"}, "unknown key 'levle'; did you mean 'level'?"),
    "typo in section": ({"statistics": {"sumary_mode": "md5"}}, "did you mean 'summary_mode'?"),
    "misplaced": ({"list": ["relu"]}, "list stands at the top; move it into section 'statistics'"),
    "choice": ({"level": "L3"}, "level is 'L3'; allowed is one of \"L0\""),
    "type": ({"async_dump": "true"}, "async_dump is 'true'; allowed is true or false"),
    "number": ({"step": [-1]}, "step is [-1]; allowed is a list of integers"),
    "range": ({"rank": ["6-4"]}, "rank is ['6-4']"),
    "bool as number": ({"step": [True]}, "step is [True]"),
    "list": ({"statistics": {"list": "relu"}}, "list is 'relu'; allowed is a list of"),
    "regex": ({"statistics": {"list": ["name-regex(a.*)"]}}, "MindSpore static graphs only"),
    "scope size": ({"statistics": {"scope": ["Tensor.add.0.forward"]}}, "exactly two"),
    "scope name": ({"statistics": {"scope": ["add", "relu"]}}, "'add' is no entry name"),
    "scope level": (
        {"level": "L0", "statistics": {"scope": ["Tensor.add.0.forward", "Tensor.add.1.forward"]}},
        "level L0 takes module names only",
    ),
    "L2": ({"level": "L2"}, "L2' without list"),
    "acc_check": ({"task": "acc_check"}, "another tool"),
    "exception_dump": ({"task": "exception_dump"}, "MindSpore only"),
    "async md5": (
        {"async_dump": True, "statistics": {"summary_mode": "md5"}},
        "set one of the two",
    ),
    "async tensor": ({"async_dump": True, "task": "tensor"}, "name what to save in list"),
    "diff_nums": ({"task": "tensor", "tensor": {"diff_nums": 3}}, "without bench_path"),
    "bench mode": ({"task": "tensor", "tensor": {"bench_path": "."}}, "set summary_mode to 'md5'"),
    "bench folder": (
        {"task": "tensor", "tensor": {"bench_path": "none/here", "summary_mode": "md5"}},
        "which is no folder",
    ),
    "diff zero": (
        {"task": "tensor", "tensor": {"bench_path": ".", "summary_mode": "md5", "diff_nums": 0}},
        "diff_nums is 0",
    ),
    "file_format": ({"task": "tensor", "tensor": {"file_format": "npy"}}, "remove it"),
    "data_mode": ({"statistics": {"data_mode": ["all", "input"]}}, "'all' stands alone"),
    "debug list": ({"level": "debug", "statistics": {"list": ["x"]}}, "level debug records what"),
    "debug task": ({"level": "debug", "task": "structure"}, "level debug has no task"),
    "section": ({"statistics": []}, "section statistics is []"),
    "load": ({"load": {"path": "."}}, "modules is missing"),
    "load key": ({"load": {"path": ".", "module": ["a"]}}, "did you mean 'modules'?"),
    "load path": ({"load": {"path": "none/here", "modules": ["a"]}}, "which is no folder"),
    "no object": ("[]", "must be a JSON object"),
    "no JSON": ("{'a': 1}", "no valid JSON"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_in_one_line(mistake: str, tmp_path: Path) -> None:
    raw, text = MISTAKES[mistake]
    path = written(tmp_path, raw)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    message = str(caught.value)
    assert text in message
    assert str(path) in message
    assert "\n" not in message


def test_missing_file_and_wrong_argument(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing; create it"):
        read_config(tmp_path / "none.json")
    with pytest.raises(ConfigError, match=r"PrecisionDebugger\(…\): level is 'L9'"):
        read_config(None, level="L9")
    with pytest.raises(ConfigError, match="config_path is 3"):
        read_config(3)  # type: ignore[arg-type]


def test_slices_and_requests_are_read(tmp_path: Path) -> None:
    part = {"dim": 0, "size": 6, "begin": 1, "end": 3}
    section = {"slice": [part, {"dim": 1}], "request_id": "first"}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"statistics": section, "custom_op_namespaces": ["mine"]}))
    config = read_config(path)
    assert config.slice == (Slice(0, 6, 1, 3), Slice(1))
    assert (config.request_id, config.custom_op_namespaces) == ("first", ("mine",))


@pytest.mark.parametrize(
    "wrong",
    [{"dim": 0}, [{"size": 3}], [{"dim": -1}], [{"dim": 0, "stop": 3}], [{"dim": "0"}], [3]],
)
def test_slices_that_are_none_are_refused(wrong: object, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"statistics": {"slice": wrong}}))
    with pytest.raises(ConfigError, match="slice is"):
        read_config(path)
