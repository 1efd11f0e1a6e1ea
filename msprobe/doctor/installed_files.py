"""Whether the files of this package are still those that were installed.

mindstudio-probe has files of the same names: whichever is installed later replaces them, and
whichever is uninstalled takes them along.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from builder.dump.inspection.check import Check, problem


def check_files(distribution: metadata.Distribution, mend: str) -> Iterator[Check]:
    """One problem where files are missing or another's; an editable install has none to check."""
    changed = [str(file) for file in distribution.files or () if _is_changed(file)]
    if changed:
        listed = ", ".join(sorted(changed)[:3]) + (", …" if len(changed) > 3 else "")
        text = f"{len(changed)} of its files are missing or were replaced: {listed}"
        yield problem(f"{distribution.name} files", text, mend)


def _is_changed(file: metadata.PackagePath) -> bool:
    # Scripts have no place in the question: pip writes them anew for each environment.
    if file.hash is None or file.parts[0] == "..":
        return False
    try:
        content = Path(str(file.locate())).read_bytes()
    except OSError:
        return True
    digest = hashlib.new(file.hash.mode, content).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value
