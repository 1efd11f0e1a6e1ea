"""The entry point for graphs captured on Ascend devices, which needs such a device."""

from __future__ import annotations

from msprobe_core.errors import UnsupportedError


class AclGraphDumper:
    """Dumps captured graphs on an Ascend NPU; raises UnsupportedError where there is none."""

    def __init__(self, *_: object, **__: object) -> None:
        raise UnsupportedError(
            "AclGraphDumper needs an Ascend NPU and msprobe's aclgraph_dump extension, which this "
            "dumper does not have; run the model in eager mode and use PrecisionDebugger"
        )
