"""What is in a dump, found by scanning its bytes instead of decoding all of it."""

from builder.dump.inspection.inspect_dump import Inspection, inspect_dump

__all__ = ["Inspection", "inspect_dump"]
