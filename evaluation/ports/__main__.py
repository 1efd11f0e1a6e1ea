"""All ports, sound and with each fault, in their formats: `python -m evaluation.ports [PORT …]`.

`--packages` takes those of published packages.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evaluation.ports.port import Port
from evaluation.ports.programs import LATER, PORTS, port_named, ports_of_packages
from evaluation.ports.run import SOUND
from evaluation.ports.suite import Answer, answers


def main() -> int:
    """Print each answer and the sums; 1 where a sound port is accused."""
    said: list[Answer] = []
    with tempfile.TemporaryDirectory() as root:
        for port in _asked(sys.argv[1:]):
            for dtype in port.dtypes:
                for answer in answers(port, dtype, (SOUND, *port.faults), Path(root)):
                    said.append(answer)
                    mark = "right" if answer.is_right else "WRONG"
                    sure = f"{answer.certainty} {'refused' if answer.is_refused else ''}".strip()
                    title = f"{answer.port} {answer.dtype} {answer.run}"
                    print(f"{mark} {title}: {answer.named[:3]} {sure}", flush=True)
    sound = [answer for answer in said if answer.wanted is None]
    faulty = [answer for answer in said if answer.wanted is not None]
    silent = sum(answer.is_right for answer in sound)
    print(f"sound and silent: {silent} of {len(sound)}")
    print(f"faults named first: {sum(answer.is_right for answer in faulty)} of {len(faulty)}")
    print(f"in the first three: {sum(answer.is_in_three for answer in faulty)} of {len(faulty)}")
    print(f"refused: {sum(answer.is_refused for answer in said)} of {len(said)}")
    print(f"certain and wrong: {sum(answer.is_certain_and_wrong for answer in said)}")
    return int(silent < len(sound))


def _asked(words: list[str]) -> Iterable[Port]:
    """The ports that a command line names, or all own ones."""
    if "--packages" in words:
        return ports_of_packages()
    return [port_named(name) for name in words] or (*PORTS, *LATER)


if __name__ == "__main__":
    sys.exit(main())
