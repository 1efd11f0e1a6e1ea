"""The builder: two dumps in, a result database and a diagnosis out.

>>> import builder
>>> result = builder.build("problem", "benchmark", "graph_output")
>>> result.findings[0].name
>>> builder.open(result.path).findings()
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from builder.compare.score import Tolerance
    from builder.errors import (
        BuilderError,
        DatabaseError,
        DumpError,
        ExpressionError,
        InputError,
        MappingError,
        OutputError,
        UnknownNodeError,
    )
    from builder.results.reading import Results
    from builder.results.report import Diagnosis, Suspect, diagnose
    from builder.run.build import BuildResult, build
    from builder.work.options import BuildOptions

# Whoever needs an error or one room of the builder, as each of many processes does, does not wait
# for all that a build or a reader loads.
_HOMES = {
    "BuildOptions": "builder.work.options",
    "BuildResult": "builder.run.build",
    "BuilderError": "builder.errors",
    "DatabaseError": "builder.errors",
    "Diagnosis": "builder.results.report",
    "DumpError": "builder.errors",
    "ExpressionError": "builder.errors",
    "InputError": "builder.errors",
    "MappingError": "builder.errors",
    "OutputError": "builder.errors",
    "Suspect": "builder.results.report",
    "Tolerance": "builder.compare.score",
    "UnknownNodeError": "builder.errors",
    "build": "builder.run.build",
    "diagnose": "builder.results.report",
}

__all__ = [
    "BuildOptions",
    "BuildResult",
    "BuilderError",
    "DatabaseError",
    "Diagnosis",
    "DumpError",
    "ExpressionError",
    "InputError",
    "MappingError",
    "OutputError",
    "Suspect",
    "Tolerance",
    "UnknownNodeError",
    "build",
    "diagnose",
    "open",
]


def open(path: "Path | str") -> "Results":
    """Open a result file, ours or one of msprobe's own builder, to query it.

    Raises DatabaseError when it is no result file or cannot be read.
    """
    from pathlib import Path

    from builder.results.open_results import open_results

    return open_results(Path(path))


def __getattr__(name: str) -> object:
    """What the face lists, loaded when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'builder' has no attribute {name!r}")
    member = getattr(_import_module(_HOMES[name]), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """All names, those that are loaded later among them."""
    return sorted({*globals(), *_HOMES})
