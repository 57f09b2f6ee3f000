# Delays of known length, and what the score says of them.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os

import conditions
from scoring import record, score

LIMIT_PERCENT = 10
Amount = collections.namedtuple("Amount", "what injected_ns found_ns")


def of_locks(place):
    """Locks that a thread holds: it measures for how long another one has to wait for it."""
    data = os.path.join(place.folder, "data")
    trace, printed = record(place, ["chrt", "-f", "10", place.program("hold"), data])
    found = score(trace)
    for line in printed.splitlines():
        injected, lock = line.split(" ", 1)
        yield Amount(lock, int(injected), found.reasons.get(lock, 0))


IOPS, THREADS, REQUESTS = 500, 4, 400


def of_throttle(place):
    """
    A device that takes IOPS requests a second, against the same without that limit. N requests of
    T threads take N / IOPS s; each thread waits all that time but for what it needs anyway.
    """
    def run(name, limit):
        with limit as condition:
            command = [place.program("direct"), "-t", str(THREADS), "-n", str(REQUESTS),
                       "-s", "4096", os.path.join(condition.data, "data")]
            condition.run([*command, "-p"])
            return record(place, ["chrt", "-f", "10", *condition.wrap, *command], name)[0]

    free = run("free", conditions.journalled(place, 0))
    limited = run("limited", conditions.throttled(place, IOPS))
    anyway_ns = sum(thread["io_ns"] for thread in score(free).report["threads"])
    total_ns = THREADS * (THREADS * REQUESTS) * 10 ** 9 // IOPS
    found = score(limited, f"--baseline={free}")
    yield Amount(f"device limited to {IOPS} requests/s", total_ns - anyway_ns, found.lost_ns)


def amounts(place):
    for measure in of_locks, of_throttle:
        yield from measure(place)
        place.clear()


def percent(amount):
    return 100 * (amount.found_ns / amount.injected_ns - 1)


def is_right(amount):
    return abs(percent(amount)) <= LIMIT_PERCENT


def columns(amount):
    return [amount.what, f"{amount.injected_ns / 1e6:.1f} ms", f"{amount.found_ns / 1e6:.1f} ms",
            f"{percent(amount):+.1f} %" + ("" if is_right(amount) else " (!)")]


HEAD = ["known delay", "injected", "found", "difference"]
