"""Each item of the comparison by itself: what is a row, what is not, and how bad it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.config_check.comparison import compare_packs
from msprobe.config_check.environment_variables import VARIABLES, compare_environments
from msprobe.config_check.hyper_parameters import collect, compare_hyper_parameters
from msprobe.config_check.packages import compare_packages, installed_packages, parse_packages
from msprobe.config_check.random_calls import compare_random_calls
from msprobe.config_check.tensor_statistics import compare_statistics
from msprobe.errors import CheckError
from tests.msprobe.config_check.tables import pack, sheets

Env = dict[str, str]


@pytest.mark.parametrize(
    ("bench", "other"),
    [
        ({}, {}),
        ({"CUDA_LAUNCH_BLOCKING": "0"}, {}),
        ({"CUDA_LAUNCH_BLOCKING": "false"}, {"ASCEND_LAUNCH_BLOCKING": "0"}),
        ({"HCCL_DETERMINISTIC": "true"}, {"HCCL_DETERMINISTIC": "1"}),
        ({"HCCL_INTRA_PCIE_ENABLE": "1"}, {}),
        ({"HOME": "/a"}, {"HOME": "/b"}),
    ],
)
def test_environments_that_compute_the_same(bench: Env, other: Env) -> None:
    assert compare_environments(bench, other).rows == []
    assert compare_environments(other, bench).level == "pass"


@pytest.mark.parametrize(
    ("bench", "other", "row"),
    [
        (
            {"CUDA_LAUNCH_BLOCKING": "1"},
            {},
            ("CUDA_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "1", 0, "error"),
        ),
        (
            {"CUDA_HOME": "/c"},
            {"ASCEND_LAUNCH_BLOCKING": "1"},
            ("CUDA_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING", 0, "1", "error"),
        ),
        # Noticed without any other variable that tells the device.
        (
            {},
            {"HCCL_DETERMINISTIC": "true"},
            ("HCCL_DETERMINISTIC", "HCCL_DETERMINISTIC", False, "true", "error"),
        ),
        # NVIDIA has no such switch.
        (
            {"CUDA_HOME": "/c"},
            {"HCCL_DETERMINISTIC": "true"},
            ("only cmp has this env", "HCCL_DETERMINISTIC", None, "true", "warning"),
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "0,1"},
            {"CUDA_VISIBLE_DEVICES": "2,3"},
            ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "0,1", "2,3", "warning"),
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "0,1"},
            {"CUDA_VISIBLE_DEVICES": "0"},
            ("CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "0,1", "0", "error"),
        ),
    ],
)
def test_environments_that_differ(bench: Env, other: Env, row: tuple[Any, ...]) -> None:
    sheet = compare_environments(bench, other)
    assert sheet.rows == [row]
    assert sheet.level == row[-1]


NAMES = [name for v in VARIABLES for name in (v.npu, v.gpu) if name]
ENVIRONMENTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["0", "1", "ring"]))


@given(ENVIRONMENTS, ENVIRONMENTS)
def test_sides_are_not_swapped(bench: Env, other: Env) -> None:
    for ours, theirs, a, b, _ in compare_environments(bench, other).rows:
        assert a == bench.get(str(ours), a)
        assert b == other.get(str(theirs), b)
    assert compare_environments(bench, bench).rows == []


def test_packages_are_compared_under_one_spelling() -> None:
    bench = parse_packages("torch=2.1\ntorch_npu=1\nFlash-Attn=2\nfoo=1\n")
    other = parse_packages("torch=2.2\ntorch-npu=1\nflash_attn=2\nfoo=2\n")
    assert compare_packages(bench, other).rows == [("torch", "2.1", "2.2", "error")]
    assert parse_packages(installed_packages())["torch"]


def rows(bench: dict[str, Any], other: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [row[1:] for row in compare_hyper_parameters("f", bench, other)]


@pytest.mark.parametrize(
    ("bench", "other"),
    [
        ({"lr": "1e-4"}, {"lr": 0.0001}),
        ({"micro-batch-size": "4"}, {"micro_batch_size": 4}),
        ({"lr": "1e-4", "train.lr": 0.001}, {"lr": "1e-4", "train.lr": 0.001}),
        ({"bf16": True}, {"bf16": "true"}),
        ({"tp": 2}, {"tensor-model-parallel-size": "2"}),
        ({"train.lr": 1}, {"lr": 1}),
    ],
)
def test_hyper_parameters_that_mean_the_same(bench: dict[str, Any], other: dict[str, Any]) -> None:
    assert rows(bench, other) == []
    assert rows(other, bench) == []


def test_hyper_parameters_that_differ() -> None:
    assert rows({"lr": 1, "train.lr": 2}, {"lr": 1, "train.lr": 3}) == [
        ("train.lr", "train.lr", "2", "3", "pure name", "error")
    ]
    assert rows({"lr": 1}, {"learning_rate": 2}) == [
        ("lr", "learning_rate", "1", "2", "mapping", "error")
    ]
    assert rows({"hidden_sizes": 5}, {"hidden_size": 6}) == [
        ("hidden_sizes", "hidden_size", "5", "6", "similarity:0.9565217391304348", "error")
    ]


def test_numbers_in_names_keep_them_apart() -> None:
    assert rows({"adam_beta1": 0.9}, {"adam_beta2": 0.9}) == [
        ("Only in comparison", "adam_beta2", None, 0.9, None, "warning"),
        ("adam_beta1", "Only in benchmark", "0.9", None, None, "warning"),
    ]


PARAMETERS = st.dictionaries(
    st.sampled_from(["lr", "train.lr", "learning_rate", "tp", "tp_size", "beta1", "a-b", "a_b"]),
    st.integers(0, 2),
)


@given(PARAMETERS, PARAMETERS)
def test_equal_settings_give_no_row_and_others_at_most_one_each(
    bench: dict[str, Any], other: dict[str, Any]
) -> None:
    assert rows(bench, bench) == []
    found = rows(bench, other)
    ours = [row[0] for row in found if row[0] != "Only in comparison"]
    theirs = [row[1] for row in found if row[1] != "Only in benchmark"]
    assert len(set(ours)) == len(ours)
    assert set(ours) <= set(bench)
    assert set(theirs) <= set(other)


def test_two_files_that_disagree_are_both_kept(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("lr: 1\nseed: 1\n")
    (tmp_path / "b.yaml").write_text("lr: 2\nseed: 1\n")
    found = collect([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    assert found == {"lr": 1, "seed": 1, "b.yaml:lr": 2}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "x", "no launch script or YAML"),
        ("a.yaml", "a: [", "is no YAML"),
        ("a.yaml", "- 1", "holds no names with values"),
        ("none.sh", None, "no such file; correct the path"),
    ],
)
def test_files_that_cannot_be_used(name: str, text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CheckError, match=said):
        collect([tmp_path / name])


def stat(value: float, **other: float | None) -> dict[str, float | None]:
    return {"max": value, "min": -value, "mean": value / 2, "norm": value, **other}


def test_statistics_relative_to_the_magnitude_of_the_benchmark() -> None:
    sheet = compare_statistics(
        "dataset",
        {(0, 0): {"a": stat(1.0), "b": stat(2.0), "z": stat(0.0)}},
        {(0, 0): {"a": stat(1.5), "b": stat(2.0), "z": stat(1.0)}},
    )
    assert sheet.rows == [
        (0, 0, "a", False, 0.5, 0.5, 0.5, 0.5),
        (0, 0, "b", True, 0.0, 0.0, 0.0, 0.0),
        (0, 0, "z", False, None, None, None, None),
    ]
    assert sheet.level == "error"


def test_rounding_of_a_sum_is_no_difference() -> None:
    first = stat(1.0, mean=1e-9, norm=10.0)
    second = stat(1.0, mean=1.4e-9, norm=10.000001)
    sheet = compare_statistics("weights", {(0, 0): {"w": first}}, {(0, 0): {"w": second}})
    assert sheet.rows[0][3] is True
    assert sheet.level == "pass"
    third = stat(1.00001, mean=1e-9, norm=10.0)
    assert (
        compare_statistics("weights", {(0, 0): {"w": first}}, {(0, 0): {"w": third}}).level
        == "error"
    )


def test_a_parameter_of_one_side_fails_and_a_step_of_one_side_warns() -> None:
    both = {"a": stat(1.0), "b": stat(1.0)}
    missing = compare_statistics("weights", {(0, 0): both}, {(0, 0): {"a": stat(1.0)}})
    assert (0, 0, "b", "only bench have", None, None, None, None) in missing.rows
    assert missing.level == "error"
    shorter = compare_statistics("weights", {(0, 0): both, (1, 0): both}, {(0, 0): both})
    assert shorter.level == "warning"
    assert [row[3] for row in shorter.rows] == [True, True, "only bench have", "only bench have"]


def place(count: int, *stack: str) -> dict[str, Any]:
    return {"count": count, "stack": list(stack)}


def test_random_calls_are_paired_by_their_place_wherever_the_script_lies() -> None:
    bench = {0: {"torch.rand": [place(2, "File /a/x.py, line 3, in f, torch.rand(3)")]}}
    moved = {0: {"torch.rand": [place(2, "File /b/x.py, line 4, in f, torch.rand(3)")]}}
    more = {0: {"torch.rand": [place(3, "File /b/x.py, line 4, in f, torch.rand(3)")]}}
    assert compare_random_calls(bench, moved).level == "pass"
    assert compare_random_calls(bench, more).rows[0][4:] == (2, 3, False)
    alone = compare_random_calls(bench, {0: {}})
    assert alone.rows[0][3:] == ("no match stack", 2, 0, False)
    assert alone.level == "error"


def test_an_item_that_one_pack_lacks_stays_in_the_summary(tmp_path: Path) -> None:
    first = pack(tmp_path / "a.zip", env={}, pip="torch=1\n", weights={"w": stat(1.0)})
    second = pack(tmp_path / "b.zip", env={}, pip="torch=1\n")
    compare_packs(first, second, tmp_path / "out")
    found = sheets(tmp_path / "out" / "result.xlsx")
    assert ("weights", "warning") in found["summary"]
    assert len(found["weights"]) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["max", "min", "mean", "norm", "count", "stack", "a"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["env", "static", "random", "dataset", "weights"]), JSON))
def test_no_content_of_a_pack_breaks_the_comparison(content: dict[str, Any]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = pack(folder / "a.zip", env={}, weights={"a": stat(1.0)}, random={}, dataset={})
        other = pack(folder / "b.zip", **content)
        for sides in ((plain, other), (other, plain), (other, other)):
            try:
                compare_packs(*sides, folder / "out")
            except CheckError as error:
                assert str(other) in str(error)


def test_files_of_somebody_else_are_not_removed(tmp_path: Path) -> None:
    packed = pack(tmp_path / "a.zip", env={})
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "dump.json").write_text("{}")
    with pytest.raises(CheckError, match="holds other files, which would be lost"):
        compare_packs(packed, packed, tmp_path)
    assert (tmp_path / "bench" / "dump.json").is_file()
    for _ in range(2):
        compare_packs(packed, packed, tmp_path / "out")


def test_one_function_has_one_name_whoever_wrote_the_pack() -> None:
    place = {"count": 2, "stack": ["File t.py, line 3, in main, np.random.seed(1)"]}
    sheet = compare_random_calls(
        {0: {"np.random.seed": [place]}}, {0: {"numpy.random.seed": [place]}}
    )
    assert [(row[0], row[-1]) for row in sheet.rows] == [("numpy.random.seed", True)]
    assert sheet.level == "pass"
