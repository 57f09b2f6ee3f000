# What EZIOTracer (CHEOPS'21) reports, as far as it can be had; None: not available.
# SPDX-License-Identifier: BSD-3-Clause
"""
The abstract: overhead "ranges from 2% to 26% depending on the I/O intensity". Of its evaluation the
costs at 64 threads are known by quotation: EZTrace alone and with the kernel's side. The numbers of
its figures 4a and 4b (score), of the curves in 5a and 5b (throughput) and of table 3 (events) are not.
"""

# (io, threads, configuration) -> percent of throughput lost, as a text
LOST_THROUGHPUT = {
    ("buffered", 64, "user"): "about 5",
    ("buffered", 64, "both"): "up to 26",
    ("direct", 64, "user"): "2.1",
    ("direct", 64, "both"): "4.3",
}
NOT_AVAILABLE = "not available"

DIFFERENCES = """\
What differs from the published experiment, and why:
- The machine. This one's CPUs, disk and kernel stand above; the paper's are not known here. With fewer
  CPUs than threads much of the score is waiting for a CPU (level cpu), which the paper does not have as
  a level, and which is part of its other levels.
- The user tracer is this project's (a spool for each thread); the paper's is EZTrace's. The kernel's
  side writes a record per operation; the paper's one per probe.
- Levels nest by time. On ext4 that is vfs > fs > pagecache > block, in the paper vfs > pagecache > fs.
- Events are counted in the merged archive: enter and leave of each region, begin and end of each block
  request. Requests that the kernel makes later, on behalf of buffered writes, are in it as far as they
  were made before the end.
- "as published" is the paper's formula: all that a thread lost against the fastest operation with the
  same path, over its lifetime. A thread that is alone has a score, too, as its own writes vary. "interference":
  the part that others caused. "against solo": measured against the mean of one thread alone, so what
  slows all operations alike is in it.
- A thread's lifetime is from its first to its last event. The kernel's side sees it earlier and later than
  the library calls do (its start, its waits for a CPU); so the share of time in write is that of the
  library calls' own trace in both configurations, and scores with the kernel's side are of a longer lifetime.
- Files are removed after each run, before they are written back: the disk is in the buffered numbers
  only where the kernel begins to write meanwhile.
"""
