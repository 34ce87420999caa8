"""Runs one command, and ends it when standard input closes.

Whoever started the guard holds the other end of that pipe, so the command ends with its owner even when the owner is killed
and cannot clean up. SIGTERM is passed on, so that a test can ask the command itself to stop. Started as a script of its own
(`guard.py GRACE REMOVE COMMAND...`): it imports nothing of this project.

GRACE is the seconds between SIGTERM and SIGKILL; REMOVE is a directory that is deleted after an end that was asked for ("" for
none). A command that ends by itself leaves the directory for a look at its logs.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading


def main(grace: float, remove: str, command: list[str]) -> int:
    """Run `command` until it ends or standard input closes; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
    asked = threading.Event()

    def end_with_owner() -> None:
        while os.read(0, 4096):
            pass
        asked.set()
        child.terminate()
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()

    threading.Thread(target=end_with_owner, daemon=True).start()
    code = child.wait()
    if remove and asked.is_set():
        shutil.rmtree(remove, ignore_errors=True)
    return code


if __name__ == "__main__":
    os._exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]) & 0xFF)
