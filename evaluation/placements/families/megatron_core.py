"""megatron-core on the CPU: its layers, DDP, distributed optimizer, clipping and experts.

megatron-core asks for CUDA by name wherever it allocates; `on_cpu` answers for it, in the process
of a rank that ends with its program. What is left is megatron-core's own code.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from evaluation.placements.case import Third, case
from evaluation.placements.run import LENGTH, VOCABULARY, Run

IS_INSTALLED = find_spec("megatron") is not None
HIDDEN, HEADS, FFN, LAYERS = 32, 4, 48, 3
DP2, TP2, TP2_DP2, EP2, CP2 = {"dp": 2}, {"tp": 2}, {"tp": 2, "dp": 2}, {"ep": 2}, {"cp": 2}
Program = Callable[[Run], None]


def megatron(third: Third, axes: dict[str, int], *culprits: str) -> Callable[[Program], Program]:
    """List a program as a case where megatron-core is installed; it tells its layout itself."""
    if not IS_INSTALLED:
        return lambda program: program
    return case(third, axes, *culprits, is_told=False)


@cache
def on_cpu() -> None:
    """Let megatron-core allocate on the CPU what it wants on a GPU."""
    torch.cuda.current_device = lambda: "cpu"  # type: ignore[assignment,return-value]
    torch.cuda.synchronize = lambda *_: None  # type: ignore[assignment]
    for name in ("tensor", "zeros", "ones", "empty", "full", "arange"):
        setattr(torch, name, _without_cuda(getattr(torch, name)))
    typed = torch.Tensor.type

    def type_of(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = typed(self, *args, **kwargs)
        return found.replace("torch.", "torch.cuda.") if isinstance(found, str) else found

    torch.Tensor.type = type_of  # type: ignore[method-assign]
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign,assignment]
    warnings.simplefilter("ignore")
    from megatron.core.transformer.moe import moe_utils

    moe_utils.te_general_gemm = None  # its name is missing where TransformerEngine is
    _allow_sequence_parallel_norms()


def _without_cuda(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)

    return made


def _allow_sequence_parallel_norms() -> None:
    """Let torch's layer norm stand where sequence parallelism wants Apex or TransformerEngine."""
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    make = WrappedTorchNorm.__new__

    def marked(cls: type, config: Any, *args: Any, **options: Any) -> nn.Module:
        plain = copy.copy(config)
        plain.sequence_parallel = False
        norm: nn.Module = make(cls, plain, *args, **options)
        for parameter in norm.parameters():
            parameter.sequence_parallel = config.sequence_parallel  # type: ignore[attr-defined]
        return norm

    WrappedTorchNorm.__new__ = marked


def state() -> Any:
    """megatron-core's own record of its groups."""
    from megatron.core import parallel_state

    return parallel_state


class Trainer:
    """A GPT of megatron-core under its own DDP and optimizer, as its training loop runs them."""

    def __init__(self, run: Run, **options: Any) -> None:
        on_cpu()
        self.run, tp = run, run.size("tp")
        state().initialize_model_parallel(
            tensor_model_parallel_size=tp,
            context_parallel_size=run.size("cp"),
            expert_model_parallel_size=run.size("ep"),
            expert_tensor_parallel_size=1 if run.size("ep") > 1 else None,
        )
        from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed

        torch.cuda.get_rng_state = lambda *_: torch.get_rng_state()  # type: ignore[assignment]
        torch.cuda.set_rng_state = lambda *_, **__: None  # type: ignore[assignment]
        torch.cuda.manual_seed = lambda *_: None  # type: ignore[assignment]
        del model_parallel_cuda_manual_seed
        from megatron.core.tensor_parallel.random import get_cuda_rng_tracker

        get_cuda_rng_tracker().fork = lambda *_: torch.random.fork_rng(devices=[])
        self.optimizing = {k: options.pop(k) for k in ("distributed", "clip") if k in options}
        self.model = self._wrapped(_model(run, options))
        self.optimizer = self._optimizer()

    def _wrapped(self, model: nn.Module) -> Any:
        from megatron.core.distributed import (
            DistributedDataParallel,
            DistributedDataParallelConfig,
        )

        config = DistributedDataParallelConfig(
            grad_reduce_in_fp32=True,
            overlap_grad_reduce=False,
            use_distributed_optimizer=self.optimizing.get("distributed", False),
        )
        return DistributedDataParallel(model.config, config, model)

    def _optimizer(self) -> Any:
        from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

        config = OptimizerConfig(
            optimizer="adam",
            lr=1e-2,
            adam_eps=1e-5,
            weight_decay=0.0,
            bf16=self.run.dtype == torch.bfloat16,
            params_dtype=self.run.dtype,
            clip_grad=self.optimizing.get("clip", 0.0),
            use_distributed_optimizer=self.optimizing.get("distributed", False),
        )
        return get_megatron_optimizer(config, [self.model])

    def backward(self, step: int, micro: int = 0) -> None:
        """Forward and backward of one micro-batch."""
        tokens, labels = self.run.batch(step, self.run.at("dp") + self.run.at("ep"), micro)
        positions = torch.arange(LENGTH).expand_as(tokens)
        part = LENGTH // self.run.size("cp")
        own = slice(self.run.at("cp") * part, (self.run.at("cp") + 1) * part)
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)[None, None]
        loss = self.model(tokens[:, own], positions[:, own], mask, labels=labels[:, own])
        loss.float().mean().backward()

    def finish(self) -> None:
        """What megatron-core does to gradients when the last micro-batch is through."""
        from megatron.core.distributed import finalize_model_grads

        finalize_model_grads([self.model])

    def train(
        self, work: Callable[[int], None], after: Callable[[int], None] | None = None
    ) -> None:
        """Record some steps of `work`, the update and `after`."""
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=str(self.run.config))
        for step in range(2):
            self.model.zero_grad_buffer()
            self.optimizer.zero_grad()
            debugger.start(self.model)
            work(step)
            self.optimizer.step()
            if after is not None:
                after(step)
            debugger.stop()
            debugger.step()
        debugger.close()


def _model(run: Run, options: dict[str, Any]) -> nn.Module:
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer.transformer_config import TransformerConfig

    experts = options.pop("experts", None)
    config = TransformerConfig(
        num_layers=LAYERS,
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        ffn_hidden_size=FFN,
        gated_linear_unit=experts is None,
        activation_func=nn.functional.silu,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        use_cpu_initialization=True,
        tensor_model_parallel_size=run.size("tp"),
        context_parallel_size=run.size("cp"),
        expert_model_parallel_size=run.size("ep"),
        gradient_accumulation_fusion=False,
        bias_activation_fusion=False,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        persist_layer_norm=False,
        params_dtype=run.dtype,
        pipeline_dtype=run.dtype,
        num_moe_experts=experts,
        **options,
    )
    torch.manual_seed(0)
    model: nn.Module = GPTModel(
        config,
        get_gpt_layer_local_spec(num_experts=experts),
        vocab_size=VOCABULARY,
        max_sequence_length=LENGTH,
        position_embedding_type="learned_absolute",
        share_embeddings_and_output_weights=False,
    )
    _fill(run, model)
    return model.to(run.dtype)


def _fill(run: Run, model: nn.Module) -> None:
    """Weights by name and place alone: replicas are alike and shards are not."""
    for name, parameter in model.named_parameters():
        is_cut = bool(getattr(parameter, "tensor_model_parallel", False))
        is_expert = "experts" in name and "router" not in name and "shared" not in name
        place = run.at("tp") * is_cut + 10 * run.at("ep") * is_expert
        generator = torch.Generator().manual_seed(sum(map(ord, name)) * 100 + place)
        with torch.no_grad():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            if name.endswith("norm.weight"):
                parameter.add_(1.0)


@megatron("real", TP2, r"layers\.1\.self_attention\.linear_proj")
def megatron_part_handed_on(run: Run) -> None:
    """A row-parallel layer is taken for one of experts, whose dispatcher adds up: it does not."""
    trainer = Trainer(run)
    layer = trainer.model.module.decoder.layers[1]
    if run.wrong:
        layer.self_attention.linear_proj.explicit_expert_comm = True

    def work(step: int) -> None:
        trainer.backward(step)
        trainer.finish()

    trainer.train(work)


@megatron("real", TP2, r"layernorm", r"^optimizer$")
def megatron_norms_not_finalized(run: Run) -> None:
    """Gradients of norms stay those of a part of the sequence: nobody finalizes them."""
    trainer = Trainer(run, sequence_parallel=True)

    def work(step: int) -> None:
        trainer.backward(step)
        if not run.wrong:
            trainer.finish()

    trainer.train(work)


@megatron("real", DP2, r"^Optimizer\.", r"^optimizer$", r"^Module\.")
def megatron_shards_not_reduced(run: Run) -> None:
    """The distributed optimizer takes one layer's shards of gradients that were never added up."""
    trainer = Trainer(run, distributed=True)
    layer = trainer.model.module.decoder.layers[1].mlp

    def work(step: int) -> None:
        trainer.backward(step)
        own = [p.main_grad.clone() for p in layer.parameters()]
        trainer.finish()
        for parameter, before in zip(layer.parameters(), own, strict=True):
            if run.wrong:
                parameter.main_grad.copy_(before)

    trainer.train(work)


@megatron("real", DP2, r"^Module\.", r"^Optimizer\.")
def megatron_shards_not_gathered(run: Run) -> None:
    """After one update a process does not take over what the others have updated."""
    trainer = Trainer(run, distributed=True)
    weight = trainer.model.module.decoder.layers[1].mlp.linear_fc1.weight
    kept = weight.detach().clone()

    def work(step: int) -> None:
        trainer.backward(step)
        trainer.finish()

    def after(step: int) -> None:
        if run.wrong and step == 0 and run.rank == 1:
            weight.data.copy_(kept)

    trainer.train(work, after)


@megatron("real", TP2_DP2, r"^optimizer$", r"^Optimizer\.")
def megatron_clipped_alone(run: Run) -> None:
    """The norm for clipping is asked of a group of one process."""
    trainer = Trainer(run, clip=0.05)
    if run.wrong:
        alone = [dist.new_group([rank]) for rank in range(run.world)][run.rank]
        for each in getattr(trainer.optimizer, "chained_optimizers", [trainer.optimizer]):
            each.grad_stats_parallel_group = alone
            each.get_grad_stats_parallel_group = lambda: alone

    def work(step: int) -> None:
        trainer.backward(step)
        trainer.finish()

    trainer.train(work)


def _train_by_own_gradient(run: Run, trainer: Trainer, weight: Any) -> None:
    """Put what this process alone has of a weight's gradient back behind the reduction."""

    def work(step: int) -> None:
        trainer.backward(step)
        own = weight.main_grad.clone()
        trainer.finish()
        if run.wrong:
            weight.main_grad.copy_(own)

    trainer.train(work)


@megatron("real", DP2, r"layers\.1\.mlp\.linear_fc2", r"^Optimizer\.")
def megatron_parameter_not_in_buffer(run: Run) -> None:
    """The gradient of one weight goes to `.grad`, which nobody reduces, and not to `main_grad`."""
    trainer = Trainer(run)
    weight = trainer.model.module.decoder.layers[1].mlp.linear_fc2.weight
    _train_by_own_gradient(run, trainer, weight)


@megatron("real", EP2, r"router")
def megatron_router_of_own_tokens(run: Run) -> None:
    """The gradient of a router is each process's own: it is taken for an expert's."""
    trainer = Trainer(
        run,
        experts=4,
        moe_token_dispatcher_type="allgather",
        moe_router_topk=2,
        add_bias_linear=False,
        moe_router_load_balancing_type="none",
    )
    weight = trainer.model.module.decoder.layers[1].mlp.router.weight
    _train_by_own_gradient(run, trainer, weight)


@megatron("real late", TP2, r"word_embeddings")
def megatron_last_row_foreign(run: Run) -> None:
    """The last row of each process counts as another's."""
    trainer = Trainer(run)
    if run.wrong:
        trainer.model.module.embedding.word_embeddings.vocab_end_index -= 1

    def work(step: int) -> None:
        trainer.backward(step)
        trainer.finish()

    trainer.train(work)


@megatron("real late", TP2, r"layers\.1\.pre_mlp_layernorm")
def megatron_mark_of_a_norm_lost(run: Run) -> None:
    """A norm that was replaced has lost the mark that it works on a part of the sequence."""
    trainer = Trainer(run, sequence_parallel=True)
    for parameter in trainer.model.module.decoder.layers[1].pre_mlp_layernorm.parameters():
        parameter.sequence_parallel = not run.wrong

    def work(step: int) -> None:
        trainer.backward(step)
        trainer.finish()

    trainer.train(work)


@megatron("real late", DP2, r"^Optimizer\.", r"^optimizer", r"^Module\.")
def megatron_one_micro_batch_alone(run: Run) -> None:
    """What the last micro-batch gives is added behind the reduction, as under a late `no_sync`."""
    trainer = Trainer(run)

    def work(step: int) -> None:
        trainer.backward(step)
        if not run.wrong:
            trainer.backward(step, 1)
        trainer.finish()
        if run.wrong:
            trainer.backward(step, 1)

    trainer.train(work)
