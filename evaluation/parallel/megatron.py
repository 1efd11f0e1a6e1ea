"""A GPT of megatron-core on CPU: its real layers and groups under tp, sequence parallelism and dp.

megatron-core asks torch.cuda for a device wherever it allocates; here it is told `cpu`. Its
pipeline schedules and its token dispatchers need CUDA itself and are left out.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any
from zlib import crc32

import torch
import torch.distributed as dist
from torch import Tensor, nn

from evaluation.parallel.experiment import HALF_SCALE, STEPS, Recorder, batch_of, optimizer_of
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size

IS_INSTALLED = find_spec("megatron") is not None


@dataclass
class MegatronExperiment:
    """Training under a layout; `change` may replace parts of `model` before it runs."""

    size: Size
    layout: Layout
    rank: int
    seed: int
    losses: list[float] = field(default_factory=list)
    left_out: re.Pattern[str] | None = None  # parameters whose gradients nobody reduces
    frozen: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # written back after a step

    def __post_init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _start(self.layout, self.rank)
            self.model = _model(self.size, self.layout)
        for name, parameter in self.model.named_parameters():
            fill(name, parameter, self.seed, self.place, 2 if "linear_fc1" in name else 1)
        parameters = list(self.model.parameters())
        self.optimizer = optimizer_of(self.size, parameters)
        self.loss_scale = HALF_SCALE if self.size.precision == "float16" else 1.0

    @cached_property
    def state(self) -> Any:
        """megatron-core's own record of its groups."""
        from megatron.core import parallel_state

        return parallel_state

    def train(self, recorder: Recorder, header: bool) -> None:
        """Run all steps; the layout is for the dumper to find out."""
        for step in range(STEPS):
            recorder.start(self.model)
            for tokens, positions, labels in self._micro_batches(step):
                mask = torch.ones(2 * [self.size.sequence], dtype=torch.bool).triu(1)[None, None]
                loss = self.model(tokens, positions, mask, labels=labels).mean()
                self.losses.append(float(loss.detach()))
                (loss * (self.loss_scale / self.layout.micro_batches)).backward()
            if self.loss_scale != 1.0:
                for parameter in self.model.parameters():
                    parameter.grad.div_(self.loss_scale)  # type: ignore[union-attr]
            for parameter in self._reduced():
                self._reduce(parameter)
            self.optimizer.step()
            for parameter, before in self.frozen:
                parameter.data.copy_(before)
            recorder.stop()
            recorder.step()
            self.optimizer.zero_grad()

    def _micro_batches(self, step: int) -> Iterator[tuple[Tensor, ...]]:
        own = self.layout.coordinate(self.rank, "dp")
        count = self.layout.micro_batches * self.layout.dp
        whole = batch_of(self.size, self.seed, step)
        parts = [each.chunk(count)[own :: self.layout.dp] for each in whole]
        return zip(*parts, strict=True)

    @property
    def place(self) -> tuple[int, int]:
        """How many parts a cut parameter has, and which is this process's."""
        return self.layout.tp, self.layout.coordinate(self.rank, "tp")

    def _reduced(self) -> list[nn.Parameter]:
        left_out = self.left_out
        named = self.model.named_parameters()
        return [p for name, p in named if left_out is None or not left_out.search(name)]

    def _reduce(self, parameter: nn.Parameter) -> None:
        """What `finalize_model_grads` does: sums over tp under sequence parallelism, then dp."""
        assert parameter.grad is not None
        if self.layout.tp > 1 and getattr(parameter, "sequence_parallel", False):
            dist.all_reduce(parameter.grad, group=self.state.get_tensor_model_parallel_group())
        if self.layout.dp > 1:
            dist.all_reduce(parameter.grad, group=self.state.get_data_parallel_group())
            parameter.grad.div_(self.layout.dp)


def _start(layout: Layout, rank: int) -> None:
    torch.cuda.current_device = lambda: "cpu"  # type: ignore[assignment,return-value]
    torch.cuda.synchronize = lambda *_: None  # type: ignore[assignment]
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.random import get_cuda_rng_tracker

    if not dist.is_initialized():
        store = dist.HashStore()
        dist.init_process_group("gloo", store=store, rank=rank, world_size=1)
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=layout.tp,
    )
    # Dropout is off: the generator that attention forks needs no state of its own.
    get_cuda_rng_tracker().fork = lambda *_: torch.random.fork_rng(devices=[])
    _allow_sequence_parallel_norms()


def _allow_sequence_parallel_norms() -> None:
    """Let torch's layer norm stand where sequence parallelism wants Apex or TransformerEngine."""
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    make = WrappedTorchNorm.__new__

    def marked(cls: type, config: Any, *args: Any, **options: Any) -> nn.Module:
        plain = copy.copy(config)
        plain.sequence_parallel = False
        norm = make(cls, plain, *args, **options)
        for parameter in norm.parameters():
            parameter.sequence_parallel = config.sequence_parallel
        return norm  # type: ignore[no-any-return]

    WrappedTorchNorm.__new__ = marked


def _model(size: Size, layout: Layout) -> nn.Module:
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer.transformer_config import TransformerConfig

    config = TransformerConfig(
        num_layers=size.layers,
        hidden_size=size.hidden,
        num_attention_heads=size.heads,
        ffn_hidden_size=size.ffn,
        gated_linear_unit=True,
        activation_func=nn.functional.silu,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        use_cpu_initialization=True,
        tensor_model_parallel_size=layout.tp,
        sequence_parallel=layout.sequence_parallel,
        gradient_accumulation_fusion=False,
        bias_activation_fusion=False,
        masked_softmax_fusion=False,
        persist_layer_norm=False,
        pipeline_dtype=size.torch_dtype,
        params_dtype=size.torch_dtype,
    )
    model = GPTModel(
        config,
        get_gpt_layer_local_spec(),
        vocab_size=size.vocabulary,
        max_sequence_length=size.sequence,
        position_embedding_type="learned_absolute",
        share_embeddings_and_output_weights=False,
    )
    return model.to(size.torch_dtype)  # type: ignore[no-any-return]


def fill(
    name: str, parameter: nn.Parameter, seed: int, place: tuple[int, int], pieces: int
) -> None:
    """Weights that depend on the seed and the name alone, whatever the layout.

    `place` is the number of parts and which is wanted; of fused `pieces` each is cut.
    """
    parts, own = place
    is_cut = bool(getattr(parameter, "tensor_model_parallel", False)) and parts > 1
    dim = int(getattr(parameter, "partition_dim", 0))
    shape = list(parameter.shape)
    if is_cut:
        shape[dim] *= parts
    generator = torch.Generator().manual_seed(crc32(name.encode()) + seed)
    whole = 0.2 * torch.randn(shape, generator=generator)
    if name.endswith("norm.weight"):
        whole += 1.0
    if is_cut:
        cut = [piece.chunk(parts, dim)[own] for piece in whole.chunk(pieces, dim)]
        whole = torch.cat(cut, dim)
    with torch.no_grad():
        parameter.copy_(whole)
