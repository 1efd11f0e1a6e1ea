"""The configuration of a dump: what can be set, how it is read, what is refused."""

from msprobe_core.config.graft_section import GraftConfig
from msprobe_core.config.load_section import LoadConfig
from msprobe_core.config.model import Config
from msprobe_core.config.reading import read_config

__all__ = ["Config", "GraftConfig", "LoadConfig", "read_config"]
