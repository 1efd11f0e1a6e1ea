"""`python -m evaluation.rollout [PAIR …]`: all pairs, sound and with each fault."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from evaluation.rollout.suite import Answer, answers, every_pair


def main() -> int:
    """Print each answer and the sums; 1 where a sound engine is accused."""
    said: list[Answer] = []
    with tempfile.TemporaryDirectory() as root:
        for pair in every_pair():
            if sys.argv[1:] and pair.name not in sys.argv[1:]:
                continue
            for answer in answers(pair, ("sound", *pair.faults), Path(root)):
                said.append(answer)
                mark = "right" if answer.is_right else "WRONG"
                token = f"token {answer.token}"
                if answer.wanted is not None and not answer.has_token:
                    token += f", not {answer.first}"
                print(f"{mark} {answer.pair} {answer.run}: {answer.named[:3]} {token}", flush=True)
                if answer.wanted is None:
                    print(f"    {answer.aligned}")
    sound = [answer for answer in said if answer.wanted is None]
    faulty = [answer for answer in said if answer.wanted is not None]
    silent = sum(answer.is_right for answer in sound)
    print(f"sound and silent: {silent} of {len(sound)}")
    print(f"faults named first: {sum(answer.is_right for answer in faulty)} of {len(faulty)}")
    print(f"with their first token: {sum(answer.has_token for answer in faulty)} of {len(faulty)}")
    return int(silent < len(sound))


if __name__ == "__main__":
    sys.exit(main())
