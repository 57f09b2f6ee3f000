#!/usr/bin/python3
# The inventory of waits as doc/score.md has it, from the lists in the code. With --write, puts it there.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(TOP, "doc", "score.md")
BEGIN, END = "<!-- printed by tests/waits.py: begin -->\n", "<!-- end -->\n"

# of CELLS: who caused it
WHOSE = {
    "NATURE": "the holder, as the kernel names it",
    "FILE": "operations on the same file meanwhile",
    "FS": "operations on the same file system meanwhile",
    "DIRTY": "writers to the page cache meanwhile",
    "DEVICE": "requests on the same device meanwhile",
    "SERVER": "calls at the same server meanwhile",
    "SELF": "nobody",
    "LIMIT": "nobody: a limit",
}
# spans that are waits, by the probes that report them
PROBES = {
    "INODE_LOCK": "contention_begin, by the lock's address",
    "FILE_POSITION_LOCK": "contention_begin, by the lock's address",
    "INVALIDATE_LOCK": "contention_begin, by the lock's address",
    "ADDRESS_SPACE_LOCK": "contention_begin, by the lock's address",
    "OTHER_LOCK": "contention_begin, at a place that is not listed",
    "FILE_LOCK": "posix_lock_inode, flock_lock_inode, break_lease_block",
    "DIRTY_THROTTLING": "balance_dirty_pages",
    "PAGE_WRITEBACK_WAIT": "folio_wait_writeback",
    "RECLAIM": "mm_vmscan_direct_reclaim_begin",
    "RECLAIM_AT_OWN_LIMIT": "mm_vmscan_memcg_reclaim_begin",
    "EVICTION": "mm_filemap_delete_from_page_cache, mm_vmscan_wakeup_kswapd, then a miss on the same pages; "
                "mm_vmscan_write_folio, then a fault that waits for what was swapped out",
    "SPIN_LOCK": "contention_begin of a lock that nobody sleeps for",
    "QUOTA": "sched_switch, with the throttled time of the group's run queue; of real-time priorities, whether their run queue is throttled, and of a deadline thread, whether it is itself",
    "STOPPED": "sched_switch, by the state of the thread",
    "RUN_QUEUE": "sched_switch, sched_wakeup",
    "WAKE_UP": "sched_switch, sched_wakeup",
}
# and those that no span is
OTHERS = {
    "user:stream lock": "the library's lock of the stream, taken ahead of it",
    "block:queue": "own requests between block_bio_queue and block_rq_issue",
    "block:held back by own limit": "asleep while the group's throttle has requests queued",
    "block:virtio": "own requests of a guest, while nothing of its host's for them is under way",
    "net:rpc queue": "own calls to a server between rpc_task_begin and xprt_transmit",
    "net:server": "own calls to a server between xprt_transmit and the answer (rpc_task_end)",
    "net:retransmit": "own calls to a server between the first xprt_transmit and the last xprt_retransmit",
    "pagecache:dropped pages": "mm_filemap_delete_from_page_cache by who frees no memory, then a miss on the same pages",
    "cpu:own work": "sched_switch, with sched_waking of kernel threads and block_rq_complete",
    "cpu:steal": "sched_switch, sched_wakeup on the host, of the thread that is the guest's CPU",
    "block:device": "own requests between block_rq_issue and block_rq_complete",
}


def rows(path, name, fields):
    """The rows of the list #define NAME in PATH."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        text = file.read()
    body = re.search(r"#define " + name + r"\(X\)((?:.*\\\n)*.*\n)", text).group(1)
    found = re.findall(r"\bX\(" + r",\s*".join([r'"?([^",()]*)"?'] * fields) + r"\)",
                       re.sub(r"\\\n", " ", body))
    assert found, (path, name)
    return found


def whose():
    """Who caused a wait, by the name of its region."""
    reasons = {ident: reason for ident, _home, reason in rows("eta-ext/base/levels.h", "ETA_REASONS", 3)}
    return {f"{level.lower()}:{reasons[reason]}": WHOSE[group]
            for level, reason, group in rows("src/analysis/tables/cells.h", "CELLS", 3)}


def shown():
    """What reports call a reason that has another name in traces."""
    return {before: now for now, before in rows("src/report/words.c", "REASONS", 2)}


def table():
    places, by = {region: [how] for region, how in OTHERS.items()}, whose()
    for ident, region in rows("eta-ext/format/record.h", "ETA_SPANS", 2):
        if ident in PROBES:
            places.setdefault(region, []).append(PROBES[ident])
    for name, how in (("KERNELIO_SLEEPS", "asleep in"), ("KERNELIO_TAKERS", "a lock taken by")):
        found = {}
        for function, region in rows("plugins/kernelio/sleeps.h", name, 2):
            found.setdefault(region, []).append(function)
        for region, functions in found.items():
            places.setdefault(region, []).append(how + " " + ", ".join(f"`{f}`" for f in functions))
    words = shown()
    yield "| wait | attributed to | where the kernel shows it |\n"
    yield "|---|---|---|\n"
    for region in sorted(places, key=lambda r: (list(by).index(r) if r in by else len(by), r)):
        level, reason = region.split(":")
        yield f"| `{level}: {words.get(reason, reason)}` | {by.get(region, 'not known')} | {'; '.join(places[region])} |\n"


def page(text):
    """TEXT of the page with the table as it is to be."""
    before, rest = text.split(BEGIN)
    _old, after = rest.split(END)
    return before + BEGIN + "".join(table()) + END + after


def main():
    if sys.argv[1:] != ["--write"]:
        sys.stdout.writelines(table())
        return
    with open(PAGE, encoding="utf-8") as file:
        new = page(file.read())
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(new)


if __name__ == "__main__":
    main()
