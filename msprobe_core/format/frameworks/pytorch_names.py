"""PyTorch, in whose words the other frameworks are said."""

from __future__ import annotations

from msprobe_core.format.frameworks.description import FrameworkDescription

PYTORCH = FrameworkDescription(
    name="pytorch",
    display="PyTorch",
    short="pt",
    packages=("torch", "torch_npu"),
    distributions=("torch", "torch-npu"),
    module_prefixes=("Module",),
    communication=("Distributed",),
    tensor_type="torch.Tensor",
    dtype_type="torch.dtype",
    gradients="of_last_node",
    acc_check="msprobe.acc_check.pytorch:PYTORCH",
)
