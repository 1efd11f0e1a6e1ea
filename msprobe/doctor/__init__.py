"""Why a tab is missing, why a dump is empty, what is installed: checks with the next step."""

from builder.dump.inspection.check import Check
from msprobe.doctor.examination import examine

__all__ = ["Check", "examine"]
