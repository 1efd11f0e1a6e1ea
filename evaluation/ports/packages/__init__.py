"""Ports of published packages: the model of one against that of another, with its weights."""

import torch

# torchvision's own operators need the build of torch that they were compiled for, and its models do
# not need them: where they cannot be loaded, their names have to be known all the same.
_BOXES = ("nms", "qnms")
_OTHERS = (
    *("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"),
    *("_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward"),
    *("_ps_roi_pool_backward", "_deform_conv2d_backward"),
)
LIBRARY: torch.library.Library | None = None

try:
    import torchvision  # noqa: F401 - whether it loads is the question
except RuntimeError:
    LIBRARY = torch.library.Library("torchvision", "DEF")
    for _name in _BOXES:
        LIBRARY.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for _name in _OTHERS:
        LIBRARY.define(f"{_name}(Tensor a) -> Tensor")
