#!/usr/bin/python3
# Small programs that go where tracers break: signals, cancellation, descriptors that are closed from
# under them, processes and threads of every making, streams of every kind, memory, limits, sandboxes.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
from harmless import Row  # noqa: E402


def may(*command):
    """Whether this can be done here."""
    return shutil.which(command[0]) and subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def parts(program, *names, **more):
    """A row for each part of a program, so that one that breaks does not hide the next."""
    return [Row(f"{program}-{name}", ["{programs}/harmless-" + program, name], **more) for name in names]


BESIDE = "LD_PRELOAD={programs}/harmless-beside.so${LD_PRELOAD:+:$LD_PRELOAD}"
BEHIND = "LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}{programs}/harmless-beside.so"
WORK = "dd if=/dev/zero of=data bs=1000 count=100 status=none; cksum data"
# what a program of a shell needs, in a folder of its own
# EZTrace itself leaves a descriptor and a child, has a handler of SIGUSR2 and sets errno before main
# begins (also with its own posixio): who looks at these sees it
OURS = ("preload", "both")
PYTHON = os.path.realpath("/usr/bin/python3")


def other_user(name, shell, command):
    """COMMAND as a user who may not write to the recording: sci-record hands files out, under EZTrace nothing
    is recorded once the program is another."""
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", shell, "-c", command]
    return [Row(name, words, whole=False, under=OURS, others=True),
            Row(name + "-eztrace", words, under=("eztrace",), recorded=False, others=True)]


CHROOT = """mkdir -p root/bin root/tmp; cp "$(command -v sh)" /bin/cat /usr/bin/cksum root/bin
ldd root/bin/* | grep -o '/[^ )]*' | grep '\\.so' | sort -u | while read -r lib; do
mkdir -p "root$(dirname "$lib")"; cp "$lib" "root$lib"; done"""

ROWS = [
    *parts("signals", "masks", under=OURS),
    *parts("signals", "readers", "writers", "streams", "openers", "locks", "waiting", "segv", "jump-out"),
    # calls of handlers that interrupt the tracer are counted only
    *parts("signals", "while-calling", "stopped", whole=False),
    # a handler that ends the program leaves no archive of EZTrace
    *parts("signals", "end-in-call", env={"SCI_ALL_FDS": "1"}, under=OURS),
    *parts("signals", "end-in-malloc", recorded=False),
    *parts("cancel", "pending", "blocked", "threads", "stacks", "anywhere", "opening"),
    *parts("cancel", "on-streams", env={"SCI_ALL_FDS": "1", "SCI_DETAIL": "chars"}),
    # as are those after the tracer's own memory of the thread is gone
    *parts("cancel", "destructors", whole=False),
    *parts("descriptors", "closes", "flags", "passed", "raced", under=OURS),
    *parts("descriptors", "exhausted", "limits-of-one", whole=False, under=OURS),
    *parts("processes", "threaded", "clones", "execs", "spawns", "daemons", "generations"),
    *parts("processes", "ends", whole=False),
    *parts("processes", "signals", under=OURS),
    *[Row(f"killed-by-{name}", [PYTHON, "-c", f"""
import os, resource, signal; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sig = signal.{name}
print(signal.getsignal(sig), [signal.Handlers(0) == signal.getsignal(n) for n in (10, 14, 24, 40)])
print(signal.signal(sig, lambda *_: print('handled')), end=' ')
signal.raise_signal(sig); signal.signal(sig, signal.SIG_DFL); print(signal.getsignal(sig))
child = os.fork()
if not child: signal.raise_signal(sig)
print(os.waitpid(child, 0)[1] & 127, flush=True); open('left', 'w').write('x')
if sig == 14: signal.alarm(1); signal.pause()
signal.raise_signal(sig)"""])
      for name in ("SIGALRM", "SIGUSR1", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR", "SIGTRAP",
                   "SIGSTKFLT", "SIGSYS", "SIGRTMIN", "SIGRTMAX", "SIGTERM", "SIGABRT", "SIGHUP")],
    *parts("streams", "cookies", "reopened", "wide", "locked", "standard"),
    *parts("streams", "in-memory", "buffers", "formats", "pipes", under=OURS),
    *parts("memory", "heap", "mapped-files"),
    *parts("memory", "holes", under=OURS),  # libotf2's buffers are where malloc puts them
    *parts("memory", "limits", whole=False),
    Row("memory-libraries", ["{programs}/harmless-memory", "libraries"],
        seconds=30, env={"HARMLESS_LIBRARY": os.path.join(harmless.PROGRAMS, "harmless-library.so")}),
    # other libraries of such kind
    Row("preloaded-before", f"HARMLESS_COUNT=count {BESIDE} dd if=/dev/zero of=x bs=7 count=9 status=none; "
        "cat count"),
    Row("preloaded-behind", f"HARMLESS_COUNT=count {BEHIND} dd if=/dev/zero of=x bs=7 count=9 status=none; "
        "cat count"),
    *[Row(f"other-clock-{name}", f"HARMLESS_CLOCK=clock {beside} date +%s >x; cat x; ls -l clock | cut -d' ' -f5",
          under=OURS) for name, beside in (("before", BESIDE), ("behind", BEHIND))],
    Row("audited", f"LD_AUDIT={{programs}}/harmless-beside.so sh -c '{WORK}'"),
    Row("bound-now", f"LD_BIND_NOW=1 sh -c '{WORK}'; /lib64/ld-linux-x86-64.so.2 /bin/cat data | cksum"),
    # what a program sees of itself
    Row("own-descriptors", "ls /proc/self/fd; ls -l /proc/self/fd | wc -l; bash -c 'ls /proc/$$/fd'", under=OURS),
    Row("closed-standard", "cat data; cat <&-; echo x >&-; dd if=/dev/zero of=y bs=5 count=2 2>&-; "
        "sh -c 'exec 2>&-; exec 2>err; exec sh -c \"ls absent; true\"'; cat err", stdin="text"),
    Row("cleared-environment", f"env -i sh -c 'PATH=/bin:/usr/bin; {WORK}; env | sort'",
        recorded=False),
    Row("setuid", ["su", "nobody", "-s", "/bin/sh", "-c", "id -un; echo here; cat /etc/hostname | wc -l"],
        whole=False, others=True),
    *other_user("other-user", "sh", WORK + "; id -u; chmod 600 data; mkdir d; touch d/x"),
    # folders, name spaces
    Row("moved-away", "mkdir d; cd d; echo x >y; rmdir ../d 2>&1; mv ../d ../e; echo z >w; cat y w; "
        "rm -r ../e; ls; pwd; echo q >v"),
    Row("umask", "umask 777; echo x >y; umask 027; mkdir d; echo x >d/z; ls -l d | tail -n 1 | cut -c1-10"),
    # what is recorded has no room, or no folder any more
    Row("spool-gone", f"rm -rf \"${{SCI_SPOOL_DIR:-none}}\"; {WORK}; (echo in; cat data | cksum); exec tail -c 1 data",
        under=("preload",), recorded=False),
    Row("spool-away", f"cat /dev/null; mv \"${{SCI_SPOOL_DIR:-none}}\" ../away.$$; rm -rf ../away.$$; {WORK}",
        normal=[("mv: cannot stat 'none'.*\n", "")], under=("preload",), recorded=False),
    # limits
    Row("ulimit-files", f"ulimit -n 10; {WORK}; exec 5<data; cat <&5 | cksum", whole=False),
    Row("ulimit-size", "ulimit -c 0; trap '' XFSZ; ulimit -f 20; dd if=/dev/zero of=big bs=1000 count=100; "
        "ls -l big | cut -d' ' -f5", normal=[(r", [\d.e-]+ s, .*", "")], recorded=False),
    # so small that no file of a spool fits
    Row("ulimit-size-signal", "ulimit -c 0; (ulimit -f 20; dd if=/dev/zero of=big bs=1000 count=100); echo $?",
        whole=False),
    Row("ulimit-size-0", "ulimit -c 0; (ulimit -f 0; cat /etc/hostname | wc -l; echo x >y); echo $?; "
        "ls -l y | cut -d' ' -f5", whole=False),
    Row("ulimit-data", f"ulimit -d 8000; {WORK}", whole=False),
    Row("ulimit-memory", f"ulimit -v 40000; {WORK}; tar --mtime=@0 -cf x.tar data; tar -tf x.tar", whole=False),
    Row("ulimit-stack", f"ulimit -s 128; {WORK}; tar --mtime=@0 -cf x.tar data; tar -tf x.tar", whole=False),
    Row("ulimit-locked", f"ulimit -l 0; {WORK}", whole=False),
    Row("ulimit-cpu", f"ulimit -t 100; {WORK}"),
    *other_user("ulimit-processes", "bash", f"ulimit -u 5000; {WORK}"),
]
if may("c++", "--version"):
    # built once, beside the folder that each run has anew
    source = os.path.join(os.environ["SCI_SRC"], "tests/programs/harmless-iostream.cc")
    ROWS += [Row("iostream", ["../iostream"],
                 prepare=f"[ -x ../iostream ] || c++ -std=c++17 -O1 -pthread -o ../iostream {source}")]
if os.geteuid() == 0 and may("chroot", "/", "/bin/true"):
    ROWS += [
        Row("chroot", "chroot root /bin/sh -c 'echo x >tmp/y; cat tmp/y; cksum tmp/y'", prepare=CHROOT,
            normal=[("ERROR: ld.so: object '[^']*' from LD_PRELOAD cannot be preloaded [^\n]*\n", "")],
            recorded=False),
        Row("chroot-inside", [PYTHON, "-c", "import os; open('a', 'w').write('b'); os.chroot('.'); "
                              "open('/c', 'w').write('d'); print(os.listdir('/'), open('/a').read())"],
            under=OURS),  # EZTrace opens its archive by name at the end
    ]
if os.geteuid() == 0 and may("unshare", "-m", "true"):
    ROWS += [
        Row("no-proc", ["unshare", "-m", "sh", "-c",
                        f"umount -l /proc; {WORK}; exec sh -c 'ls /proc; {WORK}'"]),
        Row("spool-full", ["unshare", "-m", "sh", "-c", "[ -z \"$SCI_SPOOL_DIR\" ] || "
                           f"mount -t tmpfs -o size=64k none \"$SCI_SPOOL_DIR\"; {WORK}; tar --mtime=@0 -cf x data; "
                           "dd if=data of=y bs=1 status=none; cmp data y"],
            under=("preload",), recorded=False),
        Row("no-dev-shm", ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /dev/shm; {WORK}; ls /dev/shm"]),
        Row("read-only", ["unshare", "-m", "sh", "-c",
                          "echo x >y; mount --bind . . && cd . && mount -o remount,ro,bind . && cd \"$PWD\"; "
                          "echo z >w; cat y; touch y"]),
        Row("pid-namespace", ["unshare", "-p", "-f", "--mount-proc", "sh", "-c", f"{WORK}; echo $$; ls /proc/1/fd"],
            under=OURS),
    ]
if may("unshare", "-U", "-r", "true"):
    ROWS += [Row("user-namespace", ["unshare", "-U", "-r", "-n", "sh", "-c", f"{WORK}; id -u"])]

if __name__ == "__main__":
    harmless.main(ROWS)
