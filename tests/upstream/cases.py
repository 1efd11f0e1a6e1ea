"""Pairs of releases: what one mended in the other, and what should compute the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """A program that two releases of a package run, the problem first; `mended` says what changed.

    A sound pair has an empty `mended`: both releases compute the same.
    """

    package: str
    problem: str
    benchmark: str
    program: str
    mended: str = ""

    @property
    def title(self) -> str:
        """A line of the list."""
        return f"{self.package} {self.problem} → {self.benchmark}: {self.program}"


_OPTIMIZERS, _GEOMETRIC = "pytorch_optimizer", "torch_geometric"
_METRICS, _DIFFUSERS = "pytorch_metric_learning", "diffusers"
BUGS = (
    Release(_OPTIMIZERS, "3.1.2", "3.3.4", "optimizer:AdamG:p=0.5", "bias corrected twice"),
    Release(_OPTIMIZERS, "3.3.4", "3.5.1", "optimizer:ScheduleFreeAdamW", "bias correction in lr"),
    Release(_OPTIMIZERS, "3.3.4", "3.5.1", "optimizer:ScheduleFreeRAdam", "the same of RAdam"),
    Release(_OPTIMIZERS, "3.3.4", "3.5.1", "optimizer:SGDSaI", "deviation of vectors"),
    Release(_OPTIMIZERS, "3.3.4", "3.5.1", "optimizer:Ranger25", "several parts of the update"),
    Release(_OPTIMIZERS, "2.12.0", "3.1.2", "optimizer:AdaFactor", "the step's scale"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:EXAdam", "the corrections of the moments"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:SCION", "the weight decay"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:AdaBound", "the bounds of the step"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:DiffGrad", "the previous gradient"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:SWATS", "the bias correction"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:LARS", "the trust ratio"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:Aida", "the bias correction"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:AdaPNM", "the bias correction"),
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:AdaNorm", "the bias correction"),
    Release(_GEOMETRIC, "2.4.0", "2.5.3", "graph:DMoNPooling", "losses of batches and masks"),
    Release(_GEOMETRIC, "2.3.1", "2.4.0", "graph:StdAggregation", "√10⁻⁵ where all agree"),
    Release(_GEOMETRIC, "2.3.1", "2.4.0", "graph:PNAConv", "√10⁻⁵ where all agree"),
    Release(_DIFFUSERS, "0.31.0", "0.33.1", "scheduler:DDPMScheduler:timestep_spacing=linspace",
            "the previous time step"),
    Release(_DIFFUSERS, "0.31.0", "0.33.1", "scheduler:DDPMScheduler:timestep_spacing=trailing",
            "the previous time step"),
    Release(_DIFFUSERS, "0.29.2", "0.31.0", "scheduler:KDPM2AncestralDiscreteScheduler",
            "when noise is drawn"),
)  # fmt: skip
SOUND = (
    Release(_OPTIMIZERS, "3.5.1", "3.8.2", "optimizer:Lion"),
    Release(_OPTIMIZERS, "3.1.2", "3.5.1", "optimizer:AdamP"),
    Release(_OPTIMIZERS, "3.3.4", "3.5.1", "optimizer:AdaBelief"),
    Release(_GEOMETRIC, "2.3.1", "2.7.0", "graph:GCNConv"),
    Release(_GEOMETRIC, "2.3.1", "2.7.0", "graph:SAGEConv"),
    Release(_GEOMETRIC, "2.5.3", "2.7.0", "graph:GATv2Conv:heads=2"),
    Release(_GEOMETRIC, "2.5.3", "2.6.1", "graph:StdAggregation"),
    Release(_GEOMETRIC, "2.3.1", "2.4.0", "graph:SAGPooling"),
    Release(_DIFFUSERS, "0.29.2", "0.35.1", "scheduler:EulerDiscreteScheduler"),
    Release(_DIFFUSERS, "0.31.0", "0.33.1", "scheduler:DDIMScheduler"),
    Release(_DIFFUSERS, "0.31.0", "0.35.1", "unet:UNet2DModel"),
    Release(_METRICS, "2.0.1", "2.8.1", "loss:TripletMarginLoss"),
    Release(_METRICS, "2.0.1", "2.8.1", "loss:NTXentLoss"),
    Release(_METRICS, "2.3.0", "2.5.0", "loss:MultiSimilarityLoss"),
)
