"""All ports, sound and with each fault, in their formats: `python -m evaluation.ports`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from evaluation.ports.programs import PORTS, ports_of_packages
from evaluation.ports.run import SOUND
from evaluation.ports.suite import Answer, answers


def main() -> int:
    """Print each answer and the sums; 1 where a sound port is accused."""
    said: list[Answer] = []
    with tempfile.TemporaryDirectory() as root:
        for port in ports_of_packages() if "--packages" in sys.argv else PORTS:
            for dtype in port.dtypes:
                for answer in answers(port, dtype, (SOUND, *port.faults), Path(root)):
                    said.append(answer)
                    mark = "right" if answer.is_right else "WRONG"
                    print(f"{mark} {answer.port} {answer.dtype} {answer.run}: {answer.named[:3]}")
    sound = [answer for answer in said if answer.wanted is None]
    faulty = [answer for answer in said if answer.wanted is not None]
    silent = sum(answer.is_right for answer in sound)
    print(f"sound and silent: {silent} of {len(sound)}")
    print(f"faults named first: {sum(answer.is_right for answer in faulty)} of {len(faulty)}")
    print(f"in the first three: {sum(answer.is_in_three for answer in faulty)} of {len(faulty)}")
    return int(silent < len(sound))


if __name__ == "__main__":
    sys.exit(main())
