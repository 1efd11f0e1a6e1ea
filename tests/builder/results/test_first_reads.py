"""The first reads of a process, by many threads at once: a server's are."""

import subprocess
import sys

_TOGETHER = """
import sys, threading
from builder.reasons import decode
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
def read():
    start.wait()
    assert decode('[{"kind":"missing_key","value":"output.0"}]')
threads = [threading.Thread(target=read) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
"""


def test_threads_that_read_first_together_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TOGETHER], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
