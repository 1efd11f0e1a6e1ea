"""How this process's values lie in the values of the whole model, for dumps of parallel runs."""

from msprobe_core.torch.parallel.header import parallel_header
from msprobe_core.torch.parallel.optimizer import OptimizerWatch
from msprobe_core.torch.parallel.outermost import OutermostCalls

__all__ = ["OptimizerWatch", "OutermostCalls", "parallel_header"]
