"""All ports of the suite."""

from tests.ports import decoder, experts, gpt, vision

PORTS = (decoder.PORT, gpt.PORT, vision.PORT, experts.PORT)
