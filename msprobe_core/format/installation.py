"""How this package is installed: from its sources or its own wheel, never by its name.

On PyPI `tb-graph-ascend` is another product, which pip would put in the place of this one.
"""

from __future__ import annotations


def install_command(*extras: str, flags: str = "") -> str:
    """What to type, as the hint of an error; `flags` are pip's."""
    wanted = f"[{','.join(extras)}]" if extras else ""
    command = " ".join(filter(None, ("pip install", flags, f"'.{wanted}'")))
    return f"{command} in its checkout, or with the wheel's path for the dot"
