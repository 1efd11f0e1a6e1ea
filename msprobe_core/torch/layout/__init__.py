"""How this process's values lie in the values of the whole model, for dumps of parallel runs."""

from msprobe_core.torch.layout.header import parallel_header
from msprobe_core.torch.layout.inputs import IntegerInputs
from msprobe_core.torch.layout.optimizer import OptimizerWatch

__all__ = ["IntegerInputs", "OptimizerWatch", "parallel_header"]
