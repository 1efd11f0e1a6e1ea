"""What is noted of the calls of modules that stand in no other call of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msprobe_core.capture.trace import Trace
from msprobe_core.torch.parallel.inputs import IntegerInputs
from msprobe_core.torch.parallel.micro_batches import MicroBatches


class OutermostCalls:
    """The integers that they are fed, and the micro-batches that they work on."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._inputs, self._micro_batches = IntegerInputs(), MicroBatches()

    def note(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Take what is to be said of a call; what goes wrong is reported."""
        if self._trace.selection.values:
            self._trace.safely("checksums of inputs", self._inputs.note, name, args, kwargs)
        self._trace.safely("number of a micro-batch", self._micro_batches.note, name)

    def forget(self) -> None:
        """Let the tensors go."""
        self._inputs.forget()

    def notes(self) -> dict[str, str]:
        """Members of dump.json beside `data`, as JSON text."""
        texts = {"inputs": self._inputs.text(), "micro_batch": self._micro_batches.text()}
        return {member: text for member, text in texts.items() if text is not None}
