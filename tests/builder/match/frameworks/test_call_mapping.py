"""The file that says which call of MindSpore is which of PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.errors import MappingError
from builder.match.frameworks.call_mapping import read_call_mapping
from msprobe_core.format.frameworks import registry
from tests.builder.match.frameworks.numpy_functions import NUMPY


def test_a_rule_pairs_a_call_and_its_values(tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(
        "- ms_api: Functional.abs\n  pt_api: Torch.abs\n  ms_args: [0, x]\n  pt_args: [1, input]\n"
        "  ms_outputs: [0]\n  pt_outputs: [0]\n"
        "  ms_parameters: [gamma]\n  pt_parameters: [weight]\n"
    )
    (rule,) = read_call_mapping(file)
    assert (rule.framework, rule.call, rule.pytorch) == (
        "mindspore",
        "Functional.abs",
        "Torch.abs",
    )
    assert rule.keys == {
        "input.0": "input.1",
        "input.x": "input.input",
        "output.0": "output.0",
        "parameters.gamma": "parameters.weight",
    }


def test_the_keys_of_a_rule_name_its_framework(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._registered, NUMPY.name, NUMPY)
    file = tmp_path / "calls.yaml"
    file.write_text("- {np_api: Numpy.abs, pt_api: Torch.abs, np_args: [0], pt_args: [input]}\n")
    (rule,) = read_call_mapping(file)
    assert (rule.framework, rule.call, rule.keys) == (
        "numpy",
        "Numpy.abs",
        {"input.0": "input.input"},
    )
    file.write_text("- {np_api: Numpy.abs}\n")
    with pytest.raises(MappingError, match="rule 1: np_api and pt_api are not both calls"):
        read_call_mapping(file)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: b", "no list"),
        ("- ms_api: Functional.abs", "rule 1: ms_api and pt_api"),
        ("- {ms_api: abs, pt_api: Torch.abs}", "rule 1: ms_api and pt_api"),
        (
            "- {ms_api: Mint.abs, pt_api: Torch.abs, ms_args: [0, 1], pt_args: [0]}",
            "rule 1: ms_args and pt_args are not equally long",
        ),
        ("- [", "no valid YAML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(text)
    with pytest.raises(MappingError, match=wrong):
        read_call_mapping(file)
    with pytest.raises(MappingError, match="No such file"):
        read_call_mapping(tmp_path / "none.yaml")
