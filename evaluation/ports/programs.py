"""All ports of the suite: own ones, and those of packages that have to be installed for it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from evaluation.ports import (
    adapters,
    channels_last,
    convolutions,
    decoder,
    encoder_decoder,
    experts,
    functional,
    gated_recurrence,
    gpt,
    graphs,
    grouped_heads,
    latent_attention,
    layouts,
    recurrent,
    reshaped_weights,
    untrained,
    vision,
)
from evaluation.ports.port import Port

PORTS = (
    *(decoder.PORT, gpt.PORT, vision.PORT, experts.PORT, layouts.PORT),
    *(reshaped_weights.FOLDED, reshaped_weights.PADDED),
    *(functional.PORT, convolutions.PORT, recurrent.PORT, graphs.PORT),
)
# Written after the diagnosis, with what should be named.
LATER = (
    *(encoder_decoder.PORT, channels_last.PORT, latent_attention.PORT),
    *(grouped_heads.PORT, adapters.PORT, gated_recurrence.PORT),
    untrained.PORT,
)
# The last two were written after the diagnosis, with what should be named.
PACKAGES = ("language", "sequences", "vision", "later_language", "later_vision")


def ports_of_packages() -> Iterator[Port]:
    """The ports of published packages (requirements.txt beside them)."""
    for name in PACKAGES:
        yield from import_module(f"evaluation.ports.packages.{name}").PORTS


def port_named(name: str) -> Port:
    """A port by its name, of a package where no own one has it."""
    own = {port.name: port for port in (*PORTS, *LATER)}
    return own[name] if name in own else {port.name: port for port in ports_of_packages()}[name]
