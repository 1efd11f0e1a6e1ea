"""Which entries and which parts of them are written: scope, list, data_mode, risk level.

What is left out keeps its place in construct.json, so the structure stays whole.
"""

from __future__ import annotations

from msprobe_core.config import Config


class Selection:
    """Decides by name; `matched` tells whether anything was wanted so far."""

    def __init__(self, config: Config) -> None:
        self._scope = config.scope
        self._list = config.list + _loaded_only(config)
        self._expands = config.level in ("mix", "L2") or bool(_loaded_only(config))
        self.only_abnormal = config.task == "overflow_check"
        self._inside_scope = not config.scope
        self.values = config.task != "structure"
        self._saved = config.tensor_list
        self.matched = False
        self.forward, self.backward, self.inputs, self.outputs = _parts(config.data_mode)
        self.is_unrestricted = not self._scope and not self._list
        self.takes_all = self.is_unrestricted and self.forward

    def enter(self, name: str) -> None:
        """A call begins: the scope may begin with it."""
        if not self.is_unrestricted and self._scope and name == self._scope[0]:
            self._inside_scope = True

    def leave(self, name: str) -> None:
        """A call has been recorded: the scope may end with it."""
        if self._scope and name == self._scope[1]:
            self._inside_scope = False

    def names(self, name: str) -> bool:
        """Whether `list` matches the name."""
        return any(part in name for part in self._list)

    def expands(self, name: str) -> bool:
        """Whether a module of this name brings what runs inside it."""
        return bool(self._expands and self._list and self.names(name))

    def wants(self, name: str, picked: bool) -> bool:
        """Whether an entry is written; `picked` tells that a module around it is in `list`."""
        if self.is_unrestricted:
            self.matched = True
            return True
        wanted = self._inside_scope and (not self._list or picked or self.names(name))
        self.matched |= wanted
        return wanted

    def saves(self, name: str) -> bool:
        """Whether `tensor_list` asks for the tensors of an entry."""
        return any(part in name for part in self._saved)


def _loaded_only(config: Config) -> tuple[str, ...]:
    """With `dump_after_load`, the names of the modules that run on loaded inputs."""
    if config.load is None or not config.load.dump_after_load:
        return ()
    return tuple(f"Module.{path}." for path in config.load.modules)


def _parts(data_mode: frozenset[str]) -> tuple[bool, bool, bool, bool]:
    unrestricted = "all" in data_mode
    directions = data_mode & {"forward", "backward"}
    sides = data_mode & {"input", "output"}
    return (
        unrestricted or not directions or "forward" in directions,
        unrestricted or not directions or "backward" in directions,
        unrestricted or not sides or "input" in sides,
        unrestricted or not sides or "output" in sides,
    )
