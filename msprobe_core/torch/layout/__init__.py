"""How this process's values lie in the values of the whole model, for dumps of parallel runs."""

from msprobe_core.torch.layout.header import parallel_header
from msprobe_core.torch.layout.optimizer import OptimizerWatch
from msprobe_core.torch.layout.outermost import OutermostCalls

__all__ = ["OptimizerWatch", "OutermostCalls", "parallel_header"]
