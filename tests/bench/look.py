"""What people look at against what it costs: the page, its drawing, the exports, sci-top; ratios within one run."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# SCI_BENCH_EVENTS: of the large traces; SCI_BENCH_RUNS: pairs of runs, of which the median counts;
# SCI_BENCH_SECONDS: how long sci-top is looked at
SRC, BUILD = os.environ["SCI_SRC"], os.environ["SCI_BUILD"]
EVENTS = int(os.environ.get("SCI_BENCH_EVENTS", 10000000))
RUNS = int(os.environ.get("SCI_BENCH_RUNS", 5))
SECONDS = int(os.environ.get("SCI_BENCH_SECONDS", 30))
OPERATION_EVENTS = 8.125  # of what bench-generate makes, on average
ANALYZE, EXPORT, TOP = (os.path.join(BUILD, "src", name) for name in ("sci-analyze", "sci-export", "sci-top"))


def row(what, figure, target):
    print(f"{what:58} {figure:>36}   {target}", flush=True)


def measure(*command):
    """Seconds, MiB at most, seconds of CPU: what others do meanwhile changes those less."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(command)} fails")
    return time.monotonic() - begin, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def ratio(one, other):
    """Of the times of two commands that run in turn, as text with that of CPU time and the seconds of each, and of their
    memory: the median of pairs."""
    pairs = [(measure(*one), measure(*other)) for _ in range(RUNS)]
    times, memory, cpu = (statistics.median(b[i] / a[i] for a, b in pairs) for i in range(3))
    before, after = (statistics.median(pair[i][0] for pair in pairs) for i in range(2))
    return f"{times:.2f} (CPU {cpu:.2f}; {before:.2f} s, {after:.2f} s)", f"{memory:.2f}"


def generate(work, threads, events):
    trace = os.path.join(work, f"t{threads}.otf2")
    done = subprocess.run([os.path.join(BUILD, "tests/bench/bench-generate"), f"--events={events}", f"--threads={threads}",
                           "--attributes", f"--output={trace}"], check=True, text=True, stdout=subprocess.PIPE)
    return trace, int(done.stdout.split()[0])


def forget(trace):
    for name in trace, trace[:-5] + ".def":
        os.remove(name)
    shutil.rmtree(trace[:-5])


def pages(work):
    page = os.path.join(work, "page.html")
    for threads in 32, 1024:
        trace, events = generate(work, threads, EVENTS)
        more_time, more_memory = ratio([ANALYZE, trace], [ANALYZE, f"--html={page}", trace])
        what = f"--html against the default view, {events} events, {threads} threads"
        row(what + ", time", more_time, "<= 1.3")
        row(what + ", memory", more_memory, "<= 1.5")
        forget(trace)


def drawing(work):
    chromium, node = shutil.which("chromium"), shutil.which("node")
    tools = os.path.join(SRC, "build/web")
    trace, _ = generate(work, 64, int(1000000 * OPERATION_EVENTS))
    page = os.path.join(work, "page.html")
    measure(ANALYZE, f"--html={page}", trace)
    forget(trace)
    row("page of 1 M operations, 64 threads: file", f"{os.path.getsize(page) / (1 << 20):.2f} MiB", "<= 8 MiB")
    if not chromium or not node or not os.path.isdir(os.path.join(tools, "node_modules/playwright-core")):
        row("skipped: no chromium, Node.js or playwright-core", "", "")
        return
    # what the browser keeps goes with the folder
    done = subprocess.run([node, os.path.join(SRC, "tests/bench/look.mjs"), tools, chromium, page, str(RUNS)], check=True,
                          text=True, stdout=subprocess.PIPE, env=dict(os.environ, HOME=work, TMPDIR=work))
    drawn = json.loads(done.stdout)
    row("opened until drawn", f"{drawn['open_ms'] / 1000:.2f} s", "<= 3 s")
    row("a frame while zooming, 64 lanes x 1400 px, the median", f"{drawn['frame_ms']:.1f} ms", "<= 50 ms")
    row("the same, 95 of 100", f"{drawn['p95_ms']:.1f} ms", "")


def exports(work):
    trace, events = generate(work, 32, EVENTS // 5)
    chrome, perfetto = (os.path.join(work, name) for name in ("t.json", "t.pftrace"))
    times, _ = ratio([EXPORT, "-q", trace, "-o", chrome], [EXPORT, "-q", trace, "-o", perfetto])
    sizes = os.path.getsize(chrome), os.path.getsize(perfetto)
    row(".pftrace, bytes of an event", f"{sizes[1] / events:.1f}", "<= 25")
    row(".pftrace against Chrome json, bytes", f"{sizes[1] / sizes[0]:.2f}", "<= 0.3")
    row("the same, time", times, "<= 1")
    forget(trace)


def cpu_of_threads(pid):
    """Seconds of CPU: of the main thread, and of the others, which are the tracer's."""
    seconds = {True: 0, False: 0}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        seconds[int(task) == pid] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds[True], seconds[False]


def top(work):
    """100 threads that write 100 times a second each."""
    if os.geteuid() or not shutil.which("fio") or not os.path.exists(TOP):
        row("skipped: sci-top needs root, fio and ncursesw", "", "")
        return
    load = subprocess.Popen(["fio", "--name=load", f"--directory={work}", "--thread", "--numjobs=100", "--rw=randwrite",
                             "--bs=4k", "--size=1m", "--rate_iops=100", "--time_based", f"--runtime={SECONDS * 3 + 90}",
                             "--ioengine=psync", "--group_reporting", "--output=/dev/null"])
    try:
        for options in [], ["--full"]:
            shown = subprocess.Popen([TOP, "--batch", "-d", "1", *options], stdout=subprocess.DEVNULL)
            try:
                time.sleep(15)  # its window is full
                if load.poll() is not None or shown.poll() is not None:
                    sys.exit("fio or sci-top ended early")
                begin, before = time.monotonic(), cpu_of_threads(shown.pid)
                time.sleep(SECONDS)
                after, elapsed = cpu_of_threads(shown.pid), time.monotonic() - begin
            finally:
                shown.terminate()
                shown.wait()
            row(" ".join(["sci-top", *options]) + ", 100 threads, -d 1: CPU beside the tracer",
                f"{100 * (after[0] - before[0]) / elapsed:.1f} %", "<= 2 %")
            row("the tracer's", f"{100 * (after[1] - before[1]) / elapsed:.1f} %", "")
    finally:
        load.terminate()
        load.wait()


def main():
    parts = {"pages": pages, "drawing": drawing, "exports": exports, "top": top}
    with tempfile.TemporaryDirectory(prefix="bench.", dir=BUILD) as work:
        for name in os.environ.get("SCI_BENCH_PARTS", " ".join(parts)).split():
            parts[name](work)


main()
