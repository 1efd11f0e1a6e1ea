"""The builder: two dumps in, a result database and a diagnosis out.

>>> import builder
>>> result = builder.build("problem", "benchmark", "graph_output")
>>> result.findings[0].name
>>> builder.open(result.path).findings()
"""

from typing import TYPE_CHECKING

from builder.build import BuildResult, build
from builder.diagnosis.report import Diagnosis, Suspect, diagnose
from builder.errors import BuilderError, DumpError, InputError, MappingError, OutputError
from builder.options import BuildOptions
from builder.score import Tolerance

if TYPE_CHECKING:
    from builder.database.queries import ResultDatabase

__all__ = [
    "BuildOptions",
    "BuildResult",
    "BuilderError",
    "Diagnosis",
    "DumpError",
    "InputError",
    "MappingError",
    "OutputError",
    "Suspect",
    "Tolerance",
    "build",
    "diagnose",
    "open",
]


def open(path: str) -> "ResultDatabase":
    """Open a result database to query it, from a notebook for instance."""
    from pathlib import Path

    from builder.database.queries import ResultDatabase

    return ResultDatabase(Path(path))
