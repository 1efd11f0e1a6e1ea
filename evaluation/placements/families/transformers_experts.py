"""A mixture of experts of transformers under its own tensor and expert parallelism, on the CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from evaluation.placements.case import Third, case
from evaluation.placements.run import VOCABULARY, Run

IS_INSTALLED = find_spec("transformers") is not None and find_spec("accelerate") is not None
TP2 = {"tp": 2}
Program = Callable[[Run], None]


def transformers(third: Third, *culprits: str) -> Callable[[Program], Program]:
    """List a program as a case where transformers and what loads its models are installed."""
    if not IS_INSTALLED:
        return lambda program: program
    return case(third, TP2, *culprits, is_told=False)


def _mixture(run: Run) -> Any:
    """A small model, written by one process and loaded as transformers loads one in parts."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
    from transformers.distributed import DistributedConfig

    os.environ |= {"RANK": str(run.rank), "LOCAL_RANK": str(run.rank), "WORLD_SIZE": "2"}
    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        moe_intermediate_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=32,
    )
    folder = Path(run.config).parent / "model"
    torch.manual_seed(0)
    if run.rank == 0:
        Qwen3MoeForCausalLM(config).save_pretrained(folder)
    dist.barrier()
    distributed = DistributedConfig(tp_size=2, ep_size=2, ep_implementation="all_reduce")
    return Qwen3MoeForCausalLM.from_pretrained(
        folder, distributed_config=distributed, dtype=run.dtype
    )


class _Same:
    """In place of a sum over ranks, forward or backward."""

    @staticmethod
    def apply(x: Tensor, _: object) -> Tensor:
        return x


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Let experts go without one of the two sums of transformers' own."""
    from transformers.distributed import expert_parallel

    kept = getattr(expert_parallel, name)
    setattr(expert_parallel, name, _Same)
    try:
        yield
    finally:
        setattr(expert_parallel, name, kept)


def _train(run: Run, name: str) -> None:
    model = _mixture(run)
    experts = model.model.layers[1].mlp.experts
    whole = experts.forward

    def alone(*args: Tensor) -> Tensor:
        with _without(name):
            out: Tensor = whole(*args)
        return out

    if run.wrong:
        experts.forward = alone

    def work(step: int) -> None:
        tokens, labels = run.batch(step)
        logits = model(input_ids=tokens).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten()).backward()

    run.train(model, work)


@transformers("real", r"layers\.1\.mlp")
def experts_answers_not_summed(run: Run) -> None:
    """One layer hands on what this process's experts answer, and not the sum."""
    _train(run, "_AllReduceForward")


@transformers("real late", r"layers\.1\.(mlp|post_attention)")
def experts_gradients_not_summed(run: Run) -> None:
    """What one layer's experts send back stays the part of this process's experts."""
    _train(run, "_AllReduceBackward")
