"""Pairs of releases: what one mended in the other, and what should compute the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """A program that two releases of a package run, the problem first; `mended` says what changed.

    A sound pair has an empty `mended`: both releases compute the same, to rounding, in their loss,
    gradients, weights and buffers. Where what was mended is what a constructor sets, `shows` is in
    the line that makes use of it.
    """

    package: str
    problem: str
    benchmark: str
    program: str
    mended: str = ""
    shows: str = ""

    @property
    def title(self) -> str:
        """A line of the list."""
        return f"{self.package} {self.problem} → {self.benchmark}: {self.program}"


_OPTIMIZERS, _GEOMETRIC = "pytorch_optimizer", "torch_geometric"
_METRICS, _DIFFUSERS = "pytorch_metric_learning", "diffusers"
_MONAI, _KORNIA, _MEASURES = "monai", "kornia", "torchmetrics"
_QUANTIZERS, _TRANSFORMERS = "vector_quantize_pytorch", "x_transformers"
_DICE, _SSIM = "function:monai.losses", "structural_similarity_index_measure"
_OF_IMAGES = "function:torchmetrics.functional.image"
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
    Release(_MONAI, "1.1.0", "1.3.0", f"{_DICE}.GeneralizedDiceLoss:sigmoid=True",
            "classes are added up before the ratio"),
    Release(_MONAI, "1.1.0", "1.3.0", f"{_DICE}.GeneralizedDiceFocalLoss:sigmoid=True",
            "the same in a sum of losses"),
    Release(_KORNIA, "0.6.12", "0.7.3",
            "function:kornia.losses.focal_loss:alpha=0.3:reduction=mean",
            "the weight of the background"),
    Release(_KORNIA, "0.6.12", "0.7.3", "function:kornia.color.ycbcr_to_rgb",
            "the range of colors"),
    Release(_KORNIA, "0.6.12", "0.7.3",
            "function:kornia.geometry.conversions.quaternion_to_rotation_matrix",
            "which part is the real one"),
    Release(_MEASURES, "1.3.2", "1.4.3",
            f"{_OF_IMAGES}.error_relative_global_dimensionless_synthesis", "the ratio turned over"),
    Release(_MEASURES, "1.3.2", "1.4.3", f"{_OF_IMAGES}.{_SSIM}", "the border cut off twice"),
    Release(_MEASURES, "1.3.2", "1.4.3",
            f"{_OF_IMAGES}.{_SSIM}:gaussian_kernel=False:kernel_size=7", "another border"),
    Release(_QUANTIZERS, "1.8.0", "1.14.0", "function:vector_quantize_pytorch.FSQ:levels=8,6,5",
            "the bounds of even levels"),
    Release(_QUANTIZERS, "1.14.0", "1.17.0",
            "function:vector_quantize_pytorch.VectorQuantize:dim=16:codebook_size=32",
            "counts begin at one", "lerp_"),
    Release(_QUANTIZERS, "1.17.0", "1.20.0",
            "function:vector_quantize_pytorch.LFQ:dim=16:codebook_size=16",
            "the default weight of a loss", "commit_loss"),
    Release(_TRANSFORMERS, "1.37.0", "1.40.0", "transformer:Decoder:attn_sparse_topk=4",
            "the mask of what is kept"),
    Release(_TRANSFORMERS, "1.37.0", "1.40.0", "transformer:Encoder:attn_sparse_topk=4",
            "the same without causality"),
    Release(_TRANSFORMERS, "1.27.0", "1.30.0", "transformer:Decoder:use_scalenorm=True",
            "the scale of a norm"),
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
    Release(_MONAI, "1.4.0", "1.5.0", f"{_DICE}.DiceLoss:sigmoid=True"),
    Release(_MONAI, "1.3.0", "1.4.0", f"{_DICE}.FocalLoss"),
    Release(_KORNIA, "0.6.12", "0.7.3", "function:kornia.filters.canny"),
    Release(_KORNIA, "0.6.12", "0.7.3", "function:kornia.losses.ssim_loss:window_size=5"),
    Release(_MEASURES, "1.6.3", "1.8.2", f"{_OF_IMAGES}.{_SSIM}"),
    Release(_QUANTIZERS, "1.20.0", "1.22.0",
            "function:vector_quantize_pytorch.VectorQuantize:dim=16:codebook_size=32:"
            "learnable_codebook=True:ema_update=False"),
    Release(_TRANSFORMERS, "1.40.0", "1.42.0", "transformer:Decoder:rotary_pos_emb=True"),
    Release(_TRANSFORMERS, "1.37.0", "1.40.0", "transformer:Encoder:alibi_pos_bias=True"),
    Release(_METRICS, "2.0.1", "2.8.1", "loss:TripletMarginLoss"),
    Release(_METRICS, "2.0.1", "2.8.1", "loss:NTXentLoss"),
    Release(_METRICS, "2.3.0", "2.5.0", "loss:MultiSimilarityLoss"),
)  # fmt: skip
