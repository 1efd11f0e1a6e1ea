"""What a tensor is to the node that has it: read, made, a parameter; by the form of its record."""

from __future__ import annotations

from builder.dump.forms import Form

READ, MADE, PARAMETER, OTHER = range(4)


def role_of(form: Form) -> int:
    """READ, MADE or PARAMETER; OTHER of what is no tensor, or a gradient of a parameter."""
    if not form.is_tensor:
        return OTHER
    if form.is_parameter:
        return PARAMETER
    if form.key.startswith("input"):
        return READ
    return MADE if form.key.startswith("output") else OTHER
