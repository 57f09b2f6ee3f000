# Programs in pid namespaces of their own: the tracer inside counts as they do, the kernel's does not;
# each thread is one all the same, and equal numbers of two namespaces are two threads.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import SCI_KERNEL, need, need_bpf, path, skip

try:
    import otf2
except ImportError:
    skip("python3-otf2 is not installed")

BUILD = os.environ["SCI_BUILD"]
if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
need("unshare", "hostname")
need_bpf()
INSIDE = ["unshare", "-pf", "--mount-proc", "--uts"]
if os.getuid() != 0 or subprocess.run([*INSIDE, "true"], capture_output=True).returncode:
    skip("pid namespaces cannot be made here")
shared = os.path.join(BUILD, "examples", "causes", "shared-file")


def run(*command, status=0):
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == status, (command, result.stdout, result.stderr)
    return result.stdout + result.stderr


def command(name):
    return os.path.join(BUILD, "src", name)


def properties(trace, location):
    """Of it and of its process."""
    return {p.name: p.value for p in trace.definitions.location_group_properties
            if p.location_group == location.group} | {
                p.name: p.value for p in trace.definitions.location_properties if p.location == location}


class Thread:
    def __init__(self, trace, location):
        self.properties = properties(trace, location)
        self.name, self.host = location.name, location.group.system_tree_parent.name
        self.pid, self.tid = self.properties["PID"], self.properties["TID"]
        self.calls = collections.Counter()


def threads(archive):
    """What wrote to a file, by how many writes in the library and in the kernel there were."""
    found = {}
    with otf2.reader.open(archive) as trace:
        for location, event in trace.events:
            if isinstance(event, otf2.events.Enter) and event.region.name in ("write", "pwrite", "pwrite64",
                                                                              "vfs:sys_write", "vfs:sys_pwrite64"):
                if location.name not in found:
                    found[location.name] = Thread(trace, location)
                found[location.name].calls["vfs" if ":" in event.region.name else "user"] += 1
    return list(found.values())


# two containers at a time and a third one after them, which gets the first one's numbers again
CONTAINER = """hostname c$1; for part in 1 2; do
dd if=/dev/zero of="$0.$1.$part" bs=4096 count=$2$part status=none; done"""
PROGRAM = f"""container() {{ {' '.join(INSIDE)} sh -c '{CONTAINER}' "$0" $1 $2; }}
container 1 1 & container 2 2 & wait; container 3 3; {' '.join(INSIDE)} {shared} -t 4 -s 4096 -n 40 "$0.s" """
COUNTS = [11, 12, 21, 22, 31, 32]
said = run(command("sci-record"), "--keep-spools", "-o", path("both"), "--", "sh", "-c", PROGRAM, path("file"))
assert "still run" not in said, said  # process 1 of a container is not our process 1
unified = threads(os.path.join(path("both"), "unified.otf2"))
dds = [t for t in unified if t.name.startswith("dd ")]
assert sorted(t.calls["user"] for t in dds) == COUNTS, [(t.name, t.calls) for t in dds]
for t in dds:
    # one location has both sides, under the number of the outside; the one inside stands beside it
    assert t.calls["user"] == t.calls["vfs"], (t.name, t.calls)
    assert t.pid == t.tid > 100 and 1 < t.properties["NS_TID"] == t.properties["NS_PID"] < 10, t.properties
    assert t.host == os.uname().nodename, t.host
assert len({t.pid for t in dds}) == 6 and len({t.properties["NS_PID"] for t in dds}) < 6, dds
writers = [t for t in unified if t.name.startswith("shared-file ") and t.calls["user"] >= 40]
assert len(writers) == 4 and len({t.pid for t in writers}) == 1, [(t.name, t.calls) for t in unified]
assert all(t.calls["vfs"] == t.calls["user"] and t.properties["NS_PID"] == 1 for t in writers), writers
assert sorted(t.properties["NS_TID"] for t in writers) == [2, 3, 4, 5], writers

# the inside alone, of the same run: numbers are those inside, and two of them are two threads
user = os.path.join(path("both"), "user.spool")
run(command("sci-merge"), user, "-o", path("user.otf2"))
inner = collections.Counter()
with otf2.reader.open(path("user.otf2")) as trace:
    for location in trace.definitions.locations:
        if location.name.startswith("dd "):
            inner[location.group.system_tree_parent.name] += 1
            assert properties(trace, location)["PID"] == properties(trace, location)["NS_PID"] < 10
assert len(inner) >= 1 and sum(inner.values()) == 6, inner

# our plugin for EZTrace inside, the kernel tracer outside
if shutil.which("eztrace") and os.path.exists(os.path.join(BUILD, "plugins", "libeztrace-posixio.so")):
    os.environ["EZTRACE_LIBRARY_PATH"] = os.path.join(BUILD, "plugins")
    os.mkdir(path("ez"))
    os.chdir(path("ez"))
    run(SCI_KERNEL, "-q", "-o", path("ez/kernel"), "--", *INSIDE, "sh", "-c",
        "hostname c4; eztrace -t posixio dd if=/dev/zero of=data bs=4096 count=17 status=none")
    said = run(command("sci-merge"), "dd_trace/eztrace_log.otf2", "kernel/kernel.spool", "-o",
               "unified.otf2")
    assert "wall clock" not in said, said  # the container's clock is that of its machine
    dd, = [t for t in threads("unified.otf2") if t.calls["user"]]
    assert dd.calls["user"] == 17 and dd.calls["vfs"] >= 17, dd.calls
    assert dd.pid > 100 and dd.properties["NS_PID"] < 20 and dd.host == os.uname().nodename, dd.properties
