"""One thing that was looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """`next_step` says what to do; a problem always has one."""

    state: State
    subject: str
    text: str
    next_step: str | None = None


def ok(subject: str, text: str) -> Check:
    """All is well."""
    return Check("ok", subject, text)


def note(subject: str, text: str, next_step: str | None = None) -> Check:
    """Worth knowing, and no problem by itself."""
    return Check("note", subject, text, next_step)


def problem(subject: str, text: str, next_step: str) -> Check:
    """Something that must change."""
    return Check("problem", subject, text, next_step)
