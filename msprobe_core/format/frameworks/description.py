"""What a framework's dumps call the same things, as data: no description loads its framework.

What all others are said in are PyTorch's words: matching and diagnosis know no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

GradientMeaning = Literal["of_inputs", "of_last_node"]
"""What the backward entry of a call puts out: the gradients of the call's inputs, or what the last
node of the framework's graph sent, which for a call of several nodes belongs to something inside.
"""


@dataclass(frozen=True, slots=True)
class Default:
    """One setting that a framework leaves at another value than PyTorch; both as text."""

    what: str
    own: str
    pytorch: str


@dataclass(frozen=True, slots=True)
class Words:
    """A framework's names by PyTorch's; what both call the same is not listed.

    `prefixes` are those of entries, `classes` of modules, `parameters` the names that modules give
    theirs, `calls` of functions. Calls with a prefix of `members` are named `<attribute>.<Class>`,
    and the class says what they compute. `defaults` are by the class of a layer or the name of a
    call, in PyTorch's words.
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    defaults: Mapping[str, tuple[Default, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FrameworkDescription:
    """What a reader has to know of a framework.

    `name` is the `framework` of dump.json, `display` what people read, `short` the other name that
    files and mappings may give it. `packages` are what it is imported by, whose frames in a stack
    are not the model's; `distributions` what it is installed by. `words` is None for the framework
    in whose words the others are said. `height_one` are the layers, in PyTorch's words, whose
    kernels it keeps with a height of 1; `recomputing` the modules that it puts around what is
    recomputed, whose calls are then numbered anew. `acc_check` says where the pre-check finds how
    its functions run, as `module:attribute`: nothing is imported before it is asked for.
    """

    name: str
    display: str
    short: str
    packages: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    module_prefixes: tuple[str, ...] = ()
    communication: tuple[str, ...] = ()
    tensor_type: str = ""
    dtype_type: str = ""
    tells_requires_grad: bool = True
    gradients: GradientMeaning | None = None
    words: Words | None = None
    height_one: frozenset[str] = frozenset()
    recomputing: frozenset[str] = frozenset()
    dumps_static_graphs: bool = False
    acc_check: str | None = None
