"""What all reasons are, and the kinds of them."""

from __future__ import annotations

import re
from typing import Literal, NoReturn, TypeAlias

import msgspec

Side: TypeAlias = Literal["problem", "benchmark"]
# Of what an error is: of a statistic, of all elements, or of what a sketch estimates of them.
ErrorOf: TypeAlias = Literal["max", "min", "mean", "norm", "elements", "sketch", "infinities"]
# A measure may be NaN or infinite, of which JSON makes null.
Measured: TypeAlias = float | None


def _code(name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


class Fact(msgspec.Struct, frozen=True, tag_field="code", tag=_code):
    """What all reasons are; `code` names their class in files, messages and tables of words."""

    @property
    def code(self) -> str:
        """The name of the class as files have it."""
        return str(self.__struct_config__.tag)


def assert_never(reason: NoReturn) -> NoReturn:
    """Where all reasons were matched: a new one that is not is an error of types here."""
    raise AssertionError(reason)


class RuleFact(Fact, frozen=True):
    """A documented rule over one value that applies: it makes the verdict of a node."""


class ValueFact(Fact, frozen=True):
    """What else is said of a node or its values, as by rules of a user's own."""


class ValueNote(Fact, frozen=True):
    """What a reader should know of one value beside the rules; the verdict stays."""


class FindingFact(Fact, frozen=True):
    """Why a finding is one, or what else is said of it."""


class ComparisonFact(Fact, frozen=True):
    """What is said of a comparison as a whole."""


class RankFact(Fact, frozen=True):
    """What the ranks of one run say of each other, without a benchmark."""


class PairingFact(Fact, frozen=True):
    """What speaks for a pair of modules that a person may make."""


class MsprobeFact(Fact, frozen=True):
    """What a file of msprobe's own builder says."""


class NotUnderstood(Fact, frozen=True):
    """What a file says and this version does not know, or cannot read, as it stands there."""

    text: str
