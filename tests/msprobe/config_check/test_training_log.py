"""Configurations in logs of verl and slime, as Ray and pprint write them."""

from __future__ import annotations

import csv
import json
import math
import pprint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.config_check.log_comparison import EXPECTED, compare_logs, verify_log
from msprobe.config_check.training_log import slime_configuration, verl_configuration
from msprobe.errors import CheckError

CONFIGURATION: dict[str, Any] = {
    "actor_rollout_ref": {
        "actor": {"optim": {"lr": 1e-06}, "contents": ["model", "optimizer"], "x": None},
        "rollout": {"n": 5, "name": "vllm", "profiler": {"enable": False}},
    },
    "algorithm": {"gamma": 1.0, "lam": 1},
    "data": {"path": "a {curly} 'quoted' \"path\"", "shuffle": False},
    "ray_kwargs": {"ray_init": {"num_cpus": 4}},
}
TABLE = """(Actor pid=1) ------------------------ arguments ------------------------
(Actor pid=1)   bf16 ............................................ True
(Other pid=2)   lr .............................................. 7
(Actor pid=1)   lr .............................................. {lr}
(Actor pid=1)   names ........................................... ['a', 'b']
(Actor pid=1)   num_layers ...................................... {layers}
(Actor pid=1)   prompt .......................................... /data/x.jsonl
(Actor pid=1) -------------------- end of arguments ---------------------
"""


def verl_log(
    file: Path, configuration: dict[str, Any], prefix: str = "", between: str = ""
) -> Path:
    lines = pprint.pformat(configuration, width=60).splitlines()
    body = "".join(f"{prefix}{line}\n{between}" for line in lines)
    file.write_text(f"start\n{body}{prefix}step:1 - loss: {{'a': 1}}\n")
    return file


@pytest.mark.parametrize(
    ("prefix", "between"),
    [
        ("", ""),
        ("(TaskRunner pid=12) ", ""),
        ("\x1b[36m(TaskRunner pid=12, ip=10.0.0.1)\x1b[0m ", ""),
        ("(TaskRunner pid=12) ", "(WorkerDict pid=99) {'loading': 'shards'\n"),
    ],
)
def test_configuration_of_verl_is_read(prefix: str, between: str, tmp_path: Path) -> None:
    log = verl_log(tmp_path / "a.log", CONFIGURATION, prefix, between)
    assert verl_configuration(log) == CONFIGURATION


def test_the_last_configuration_counts(tmp_path: Path) -> None:
    log = verl_log(tmp_path / "a.log", CONFIGURATION)
    second = {**CONFIGURATION, "data": {"shuffle": True}}
    log.write_text(log.read_text() + pprint.pformat(second))
    assert verl_configuration(log) == second
    log.write_text(log.read_text() + "\n{'actor_rollout_ref': {'a':")
    with pytest.raises(CheckError, match="breaks off"):
        verl_configuration(log)


def test_values_that_are_no_literals_become_text(tmp_path: Path) -> None:
    log = tmp_path / "a.txt"
    log.write_text("{'actor_rollout_ref': {'a': nan, 'b': -inf, 'c': PosixPath('/x')}}")
    found = verl_configuration(log)["actor_rollout_ref"]
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf
    assert found["c"] == "PosixPath('/x')"


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.floats(allow_nan=False)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab'{", max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text("ab}", min_size=1, max_size=3), TREES, max_size=3))
def test_what_pprint_writes_is_what_is_read(tree: dict[str, Any]) -> None:
    import tempfile

    configuration = {"actor_rollout_ref": tree}
    with tempfile.TemporaryDirectory() as folder:
        log = verl_log(Path(folder) / "a.log", configuration, "(TaskRunner pid=1) ")
        assert verl_configuration(log) == configuration


def table(folder: Path, name: str = "hyper_params_compare.csv") -> list[list[str]]:
    raw = (folder / name).read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")  # Excel's mark of UTF-8
    assert b"\r" not in raw
    return list(csv.reader(raw.decode("utf-8-sig").splitlines()))


def test_comparison_of_verl(tmp_path: Path) -> None:
    other = json.loads(json.dumps(CONFIGURATION))
    other["actor_rollout_ref"]["rollout"] |= {"n": 8, "profiler": {"enable": True}}
    other["algorithm"] = {"gamma": 1, "extra": "x"}
    other["ray_kwargs"]["ray_init"]["num_cpus"] = 8
    npu, bench = verl_log(tmp_path / "a.log", CONFIGURATION), verl_log(tmp_path / "b.log", other)
    compare_logs("verl", npu, bench, tmp_path / "out")
    assert table(tmp_path / "out") == [
        ["超参名称", "NPU生效值", "bench生效值", "是否一致"],
        [
            "actor_rollout_ref/actor/contents",
            "['model', 'optimizer']",
            "['model', 'optimizer']",
            "是",
        ],
        ["actor_rollout_ref/actor/optim/lr", "1e-06", "1e-06", "是"],
        ["actor_rollout_ref/actor/x", "None", "None", "是"],
        ["actor_rollout_ref/rollout/n", "5", "8", "否"],
        ["actor_rollout_ref/rollout/name", "'vllm'", "'vllm'", "是"],
        ["algorithm/extra", "NA", "'x'", "否"],
        ["algorithm/gamma", "1.0", "1", "是"],
        ["algorithm/lam", "1", "NA", "否"],
        [
            "data/path",
            repr(CONFIGURATION["data"]["path"]),
            repr(CONFIGURATION["data"]["path"]),
            "是",
        ],
        ["data/shuffle", "False", "False", "是"],
    ]
    written = json.loads((tmp_path / "out" / "NPU_config.json").read_text())
    assert written == CONFIGURATION
    assert (tmp_path / "out" / "bench_config.json").is_file()


def test_comparison_of_slime(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TABLE.format(lr="1e-06", layers=36))
    (tmp_path / "b.log").write_text(TABLE.format(lr="0.000001", layers=37))
    compare_logs("slime", tmp_path / "a.log", tmp_path / "b.log", tmp_path / "out")
    assert table(tmp_path / "out")[1:] == [
        ["bf16", "True", "True", "是"],
        ["lr", "1e-06", "1e-06", "是"],
        ["names", "\"['a', 'b']\"", "\"['a', 'b']\"", "是"],
        ["num_layers", "36", "37", "否"],
        ["prompt", "'/data/x.jsonl'", "'/data/x.jsonl'", "是"],
    ]


def test_verification_against_the_built_in_values_and_a_file(tmp_path: Path) -> None:
    log = verl_log(tmp_path / "a.log", CONFIGURATION)
    rows = {row[0]: row[1:] for row in verify_log(None, log, tmp_path / "out")}
    assert list(rows) == sorted(EXPECTED)
    assert len(rows) == 17
    assert rows["data/shuffle"] == ("False", "False", "是")
    assert rows["critic/shuffle"] == ("False", "NA", "否")
    assert table(tmp_path / "out", "hyper_params_verify.csv")[0] == [
        "关键参数名称",
        "bench生效值",
        "target生效值",
        "是否一致",
    ]
    assert json.loads((tmp_path / "out" / "tgt_config.json").read_text()) == CONFIGURATION
    (tmp_path / "e.yaml").write_text("data:\n  shuffle: true\nalgorithm.gamma: 1\n")
    rows = {row[0]: row[1:] for row in verify_log(tmp_path / "e.yaml", log, tmp_path / "out")}
    assert rows == {"algorithm/gamma": ("1", "1.0", "是"), "data/shuffle": ("True", "False", "否")}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.md", "", "no log by its name"),
        ("none.log", None, "no such file"),
        ("a.log", "", "no configuration of verl"),
        ("a.log", "{'actor_rollout_ref': <Enum.A: 1>}", "no Python literal"),
    ],
)
def test_logs_that_cannot_be_used(name: str, text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CheckError, match=said):
        verl_configuration(tmp_path / name)


def test_log_without_a_whole_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(TABLE.partition("(Actor pid=1) -------------------- end")[0])
    with pytest.raises(CheckError, match="no whole table of arguments"):
        slime_configuration(tmp_path / "a.log")
