"""Does a compiled model compute what the eager one does? Both are run, recorded and compared."""

from msprobe.compile_check.case import Case, load_case
from msprobe.compile_check.compilation import Answer, check_compilation

__all__ = ["Answer", "Case", "check_compilation", "load_case"]
