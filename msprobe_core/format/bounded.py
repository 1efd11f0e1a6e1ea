"""Parses and inflates what others wrote, within limits of work: a file of kilobytes stays one.

Everything that is wrong with a text is one ValueError: its form, its nesting, what it grows to.
"""

from __future__ import annotations

import ast
import json
import zipfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

# The pure parser takes 10 s for this; the mapping of every value of a large dump has half of it.
_MOST_YAML = 4 << 20
# Aliases are for what stands twice; what expands to ten times its values is not written by people.
_MOST_EXPANSION = 10
_FEW_VALUES = 10_000
# Python refuses decimal numbers of more digits, at times only where they are printed.
_MOST_DIGITS = 1_000
_MOST_LITERAL = 4 << 20
_MOST_INFLATED = 1 << 30
_MOST_MEMBERS = 1_000_000
# The tightest JSON of statistics that was packed is 60 to 1; a bomb reaches 1,032 to 1.
_MOST_RATIO = 200
_SMALL = 64 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others ask for memory by their headers


def parse_yaml(text: str) -> Any:  # noqa: ANN401 - a file holds anything
    """The values of a YAML text; raises ValueError."""
    return _built(text, values=True)


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML text, which know their lines; raises ValueError."""
    node: yaml.Node | None = _built(text, values=False)
    return node


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - a file holds anything
    """The values of a JSON text; raises ValueError, where it nests too deep as well."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def parse_literal(text: str) -> Any:  # noqa: ANN401 - a text holds anything
    """The value of a Python literal; raises ValueError."""
    return literal_of(parse_expression(text))


def parse_expression(text: str) -> ast.expr:
    """One Python expression, not evaluated; raises ValueError."""
    if len(text) > _MOST_LITERAL:
        raise ValueError(f"it has more than {_MOST_LITERAL >> 20} MiB")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(str(error)) from None
    except (RecursionError, MemoryError):
        raise ValueError("it nests too deep") from None


def literal_of(node: ast.expr) -> Any:  # noqa: ANN401 - a text holds anything
    """The value of an expression that is a literal; raises ValueError."""
    try:
        return ast.literal_eval(node)
    except (RecursionError, MemoryError):
        raise ValueError("it nests too deep") from None
    except (TypeError, SyntaxError) as error:  # a list as a key, a number that is too long
        raise ValueError(str(error)) from None


def check_zip(packed: zipfile.ZipFile) -> None:
    """Refuse a zip that grows out of proportion when it is read; raises ValueError.

    The sizes that it declares hold: nothing beyond them is read of a member.
    """
    members = packed.infolist()
    if len(members) > _MOST_MEMBERS:
        raise ValueError(f"it has {len(members)} members")
    if any(member.compress_type not in _METHODS or member.flag_bits & 1 for member in members):
        raise ValueError("its members are packed by another method than deflate, or encrypted")
    inflated = sum(member.file_size for member in members)
    stored = sum(member.compress_size for member in members)
    if inflated > _MOST_INFLATED or inflated > max(_SMALL, _MOST_RATIO * stored):
        raise ValueError(f"it inflates from {stored:,} to {inflated:,} bytes")


def _built(text: str, *, values: bool) -> Any:  # noqa: ANN401 - a file holds anything
    import yaml  # loading its parser takes as long as reading a small dump

    if len(text) > _MOST_YAML:
        raise ValueError(f"it has more than {_MOST_YAML >> 20} MiB")
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_nodes(node)
        return loader.construct_document(node) if values else node
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("it nests too deep") from None
    except (TypeError, AttributeError, OverflowError, KeyError) as error:  # of odd tags
        raise ValueError(f"{type(error).__name__}: {error}") from None
    finally:
        loader.dispose()


def _check_nodes(root: yaml.Node) -> None:
    """Refuse nodes that expand out of proportion or without end; raises ValueError."""
    import yaml

    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            raise ValueError(f"line {node.start_mark.line + 1} holds itself")
        open_nodes.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            _check_number(node)
        children = () if isinstance(node, yaml.ScalarNode) else _children(node.value)
        sizes[id(node)] = total = 1 + sum(size(child) for child in children)
        return total

    expanded = size(root)
    if expanded > max(_FEW_VALUES, _MOST_EXPANSION * len(sizes)):
        raise ValueError(f"its aliases expand {len(sizes):,} values to {min(expanded, 10**18):,}")


def _children(value: Iterable[Any]) -> Iterable[yaml.Node]:
    for item in value:
        if isinstance(item, tuple):
            yield from item
        else:
            yield item


def _check_number(node: yaml.ScalarNode) -> None:
    if node.tag.endswith((":int", ":float")) and len(node.value) > _MOST_DIGITS:
        raise ValueError(f"line {node.start_mark.line + 1}: a number of {len(node.value)} digits")
