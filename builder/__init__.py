"""The builder: two dumps in, a result database and a diagnosis out.

>>> import builder
>>> result = builder.build("problem", "benchmark", "graph_output")
>>> result.findings[0].name
>>> builder.open(result.path).findings()
"""

from typing import TYPE_CHECKING

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
from builder.run.build import BuildResult, build
from builder.work.options import BuildOptions

if TYPE_CHECKING:
    from pathlib import Path

    from builder.results.reading import Results
    from builder.results.report import Diagnosis, Suspect, diagnose

# Readers need SQLAlchemy, which takes longer to load than most of what a build does.
_OF_READERS = ("Diagnosis", "Suspect", "diagnose")

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
    """What reads a result file, loaded when it is first asked for."""
    if name not in _OF_READERS:
        raise AttributeError(f"module 'builder' has no attribute {name!r}")
    from builder.results import report

    return getattr(report, name)


def __dir__() -> list[str]:
    """All names, those that are loaded later among them."""
    return sorted({*globals(), *_OF_READERS})
