"""Level L2: what a configuration asks of MindSpore's own dump of a static graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msprobe_core.config import Config, read_config
from msprobe_core.errors import ConfigError, LifecycleError
from msprobe_core.mindspore.levels.static_graph import check_device, dump_settings


def configured(tmp_path: Path, task: str = "tensor", **content: object) -> Config:
    section = content.pop("section", {})
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": task, "level": "L2", task: section, **content}))
    return read_config(path, of_kernels=True)


def common(tmp_path: Path, task: str = "tensor", **content: object) -> dict[str, object]:
    return dump_settings(configured(tmp_path, task, **content), tmp_path)["common_dump_settings"]


def test_without_more_said_all_kernels_of_all_iterations(tmp_path: Path) -> None:
    settings = dump_settings(configured(tmp_path), tmp_path)
    assert settings["e2e_dump_settings"] == {"enable": True, "trans_flag": True}
    assert settings["common_dump_settings"] == {
        "op_debug_mode": 0,
        "dump_mode": 0,
        "path": str(tmp_path),
        "net_name": "Net",
        "iteration": "all",
        "saved_data": "tensor",
        "input_output": 0,
        "kernels": [],
        "support_device": [0, 1, 2, 3, 4, 5, 6, 7],
        "statistic_category": ["max", "min", "avg", "l2norm"],
    }


@pytest.mark.parametrize(
    ("steps", "iteration"), [([0], "0"), ([0, "5-8", 100], "0|5-8|100"), (["2-3", 4], "2-4")]
)
def test_steps_are_iterations(tmp_path: Path, steps: list[object], iteration: str) -> None:
    assert common(tmp_path, step=steps)["iteration"] == iteration


def test_kernels_ranks_and_sides_are_handed_on(tmp_path: Path) -> None:
    kernels = ["Default/fc1-Dense/MatMul-op0", "ReLU", "name-regex(Default/.+)"]
    section = {"list": kernels, "data_mode": ["output"]}
    told = common(tmp_path, rank=[3, 1], section=section)
    assert (told["dump_mode"], told["kernels"], told["input_output"]) == (1, kernels, 2)
    assert told["support_device"] == [1, 3]


def test_statistics_and_checksums(tmp_path: Path) -> None:
    assert common(tmp_path, "statistics")["saved_data"] == "statistic"
    told = common(tmp_path, "statistics", section={"summary_mode": "md5"})
    assert told["statistic_category"] == ["md5"]


@pytest.mark.parametrize(("task", "mode"), [("overflow_check", 3), ("exception_dump", 4)])
def test_overflow_and_exceptions_are_modes_of_their_own(
    tmp_path: Path, task: str, mode: int
) -> None:
    told = common(tmp_path, task, step=[1])
    assert (told["op_debug_mode"], told["input_output"], told["saved_data"]) == (mode, 0, "tensor")
    assert told["iteration"] == ("all" if mode == 4 else "1")


@pytest.mark.parametrize(
    ("task", "section", "words"),
    [
        ("tensor", {"data_mode": ["forward"]}, "data_mode is .'forward'. at level L2"),
        ("tensor", {"file_format": "bin"}, "file_format is 'bin' at level L2; MindSpore writes"),
        ("structure", {}, "task is 'structure' at level L2"),
    ],
)
def test_what_kernels_do_not_have_is_refused(
    tmp_path: Path, task: str, section: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        configured(tmp_path, task, section=section)
    assert "torch" not in str(raised.value) and "\n" not in str(raised.value)


def test_elsewhere_level_and_task_are_refused_with_a_reason() -> None:
    with pytest.raises(ConfigError, match="exception_dump'; it is for level L2"):
        read_config(None, of_kernels=True, task="exception_dump", level="L1")
    with pytest.raises(ConfigError, match="exists for MindSpore only"):
        read_config(None, task="exception_dump")
    with pytest.raises(ConfigError, match="without list"):
        read_config(None, level="L2")


@pytest.mark.parametrize("task", ["statistics", "overflow_check", "exception_dump"])
def test_the_cpu_dumps_tensors_only(tmp_path: Path, task: str) -> None:
    config = configured(tmp_path, task)
    with pytest.raises(LifecycleError, match="on CPU MindSpore dumps the tensors of kernels only"):
        check_device(config, "CPU")
    check_device(config, "Ascend")
