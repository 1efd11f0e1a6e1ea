"""Which functions a dump may name."""

from __future__ import annotations

import pytest
import torch

from msprobe.acc_check.functions import changes_arguments, find_function
from msprobe.acc_check.values import NotReproducible


@pytest.mark.parametrize(
    ("prefix", "api", "function"),
    [
        ("Functional", "linear", torch.nn.functional.linear),
        ("Torch", "matmul", torch.matmul),
        ("Torch", "split", torch.split),
        ("Torch", "_foreach_norm", torch._foreach_norm),
        ("Tensor", "__add__", torch.Tensor.__add__),
        ("Tensor", "split", torch.Tensor.split),
        ("VF", "lstm", torch._VF.lstm),
        ("Aten", "add.Tensor", torch.ops.aten.add.Tensor),
        ("Aten", "mm", torch.ops.aten.mm),
    ],
)
def test_function_is_the_one_that_was_recorded(prefix: str, api: str, function: object) -> None:
    assert find_function(prefix, api) == function


@pytest.mark.parametrize(
    ("prefix", "api"),
    [
        ("Torch", "os.system"),
        ("Torch", "os"),
        ("Torch", "load"),
        ("Torch", "save"),
        ("Torch", "from_file"),
        ("Torch", "compile"),
        ("Torch", "set_default_dtype"),
        ("Functional", "importlib"),
        ("Functional", "no_such_function"),
        ("Tensor", "__reduce_ex__"),
        ("Elsewhere", "add"),
    ],
)
def test_nothing_else_can_be_named(prefix: str, api: str) -> None:
    if api == "__reduce_ex__":  # harmless: it takes a tensor apart and runs nothing
        assert find_function(prefix, api) is torch.Tensor.__reduce_ex__
        return
    with pytest.raises(NotReproducible):
        find_function(prefix, api)


def test_every_recorded_name_of_this_torch_is_found() -> None:
    from msprobe_core.torch.names.api_list import RECORDED

    spaces = {"Torch": torch, "Tensor": torch.Tensor, "Functional": torch.nn.functional}
    classes = {"__init_subclass__", "__subclasshook__", "__torch_function__", "manual_seed"}
    for prefix, space in spaces.items():
        for api in RECORDED[prefix] - classes:
            if callable(getattr(space, api, None)):
                assert callable(find_function(prefix, api)), (prefix, api)


@pytest.mark.parametrize(
    ("api", "changes"),
    [
        ("add_", True),
        ("__iadd__", True),
        ("__setitem__", True),
        ("add", False),
        ("__invert__", False),
    ],
)
def test_name_says_whether_an_argument_is_written_to(api: str, changes: bool) -> None:
    assert changes_arguments(api) is changes
