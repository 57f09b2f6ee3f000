#!/bin/sh
# sci-merge at its limits: a thousand threads, few descriptors, interrupted; clocks, maps, folders.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

generate=$SCI_BUILD/tests/bench/bench-generate
cd "$scratch"

# 1024 threads with 256 descriptors and a stack of inputs; under sanitizers, where all takes four times as long, a quarter.
n=1024
[ -z "${SCI_SANITIZED:-}" ] || n=256
"$generate" -n $((n * 200)) -t $n -p user -o user.otf2 >/dev/null
"$generate" -n $((n * 200)) -t $n -p kernel -o kernel.otf2 >/dev/null
status 0 sh -c "ulimit -n $((n / 4)); exec sci-merge --strict user.otf2 kernel.otf2 -o all.otf2"
has out "^all.otf2: .* $n threads, $n of them matched, .* 0 lost, 0 orphan, 0 truncated, 0 overlapping regions, 0 out of order, 0 threads unmatched$"
events=$(sed -n 's/^all.otf2: \([0-9]*\) events.*/\1/p' out)
[ "$events" -ge $((n * 200)) ] || fail "$events events, not $((n * 200))"

# Broken off at any time: no archive, no hidden folder, an older archive as it was; ended by the signal.
/usr/bin/python3 - <<'END' || fail "interrupted"
import os, signal, subprocess, sys, time

before = open("all.otf2", "rb").read(), open("all.def", "rb").read()
broken = finished = 0
for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    for delay, threads in ((0.005, 3), (0.02, 1), (0.05, 3), (0.1, 1)):
        merge = subprocess.Popen(["sci-merge", "user.otf2", "kernel.otf2", "-o", "new.otf2",
                                  "--threads=%d" % threads],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(delay)
        merge.send_signal(sig)
        text = merge.communicate()[1].decode()
        left = [f for f in os.listdir(".") if f.startswith(".new") or f.startswith("new")]
        if merge.returncode == 0:
            finished += 1
            for f in ("new.otf2", "new.def"):
                os.remove(f)
            subprocess.run(["rm", "-rf", "new"])
            continue
        broken += 1
        if merge.returncode != -sig or left or text.count("\n") > 1:
            sys.exit("%s after %g s: status %d, left %s, %s" % (sig, delay, merge.returncode, left, text))
if not broken:
    sys.exit("nothing was interrupted")


def hidden():
    """The hidden folders that something is in."""
    found = []
    for folder in (f for f in os.listdir(".") if f.startswith(".all.unfinished.")):
        try:
            found += [folder] if os.listdir(folder) else []
        except FileNotFoundError:
            pass # its merge has ended just now
    return found


def writing():
    """A merge into all.otf2 that writes."""
    others = len(hidden())
    merge = subprocess.Popen(["sci-merge", "user.otf2", "kernel.otf2", "-o", "all.otf2", "--threads=1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while merge.poll() is None and len(hidden()) <= others:
        time.sleep(0.001)
    return merge


def untouched():
    return (open("all.otf2", "rb").read(), open("all.def", "rb").read()) == before


def caught(sig, status):
    """A merge that got SIG while it wrote; STATUS: what it ends with, None: it does not."""
    global before
    for _ in range(100):
        others = hidden()
        merge = writing()
        merge.send_signal(sig)
        if status is None:
            while merge.poll() is None and open("/proc/%d/stat" % merge.pid).read().split()[2] != "T":
                time.sleep(0.001)
            text = ""
        else:
            text = merge.communicate()[1].decode()
        if merge.returncode == status and (sig == signal.SIGINT or len(hidden()) == len(others) + 1):
            return merge, text
        if merge.poll() is None: # just at its end
            merge.send_signal(signal.SIGCONT)
            merge.communicate()
        before = open("all.otf2", "rb").read(), open("all.def", "rb").read() # it was too late
    sys.exit("no merge got signal %d while it wrote" % sig)


_, text = caught(signal.SIGINT, -signal.SIGINT)
if "interrupted: all.otf2 is not written" not in text:
    sys.exit("SIGINT while it writes: %s" % text)
if hidden():
    sys.exit("a hidden folder is left")
if not untouched():
    sys.exit("the older archive was touched")

# killed: the next one clears up; but the folder of one that only stands still is its own
stopped, _ = caught(signal.SIGSTOP, None)
killed, _ = caught(signal.SIGKILL, -signal.SIGKILL)
if len(hidden()) != 2 or not untouched():
    sys.exit("killed: left are %s" % hidden())
text = subprocess.run(["sci-merge", "-q", "user.otf2", "kernel.otf2", "-o", "all.otf2"], check=True,
                      stderr=subprocess.PIPE).stderr.decode()
if len(hidden()) != 1 or text.count(": removed ") != 1:
    sys.exit("after a kill: left are %s, %s" % (hidden(), text))
stopped.send_signal(signal.SIGCONT)
stopped.communicate()
if stopped.returncode != 0 or hidden():
    sys.exit("the one that stood still: status %d, left are %s" % (stopped.returncode, hidden()))
END

# A merge that was killed when it moved its archive into place: the next one goes on with that.
mkdir .all.unfinished.AbCdEf
cp all.otf2 older.otf2
mv all.def all.otf2 .all.unfinished.AbCdEf
got=0
(
	ulimit -f $((n / 64)) # blocks of 512 bytes: and then fails itself
	exec sci-merge user.otf2 kernel.otf2 -o all.otf2 2>err
) || got=$?
[ "$got" -eq 1 ] || fail "a limit on the size of files: status $got"
has err 'all.otf2: put in its place the archive of a merge that was killed'
has err 'all.otf2: cannot write .*: File (is )?too large'
cmp all.otf2 older.otf2 || fail "the archive that was half in its place is another"
[ -z "$(find . -name '.all*')" ] || fail "a hidden folder is left"
status 0 sci-merge --strict -q all.otf2 -o checked.otf2

# On a terminal a line moves, and is gone at the end.
/usr/bin/python3 - <<'END' || fail "the line on a terminal"
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
merge = subprocess.Popen(["sci-merge", "user.otf2", "kernel.otf2", "-o", "t.otf2"], stderr=theirs,
                         stdout=subprocess.DEVNULL)
os.close(theirs)
text = b""
while True:
    try:
        more = os.read(ours, 4096)
    except OSError:
        break
    if not more:
        break
    text += more
if merge.wait() != 0 or b" M events" not in text or not text.endswith(b"\r\x1b[K"):
    sys.exit(repr(text))
END

# A folder stands for the traces in it; the analysis prefers what was merged of them.
mkdir run
"$SCI_BUILD/tests/programs/make-spool" run 2 50
status 0 sci-merge run -o run/unified.otf2
has out '^run/user.spool: '
has out '^run/kernel.spool: '
status 0 sci-merge run/ -o elsewhere.otf2
has out '^run//?user.spool: '
status 0 sci-analyze --json run
cp out folder.json
status 0 sci-analyze --json run/unified.otf2
cmp out folder.json || fail "the analysis of the folder is another"
rm -r run/*.spool
status 0 sci-merge run -o elsewhere.otf2
has out '^run/unified.otf2: '

# Clocks and threads as the user says, and what can be wrong with that.
"$SCI_BUILD/tests/programs/make-spool" . 2 50
status 0 sci-merge --clock=1:-500 --clock=2:0 user.spool kernel.spool -o shifted.otf2
status 0 sci-merge user.spool kernel.spool -o plain.otf2
first()
{
	"$SCI_BUILD/tests/programs/dump-trace" "$1" | awk '/ ENTER (p?write|p?read)/ { print $2; exit }'
}
[ $(($(first plain.otf2) - $(first shifted.otf2))) -eq 500 ] || fail "not shifted by 500 ns"
printf '# pairs\n1000 2000 501100 501900\n1000000 1002000 1500500 1501900\n' >pairs
status 0 sci-merge --clock=1:pairs user.spool kernel.spool -o shifted.otf2
has err 'pairs: 2 pairs, 0 bad: \+-[0-9]+ ns'
for wrong in 1 :5 0:5 1: 3:5 -1:5 1:nothing 1:user.spool; do
	status 1 sci-merge --clock=$wrong user.spool kernel.spool -o x.otf2
	one_line err
done
echo '1 2 3' >pairs
status 1 sci-merge --clock=1:pairs user.spool kernel.spool -o x.otf2
has err 'pairs: line 1: not a pair'
echo '1 2 3 9' >pairs
status 1 sci-merge --clock=1:pairs user.spool kernel.spool -o x.otf2
has err 'pairs: 0 pairs agree, 1 do not'
echo 'nobody 7 8' >map
status 1 sci-merge --tid-map=map user.spool kernel.spool -o x.otf2
one_line err
has err 'no input has a thread "nobody" without an id'
for line in 'P#0T#1 7' 'P 7 x' '7 8' 'P 0 8'; do
	echo "$line" >map
	status 1 sci-merge --tid-map=map user.spool kernel.spool -o x.otf2
	has err 'map: line 1: not LOCATION PID TID'
done
[ ! -e x.otf2 ] || fail "x.otf2 was written"

# EZTrace's own archive, whose threads have no ids: the map names them.
need xz
xz -dc "$SCI_SRC/tests/data/eztrace-writers.tar.xz" | tar x
archive=$(find . -name eztrace_log.otf2)
printf '# the writers\nP#0T#1 77 78\n  \nP#0T#2\t77\t79' >map
status 0 sci-merge --tid-map=map "$archive" user.spool -o named.otf2
"$SCI_BUILD/tests/programs/dump-trace" named.otf2 | grep '^location' >locations
has locations 'P#0T#1 .* tid=78 '
has locations 'P#0T#2 .* tid=79 '
