"""The builder: two dumps in, a result database and a diagnosis out.

>>> import builder
>>> result = builder.build("problem", "benchmark", "graph_output")
>>> result.findings[0].name
"""

from builder.build import BuildResult, build
from builder.diagnosis.report import Diagnosis, Suspect, diagnose
from builder.errors import BuilderError, DumpError, InputError, MappingError, OutputError
from builder.options import BuildOptions
from builder.score import Tolerance

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
]
