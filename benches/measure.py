#!/usr/bin/env python3
"""Runs one contestant of the benchmark and writes what the kernel says it cost.

usage: measure.py RESULT.json SECONDS COMMAND [ARGUMENT…]

The figures are wait4's: user and system CPU time of the command and of what it waited for, and its largest
resident set. Nothing else on the machine is counted. SIGTERM and SIGINT are passed on; a command that is still
there after SECONDS is asked to stop, and killed 20 seconds later.
"""

import json
import os
import signal
import sys
import time

GRACE_SECONDS = 20


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    result, seconds, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    started = time.monotonic()
    try:
        # Spawned rather than forked: a fork would count this interpreter's pages as the command's.
        child = os.posix_spawnp(command[0], command, os.environ)
    except OSError as error:
        sys.exit(f"measure.py: {command[0]}: {error.strerror}")

    def pass_on(signum, _frame):
        os.kill(child, signum)

    overdue = False

    def stop(_signum, _frame):
        nonlocal overdue
        os.kill(child, signal.SIGKILL if overdue else signal.SIGTERM)
        overdue = True
        signal.alarm(GRACE_SECONDS)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    _, status, usage = os.wait4(child, 0)
    wall = time.monotonic() - started
    code = os.waitstatus_to_exitcode(status)
    with open(result, "w", encoding="utf-8") as out:
        json.dump(
            {
                "cpu_s": round(usage.ru_utime + usage.ru_stime, 3),
                "peak_rss_mb": round(usage.ru_maxrss / 1024, 1),
                "wall_s": round(wall, 3),
                "exit_code": code,
                "overdue": overdue,
            },
            out,
        )


if __name__ == "__main__":
    main()
