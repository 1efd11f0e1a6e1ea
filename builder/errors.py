"""What can go wrong for a user of the builder, one class per kind of outcome.

InputError
├── DumpError      a dump folder or one of its files
└── MappingError   a layer mapping or manual mapping
OutputError        the place the result should go to
"""

from __future__ import annotations


class BuilderError(Exception):
    """A mistake that the message explains in one line: what, where, and what to do."""


class InputError(BuilderError):
    """Something that was given cannot be used."""


class DumpError(InputError):
    """A dump folder or a file in it cannot be read."""


class MappingError(InputError):
    """A mapping file cannot be used as it is."""


class OutputError(BuilderError):
    """The result cannot be written."""
