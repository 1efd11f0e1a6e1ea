"""Seeded bugs: DTensor's plans as torchtitan has them, alone and under FSDP2."""

from __future__ import annotations

from torch.distributed.tensor import Partial
from torch.distributed.tensor.parallel import RowwiseParallel

from evaluation.parallel.experiment import Experiment, optimizer_of
from evaluation.parallel.faults.base import fault, nudge, stays
from evaluation.parallel.layout import Layout
from evaluation.parallel.llama import Edits, llama, parallelized
from evaluation.parallel.size import Size

PLAN = Layout(tp=2, native="plan")
PLAN_SP = Layout(tp=2, sequence_parallel=True, native="plan")
LOSS_PARALLEL = Layout(tp=2, sequence_parallel=True, loss_parallel=True, native="plan")
FSDP_TP = Layout(tp=2, dp=2, native="plan")
APART = Size(apart=True)


def _replan(run: Experiment, edits: Edits) -> None:
    """Build model and optimizer anew under another plan."""
    run.chunks = [parallelized(llama(run.size, run.seed), run.mesh, edits)]
    run.optimizer = optimizer_of(run.size, list(run.chunks[0].parameters()))


@fault(PLAN_SP, r"(Module|Optimizer)\.norm\b", size=APART, threads="Megatron #1446")
def plan_norm_not_in_plan(run: Experiment) -> None:
    """The last norm is left out of the plan: each process has its sequence's gradient."""
    _replan(run, {"norm": None})


@fault(PLAN, r"layers\.1\.feed_forward\b", size=APART)
def plan_row_left_partial(run: Experiment) -> None:
    """A row-wise layer hands on its part of the sum."""
    _replan(run, {"layers.1.feed_forward.w2": RowwiseParallel(output_layouts=Partial())})


@fault(PLAN, r"layers\.0\.attention_norm", ranks=(1,), size=APART)
def plan_replica_of_norm(run: Experiment) -> None:
    """Process 1 starts with another weight of a norm that the plan does not name."""
    if run.mesh.at("tp") == 1:
        nudge(run.chunks[0].get_parameter("layers.0.attention_norm.weight"))


@fault(PLAN, r"\btok_embeddings\b", ranks=(1,), size=APART)
def plan_embedding_shard(run: Experiment) -> None:
    """Process 1's rows of the embedding are off."""
    if run.mesh.at("tp") == 1:
        nudge(run.chunks[0].get_parameter("tok_embeddings.weight").to_local())  # type: ignore[operator]


@fault(
    LOSS_PARALLEL,
    r"^optimizer$",
    r"^Optimizer\.",
    r"cross_entropy",
    r"^Tensor\.__mul__",
    size=APART,
)
def plan_loss_parallel_scaled(run: Experiment) -> None:
    """The loss over cut logits is multiplied by the number of processes."""
    run.loss_scale *= run.mesh.size("tp")


@fault(PLAN_SP, r"layers\.2\.feed_forward\.w1", ranks=(1,), size=APART)
def plan_update_lost(run: Experiment) -> None:
    """Process 1 forgets the update of its share of a weight."""
    stays(run, "forget", "tp", 1, r"layers\.2\.feed_forward\.w1")


@fault(PLAN_SP, r"layers\.2\.attention\.w[kq]\b", r"layers\.2\.attention\b", size=APART)
def plan_keys_not_cut(run: Experiment) -> None:
    """Keys are handed on with the parts of their heads in the other order."""
    weight = run.chunks[0].get_parameter("layers.2.attention.wk.weight")
    local = weight.to_local()  # type: ignore[operator]
    local.data.copy_(local.data.roll(local.shape[0] // 2, 0))


@fault(FSDP_TP, r"layers\.2\.attention\.wo", size=APART)
def fsdp_tp_gradient_not_reduced(run: Experiment) -> None:
    """One replica's share of a gradient has not had the other's part."""

    def halve() -> None:
        if run.mesh.at("dp") == 1:
            weight = run.chunks[0].get_parameter("layers.2.attention.wo.weight")
            weight.grad.to_local().mul_(0.5)  # type: ignore[union-attr]

    run.after_backward["halve"] = halve


@fault(FSDP_TP, r"layers\.1\.ffn_norm", ranks=(1, 3), size=APART)
def fsdp_tp_replica(run: Experiment) -> None:
    """A norm's weight is another one on the second place of tp."""
    if run.mesh.at("tp") == 1:
        nudge(run.chunks[0].get_parameter("layers.1.ffn_norm.weight").to_local())  # type: ignore[operator]
