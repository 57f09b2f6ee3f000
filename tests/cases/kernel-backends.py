# sci-kernel --backend: raw and classic tracepoints see what tp_btf sees; what is in use and what is
# missing is said, level by level, there and in the trace.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need_bpf, need_ext4, nothing_lost, path, scratch, trace

need_bpf()
need_ext4()
WORKLOAD = os.path.join(os.environ["SCI_BUILD"], "tests/guest/workload")
TRACEFS = "/sys/kernel/tracing"


def facts(spool):
    return [(os.path.basename(spool.path(op)), op.name, op.offset, op.size, op.ret,
             op.flags & ~kernel_spool.MISS, sum(span.kind == "PAGECACHE_WRITE" for span in op.spans),
             sum(span.kind == "FS_SYNC" for span in op.spans))
            for op in spool.ops if os.path.dirname(spool.path(op)) == os.path.realpath(scratch)]


def run(name, *options, status=0):
    spool = trace(name, WORKLOAD, scratch, options=("-v", *options), status=status)
    nothing_lost(spool)
    return spool


def used(spool, backend):
    """Probes that the trace says BACKEND served."""
    text = re.sub(r"\([^)]*\)", "", spool.properties["BACKENDS"])
    return {probe for part in re.findall(rf"\b{backend} ([^,;]*)", text) for probe in part.split()}


plain = run("tp_btf", "--backend=tp_btf")
assert len(facts(plain)) == 80, len(facts(plain))
assert {"sys_enter", "block_bio_queue", "sched_switch"} <= used(plain, "tp_btf")

# only those asked for, but no trace is without system calls; that others are missing is an error to --strict
alone = run("alone", "--strict", "--backend=raw_tp", status=1)
for name in "sched_switch", "sched_waking":  # also what only adds to others
    assert name + " raw_tp refused by the kernel" in alone.properties["MISSING"], alone.properties
assert "sys_enter" in used(alone, "tp_btf"), alone.said
assert [op[:6] for op in facts(alone)] == [op[:6] for op in facts(plain)]


def the_others():
    """What the kernel makes of them, which is the same whoever has loaded the programs."""
    raw = run("raw", "--backend=raw_tp,tp_btf")
    assert {"ext4_da_write_begin", "balance_dirty_pages"} <= used(raw, "raw_tp"), raw.said
    # a task's storage takes a pointer whose type is known, which raw tracepoints do not give
    assert {"sched_switch", "sched_process_fork"} <= used(raw, "tp_btf"), raw.said
    assert raw.properties["MISSING"] == plain.properties["MISSING"], raw.said
    assert facts(raw) == facts(plain), set(facts(raw)) ^ set(facts(plain))

    # the best first: bounds of functions where the kernel takes them, else the reason
    best = run("best")
    if not used(best, "fentry") and not used(best, "kprobe"):
        assert re.search(r"no fentry: [^,]+, no kprobe: [^)]+\)", best.properties["BACKENDS"]), best.said

    # classic tracepoints need tracefs; one of our own, gone with the process
    script = f"mount -t tracefs none {TRACEFS} && exec \"$@\""
    out = path("classic")
    said = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", SCI_KERNEL, "-v", "-o", out,
                           "--backend=tracepoint,tp_btf", "--", WORKLOAD, scratch],
                          capture_output=True, text=True)
    if "mount:" in said.stderr or "unshare:" in said.stderr:
        print("classic tracepoints not tried:", said.stderr.strip())
    else:
        assert said.returncode == 0, said.stderr
        classic = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
        assert {"ext4_da_write_begin", "ext4_sync_file_enter"} <= used(classic, "tracepoint"), said.stderr
        assert "block_bio_queue" in used(classic, "tp_btf"), said.stderr
        assert facts(classic) == facts(plain)


if not os.environ.get("SCI_SANITIZED"):
    the_others()

# a line for each level that has probes, which the trace repeats
for level in ("vfs", "pagecache", "fs", "block", "cpu"):
    line, = re.findall(rf"^sci-kernel: ({level}: .*)$", plain.said, re.M)
    assert line.split("; missing: ")[0] in plain.properties["BACKENDS"], (line, plain.properties)

# misuse
for names in ("", "kprobes", "tp_btf,tp_btf", "tp_btf,", "all"):
    for command in (SCI_KERNEL, os.path.join(os.path.dirname(SCI_KERNEL), "sci-record")):
        result = subprocess.run([command, f"--backend={names}", "-o", path("x"), "--", "true"],
                                capture_output=True, text=True)
        assert result.returncode == 2, (names, result)
        assert "fentry, kprobe, tp_btf, raw_tp, tracepoint" in result.stderr, (names, result)

# a kernel without types: one line with the remedy, and the program is not run
result = subprocess.run(["unshare", "-m", "sh", "-c",
                         "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"", "sh", SCI_KERNEL,
                         "-o", path("no-types"), "--", "touch", path("ran")],
                        capture_output=True, text=True)
if "mount:" not in result.stderr and not os.path.exists(f"/boot/vmlinux-{os.uname().release}"):
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result
    assert "CONFIG_DEBUG_INFO_BTF" in result.stderr and not os.path.exists(path("ran")), result
