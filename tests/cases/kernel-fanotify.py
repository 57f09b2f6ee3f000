# The kernel asks a program (a virus scanner) before a file is opened: how long that takes is its doing, by name.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need_bpf, nothing_lost, path, regions, skip, trace

need_bpf()
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
OPENS, DELAY_MS = 20, 10

# answers 10 ms after it was asked, "yes" each time; ends when its input does
LISTENER = r"""
import ctypes, os, select, struct, sys, time
CLASS_CONTENT, CLOEXEC, ADD, FILESYSTEM, OPEN_PERM, ALLOW = 4, 1, 1, 0x100, 0x10000, 1
libc = ctypes.CDLL(None, use_errno=True)
group = libc.fanotify_init(CLASS_CONTENT | CLOEXEC, os.O_RDONLY)
if group < 0 or libc.fanotify_mark(group, ADD | FILESYSTEM, ctypes.c_uint64(OPEN_PERM), -100, sys.argv[1].encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
print("ready", flush=True)
while True:
    ready, _, _ = select.select([group, 0], [], [])
    if 0 in ready:
        break
    data = os.read(group, 4096)
    while data:
        length, _, _, _, _, fd, _ = struct.unpack_from("=IBBHQii", data)
        time.sleep(float(sys.argv[2]) / 1000)
        os.write(group, struct.pack("=iI", fd, ALLOW))
        os.close(fd)
        data = data[length:]
"""
OPENER = r"""
import os, sys
for i in range(int(sys.argv[2])):
    os.close(os.open(f"{sys.argv[1]}/{i}", os.O_RDONLY))
"""

device, folder = loop_fs("ext4", 32)
for i in range(OPENS):
    with open(os.path.join(folder, str(i)), "w") as file:
        file.write("x")
opens = ["/usr/bin/python3", "-c", OPENER, folder, str(OPENS)]
alone = trace("alone", *opens)
assert "vfs:fanotify listener" not in regions("alone"), regions("alone")
assert "FANOTIFY_LISTENER" not in alone.properties, alone.properties

listener = subprocess.Popen(["/usr/bin/python3", "-c", LISTENER, folder, str(DELAY_MS)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
atexit.register(listener.wait)
atexit.register(listener.stdin.close)
if listener.stdout.readline() != "ready\n":
    skip("fanotify: " + listener.stderr.read().strip())
for name, options in (("asked", ()), ("asked-light", ("--light",))):
    spool = trace(name, *opens, options=options)
    nothing_lost(spool)
    sums = regions(name)
    assert spool.properties["FANOTIFY_LISTENER"] == str(listener.pid), spool.properties
    assert sums["vfs:fanotify listener"] >= OPENS * DELAY_MS * 1000000, sums
    assert any(task.tid == listener.pid for task in spool.untraced), "it has a name"
    report = json.loads(subprocess.run([ANALYZE, "--json", path(name + "/kernel.spool")], capture_output=True, text=True,
                                       check=True).stdout)
    print(name, report["verdict"], [thread["blame"][:1] for thread in report["threads"]])
    assert (report["verdict"]["level"], report["verdict"]["reason"]) == ("vfs", "fanotify listener"), report["verdict"]
    thread = max(report["threads"], key=lambda thread: thread["interference_ns"])
    assert thread["blame"][0]["tid"] == listener.pid, thread["blame"]
    assert thread["blame"][0]["ns"] >= OPENS * DELAY_MS * 900000, thread["blame"]
