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
from builder.results.report import Diagnosis, Suspect, diagnose
from builder.run.build import BuildResult, build
from builder.work.options import BuildOptions

if TYPE_CHECKING:
    from pathlib import Path

    from builder.results.reading import Results

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
    # Queries need SQLAlchemy, which takes longer to load than a diagnosis takes to read.
    from pathlib import Path

    from builder.results.open_results import open_results

    return open_results(Path(path))
