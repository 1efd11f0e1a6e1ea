"""The pairs: a run of MindSpore against one of PyTorch, and what has to be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SAMPLE = (
    Path(__file__).resolve().parents[2] / "tests" / "samples" / "cross-framework" / "dumps.tar.xz"
)
IN_SAMPLE = ("cnn", "attention", "names", "lstm-label_dtype", "cnn-momentum", "transformer-label")
"""The runs of MindSpore that the sample has, with their benchmarks."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A problem and its benchmark by the names of their runs.

    `named` is how the one finding's entry begins, empty for a sound pair; `turned` the same with
    PyTorch as the problem, where that is another call; `default` a part of the default that
    explains it.
    """

    problem: str
    benchmark: str
    named: str = ""
    step: int = 0
    default: str = ""
    turned: str = ""


def _faulty(fault: str, named: str, step: int = 0, default: str = "", turned: str = "") -> Pair:
    return Pair(fault, fault.partition("-")[0], named, step, default, turned)


SOUND = tuple(
    Pair(name, name)
    for name in (
        "transformer",
        "seed",
        "cnn",
        "lstm",
        "attention",
        "tied",
        "names",
        "ranks",
        "autoencoder",
        "gru",
        "mint",
        "separable",
        "vision",
        "text",
        "unrolled",
        "experts",
    )
)
FAULTS = (
    _faulty("transformer-epsilon", "Cell.norm.LayerNorm.forward", default="epsilon"),
    _faulty("transformer-approximate", "Cell.layers.1.mlp.act.GELU.forward", default="tanh"),
    _faulty("transformer-scale", "Tensor.__mul__.1.forward"),
    _faulty("transformer-mask", "Functional.masked_fill.0.forward"),
    _faulty("transformer-transposed", "Cell.layers.0.attention.query.Dense.forward"),
    _faulty("transformer-bias", "Cell.layers.0.mlp.fc2.Dense.forward"),
    _faulty("transformer-weight", "Cell.layers.1.mlp.fc1.Dense.forward"),
    _faulty("transformer-dropout", "Functional.dropout.0.forward"),
    _faulty("transformer-label", "Functional.cross_entropy.0.forward"),
    _faulty("transformer-multiply", "Tensor.__mul__.2.forward"),
    _faulty("transformer-residual", "Tensor.__add__.3.forward"),
    _faulty("transformer-decay", "Cell.embed.Embedding.forward", step=1),
    _faulty("cnn-pad_mode", "Cell.conv1.Conv2d.forward", default="padding"),
    _faulty("cnn-momentum", "Cell.norm1.BatchNorm2d.forward", step=2, default="momentum"),
    _faulty("cnn-keep_prob", "Cell.drop.Dropout.forward"),
    _faulty("mint-adam", "Cell.norm.LayerNorm.forward", step=1),
    _faulty("lstm-label_dtype", "Functional.mse_loss.0.forward"),
    _faulty("separable-slope", "Cell.act.LeakyReLU.forward", default="slope"),
    _faulty("vision-half", "Tensor.to."),
    _faulty("text-mean", "Tensor.amax.", turned="Tensor.mean."),
    _faulty("unrolled-detach", "Cell.cell.GRUCell.backward.2"),
    _faulty("experts-frozen", "Cell.experts.1.0.Dense.forward", step=1),
    _faulty("experts-axis", "Functional.softmax.0.forward"),
)
