"""What a program keeps of its speed under our tracers and under others, in the same rounds: each way runs between two
runs that nobody traces, and the median of the ratios counts."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# SCI_BENCH_PAIRS: rounds; SCI_BENCH_ROWS, SCI_BENCH_WAYS: those whose names begin with one of these, between semicolons
BUILD = os.environ["SCI_BUILD"]
ROUNDS = int(os.environ.get("SCI_BENCH_PAIRS", 7))
ROWS_WANTED, WAYS_WANTED = (tuple(os.environ.get(f"SCI_BENCH_{what}", "").split(";")) for what in ("ROWS", "WAYS"))
SCI_RECORD = os.path.join(BUILD, "src", "sci-record")
EMPTY_PROBES = os.path.join(BUILD, "tests", "bench", "bench-empty-probes")
ELAPSED = os.path.join(BUILD, "examples", "measuring", "elapsed")
# what our own probes are on
TRACEPOINTS = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch", "sched:sched_wakeup",
               "block:block_bio_queue", "block:block_rq_issue", "block:block_rq_complete", "ext4:ext4_da_write_begin",
               "writeback:writeback_dirty_folio", "filemap:mm_filemap_add_to_page_cache", "lock:contention_begin",
               "lock:contention_end"]
BPFTRACE = """tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @begin[tid] = nsecs; @call[tid] = args->id; }
tracepoint:raw_syscalls:sys_exit /@begin[tid]/ { @ns[@call[tid]] = hist(nsecs - @begin[tid]); delete(@begin[tid]); }"""


def has(name):
    return shutil.which(name) is not None


def probed():
    """The tracepoints that the full mode has programs on."""
    lines = subprocess.run([os.path.join(BUILD, "src", "sci-kernel"), "probes"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    words = [line.split(None, 3) for line in lines]
    return sorted({word[2] for word in words if len(word) == 4 and word[1] == "tracepoint" and not word[3].startswith("-")})


def ways(work):
    """Each way: its name, how much less a slow one is given to do, and the words before the command."""
    trace = os.path.join(work, "trace")

    def ours(*options):
        # not --strict: iomix kills processes of its own, whose last calls have no end
        return [SCI_RECORD, "--force", *options, "-o", trace, "--"]
    yield "library calls", 1, ours("--no-kernel")
    if os.geteuid() == 0:
        yield "--light", 1, ours("--light")
        yield "both sides", 1, ours()
        if os.path.exists(EMPTY_PROBES):
            # what is below this no tracer can reach that has these probes
            yield "empty probes", 1, [EMPTY_PROBES, *probed(), "--"]
    if has("perf"):
        known = subprocess.run(["perf", "list", "tracepoint"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout.split()
        there = [event for event in TRACEPOINTS if event in known]
        if there:
            yield "perf record", 1, ["perf", "record", "-q", "-o", os.path.join(work, "perf.data"),
                                     *(word for event in there for word in ("-e", event)), "--"]
        yield "perf trace", 8, ["perf", "trace", "-o", os.path.join(work, "perf.trace"), "--"]
    if has("bpftrace"):
        yield "bpftrace", 1, ["bpftrace", "-q", "-o", os.path.join(work, "bpftrace"), "-e", BPFTRACE, "-c"]
    if has("strace"):
        yield "strace", 16, ["strace", "-f", "-o", os.path.join(work, "strace")]


def output(before, command):
    """What COMMAND prints, behind the words of a way."""
    command = [shutil.which(command[0]), *command[1:]]  # bpftrace wants to know which of several
    words = [*before, " ".join(command)] if before and before[-1] == "-c" else [*before, *command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode:
        raise OSError(f"{words[0]}: status {done.returncode}: {done.stdout.strip().splitlines()[-1:]}")
    if before[:1] == [SCI_RECORD] and (lost := re.search(r"[,:] [1-9]\d* lost\b", done.stdout)):
        raise OSError(lost.group())
    return done.stdout


def fio(work, *options, mebibytes):
    def rate(before, less):
        text = output(before, ["fio", "--name=w", f"--directory={work}", "--rw=write", "--bs=4k", "--ioengine=psync", "--thread",
                               "--group_reporting", "--output-format=json", "--unlink=1", f"--size={max(1, mebibytes // less)}m",
                               *options])
        return json.loads(text[text.index("{"):text.rindex("}") + 1])["jobs"][0]["write"]["bw_bytes"]
    return rate


def stress(work, kind):
    def rate(before, _less):
        text = output(before, ["stress-ng", "--temp-path", work, f"--{kind}", "1", "--timeout", "2", "--metrics-brief"])
        return float(re.search(rf"{kind}\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)", text).group(1))
    return rate


def tar(work):
    """Of small files in the cache: 1 / the CPU time of tar alone."""
    tree, out, times = (os.path.join(work, name) for name in ("tree", "out.tar", "times"))
    for folder in range(80):
        os.makedirs(os.path.join(tree, str(folder)))
        for file in range(100):
            with open(os.path.join(tree, str(folder), str(file)), "wb") as small:
                small.write(bytes(200 + 37 * file))

    def rate(before, _less):
        output(before, [ELAPSED, times, "tar", "-C", work, "-cf", out, "tree"])
        with open(times, encoding="ascii") as text:
            return 1 / sum(int(ns) for ns in text.read().split()[1:])
    return rate


def rows(work):
    """Each row: its name, what to reach with both sides and with --light, and what gives its rate."""
    if has("fio"):
        yield "fio 4 KiB buffered, 1 thread", 0.88, 0.95, fio(work, mebibytes=512)
        yield "fio 4 KiB buffered, 8 threads", 0.88, 0.95, fio(work, "--numjobs=8", mebibytes=128)
        yield "fio 4 KiB O_DIRECT, 1 thread", 0.98, 0.98, fio(work, "--direct=1", mebibytes=32)
        yield "fio 4 KiB O_DIRECT, 8 threads", 0.95, 0.98, fio(work, "--direct=1", "--numjobs=8", mebibytes=8)
        yield "fio 4 KiB O_DIRECT, 64 threads", 0.90, 0.96, fio(work, "--direct=1", "--numjobs=64", mebibytes=1)
    if has("stress-ng"):
        for kind, both in ("seek", 0.5), ("iomix", 0.9), ("copy-file", 0.9):
            yield f"stress-ng {kind}", both, 0.9, stress(work, kind)
    if has("tar"):
        yield "tar of 8000 cached files", 1 / 1.2, 1 / 1.08, tar(work)


def measured(rate, before, less):
    """The ratios of all rounds; a reason where it does not run here."""
    ratios = []
    for _ in range(ROUNDS):
        first = rate([], 1)
        try:
            under = rate(before, less)
        except (OSError, ValueError, AttributeError) as error:
            return str(error)
        ratios.append(2 * under / (first + rate([], 1)))
    return ratios


def main():
    with tempfile.TemporaryDirectory(prefix="bench.", dir=BUILD) as work:
        data = os.path.join(work, "data")
        os.mkdir(data)
        print(f"speed under a tracer, untraced = 1: median of {ROUNDS}, least and most")
        for name, both, light, rate in rows(data):
            if not name.startswith(ROWS_WANTED):
                continue
            print(f"\n{name}: both sides >= {both:.2f}, --light >= {light:.2f}", flush=True)
            for way, less, before in ways(work):
                if not way.startswith(WAYS_WANTED):
                    continue
                ratios = measured(rate, before, less)
                if isinstance(ratios, str):
                    print(f"  {way:16} does not run here: {ratios}", flush=True)
                else:
                    print(f"  {way:16} {statistics.median(ratios):6.3f}   {min(ratios):.3f} to {max(ratios):.3f}", flush=True)
        if not (has("fio") or has("stress-ng")):
            sys.exit("fio and stress-ng are absent: nothing to measure with")


main()
