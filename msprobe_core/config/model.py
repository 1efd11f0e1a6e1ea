"""The configuration as the dumper uses it: every field present, checked and typed.

Mutable on purpose: inference engines assign `debugger.config.dump_path` between phases.
"""

from __future__ import annotations

from dataclasses import dataclass

from msprobe_core.config.graft_section import GraftConfig
from msprobe_core.config.load_section import LoadConfig
from msprobe_core.config.slices import Slice


@dataclass(slots=True)
class Config:
    """All settings of a dump; `docs/configuration.md` says what each does."""

    task: str = "statistics"
    dump_path: str = "./msprobe_dump"
    rank: frozenset[int] = frozenset()
    step: frozenset[int] = frozenset()
    level: str = "L1"
    capture: str = "eager"
    graph_points: str = "late"
    grad_inputs: bool = False
    async_dump: bool = False
    dump_enable: bool | None = None
    extra_info: bool = True
    flow: bool = True
    precision: str = "low"
    sketch: bool = True
    rows: bool = False
    risk_level: str = "FOCUS"
    custom_op_namespaces: tuple[str, ...] = ("_C_ascend",)
    scope: tuple[str, ...] = ()
    list: tuple[str, ...] = ()
    tensor_list: tuple[str, ...] = ()
    data_mode: frozenset[str] = frozenset({"all"})
    summary_mode: str = "statistics"
    slice: tuple[Slice, ...] = ()
    request_id: str | None = None
    bench_path: str | None = None
    diff_nums: int = 1
    file_format: str | None = None
    load: LoadConfig | None = None
    graft: GraftConfig | None = None
    source: str | None = None

    @property
    def records_modules(self) -> bool:
        """Whether module entries are written (levels L0, mix, and L2 for what `list` names)."""
        return self.level in ("L0", "mix", "L2")

    @property
    def records_calls(self) -> bool:
        """Whether API entries are written (levels L1, mix, and L2 for what `list` names)."""
        return self.level in ("L1", "mix", "L2")

    @property
    def records_kernels(self) -> bool:
        """Whether the kernels below API entries are written (level L2)."""
        return self.level == "L2"
