#!/usr/bin/python3
"""EZTrace's built-in posixio module and sci-kernel on the same run: its archive names no thread and
no clock, and the merge finds both from the calls."""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel  # noqa: E402

THREADS, CALLS, BYTES = 4, 100, 16384

if os.environ.get("SCI_SANITIZED"):
    kernel.skip("EZTrace is not preloaded into a sanitized program")
kernel.need("eztrace", "otf2-print")
kernel.need_bpf()
try:
    import otf2
    from otf2.events import Enter, IoSeek, Leave
except ImportError:
    kernel.skip("python3-otf2 is not installed")
libraries = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
for folder in {os.path.dirname(m) for m in re.findall(r"=> (\S*libeztrace-lib\.so\S*)", libraries)}:
    if os.path.exists(os.path.join(folder, "libeztrace-posixio.so")):
        break
else:
    kernel.skip("EZTrace's own posixio module is not installed")


def run_both(name, program, *words):
    """PROGRAM under EZTrace's module below sci-kernel, merged: what sci-merge said, the archive."""
    work = kernel.path(name)
    os.mkdir(work)
    environment = {k: v for k, v in os.environ.items() if k != "EZTRACE_LIBRARY_PATH"}
    spool = kernel.trace(name + ".kernel", "eztrace", "-t", "posixio", program, *words, cwd=work,
                         env=environment)
    kernel.nothing_lost(spool)
    builtin = os.path.join(work, os.path.basename(program) + "_trace", "eztrace_log.otf2")
    listed = subprocess.run(["otf2-print", "-G", builtin], capture_output=True, text=True).stdout
    assert "PID" not in listed and "TID" not in listed, "EZTrace's module now names threads"
    archive = os.path.join(work, "unified.otf2")
    merged = subprocess.run(["sci-merge", "--strict", builtin, kernel.path(name + ".kernel"),
                             "-o", archive], capture_output=True, text=True)
    assert merged.returncode == 0, (merged.stdout, merged.stderr)
    return merged.stdout + merged.stderr, archive


class Stream:
    """The calls of a thread as both sides tell them."""

    def __init__(self):
        self.stack = []
        self.outer = collections.Counter()  # calls of the program by name
        self.inside = collections.Counter()  # (call of the program, system call in it)
        self.asked, self.done = [], []  # offsets by EZTrace, by the kernel

    def add(self, event):
        if isinstance(event, Enter):
            name = event.region.name
            caller = next((n for n in reversed(self.stack) if ":" not in n and n != "Working"), None)
            if ":" not in name:
                self.outer[name] += 1
            elif name.startswith("vfs:sys_") and caller:
                self.inside[caller, name] += 1
            if name == "vfs:sys_pwrite64":
                attributes = {a.name: value for a, value in event.attributes.items()}
                self.done.append(attributes["offset"])
            self.stack.append(name)
        elif isinstance(event, Leave):
            assert self.stack.pop() == event.region.name
        elif isinstance(event, IoSeek) and self.stack[-1] == "pwrite":
            self.asked.append(event.offset_result)


def streams(archive):
    found = collections.defaultdict(Stream)
    with otf2.reader.open(archive) as trace:
        for location, event in trace.events:
            found[location.name].add(event)
    return found


# All threads make the same calls with the same bytes, and each at places of its own: the merge does
# not look at those, so they tell whether it took the right thread.
said, archive = run_both("same", os.path.join(os.environ["SCI_BUILD"], "examples/causes/shared-file"),
                         "-t", str(THREADS), "-s", str(BYTES), "-n", str(CALLS), kernel.path("shared"))
match = re.search(r"found from (\d+) calls, to \+-(\d+) ns", said)
assert match and int(match[1]) >= THREADS * CALLS and int(match[2]) < 100000, said
# the threads and the one that started them, which makes no call that could be matched
assert f" {THREADS + 1} of them matched" in said, said
threads = streams(archive)
assert not any(name.startswith("P#0") for name in threads), list(threads)
writers = {name: stream for name, stream in threads.items() if stream.outer["pwrite"]}
assert len(writers) == THREADS, list(writers)
for name, stream in writers.items():
    assert re.fullmatch(r"shared-file tid \d+", name), name
    assert stream.outer["pwrite"] == stream.inside["pwrite", "vfs:sys_pwrite64"] == CALLS, (name, stream.inside)
    assert stream.asked == stream.done and len(stream.asked) == CALLS, (name, stream.asked[:5], stream.done[:5])
assert len({stream.asked[0] for stream in writers.values()}) == THREADS
starter = [stream for stream in threads.values() if stream.outer["open"] or stream.outer["open64"]]
assert len(starter) == 1 and any(call == "vfs:sys_openat" for _, call in starter[0].inside), \
    [stream.inside for stream in starter]

# One thread, reads and writes of many sizes: dd.
subprocess.run(["dd", "if=/dev/zero", "of=" + kernel.path("from"), "bs=1000", "count=300"],
               check=True, stderr=subprocess.DEVNULL)
said, archive = run_both("one", "/bin/dd", "if=" + kernel.path("from"), "of=" + kernel.path("to"),
                         "bs=1000")
stream = [stream for name, stream in streams(archive).items() if stream.outer["write"]]
assert len(stream) == 1, said
for call in ("read", "write"):
    assert stream[0].inside[call, "vfs:sys_" + call] == stream[0].outer[call] >= 300, stream[0].inside
print("%d calls of %d threads found" % (THREADS * CALLS, THREADS))
