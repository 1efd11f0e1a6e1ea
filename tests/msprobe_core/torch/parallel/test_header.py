"""Where a process stands among others, as the head of dump.json says it."""

from __future__ import annotations

import json

import pytest
import torch

from msprobe_core.errors import LifecycleError
from msprobe_core.torch.parallel import parallel_header


def test_a_process_that_is_alone_says_nothing() -> None:
    assert parallel_header(torch.nn.Linear(1, 1), None) is None


def test_what_the_user_gives_is_kept_with_version_and_source() -> None:
    given = {"axes": {"tp": {"rank": 1, "size": 2, "ranks": [0, 1]}}, "micro_batches": 4}
    text = parallel_header(None, given)
    assert text is not None
    assert json.loads(text) == {"version": 1, "source": "user", **given}


@pytest.mark.parametrize("given", [{}, {"axes": [1]}, {"axes": {}, "rank": object()}])
def test_what_is_no_layout_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(LifecycleError, match="parallel="):
        parallel_header(None, given)


def test_parameters_of_megatron_say_how_tp_cuts_them() -> None:
    model = torch.nn.Linear(2, 2)
    model.weight.tensor_model_parallel = True  # type: ignore[attr-defined]
    model.weight.partition_dim = 0  # type: ignore[attr-defined]
    model.bias.tensor_model_parallel = False  # type: ignore[attr-defined]
    model.bias.sequence_parallel = True  # type: ignore[attr-defined]
    distributed = torch.distributed
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        text = parallel_header(model, None)
        given = parallel_header(None, {"axes": {}})
    finally:
        distributed.destroy_process_group()
    assert text is not None
    assert given is not None
    assert json.loads(given) == {
        "version": 1,
        "source": "user",
        "world_size": 1,
        "rank": 0,
        "axes": {},
    }
    assert json.loads(text)["layouts"] == {
        "weight": {"tp": True, "dim": 0},
        "bias": {"tp": False, "sequence_parallel": True},
    }


def test_shared_parameters_are_named_together_even_by_a_process_that_is_alone() -> None:
    model = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(4, 2)})
    model["head"] = torch.nn.Linear(2, 4, bias=False)
    model["head"].weight = model["embedding"].weight
    text = parallel_header(model, None)
    assert text is not None
    assert json.loads(text)["tied"] == [["embedding.weight", "head.weight"]]
    given = parallel_header(model, {"axes": {}})
    assert given is not None
    assert json.loads(given)["tied"] == [["embedding.weight", "head.weight"]]
