#!/bin/sh
# sci-export: each form says what the trace says and is opened by its consumer; misuse; full disk.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

cd "$scratch"
programs=$SCI_BUILD/tests/programs
mkdir run
"$programs/make-spool" run 3 100
# how much of the page cache was dirty: before the first event twice, then twice more
/usr/bin/python3 - run/kernel.spool/meta <<'END'
import struct, sys

HEADER, UNIT, PROPERTY = 4096, 32, 7
with open(sys.argv[1], "r+b") as meta:
    data = meta.read()
    at = HEADER
    while at < len(data) and data[at + 16]:
        at += struct.unpack_from("=H", data, at + 18)[0] * UNIT
    meta.seek(at)
    for text in b"DIRTY_1=100 0:40 of here", b"DIRTY_2=600 0:44 1:80 2:12 of here":
        units = (32 + len(text) + UNIT - 1) // UNIT
        meta.write(struct.pack("=QQBBHIII", 1, 1, PROPERTY, 0, units, 0, len(text), 0)
                   + text.ljust(units * UNIT - 32, b"\0"))
END
status 0 sci-merge -q run -o run/unified.otf2

# forms ARCHIVE: all four of it, compared with what it holds
forms()
{
	for suffix in json paje folded csv; do
		status 0 sci-export "$1" -o "x.$suffix"
		[ ! -s err ] || fail "$(cat err)"
	done
	status 0 /usr/bin/python3 "$SCI_SRC/tests/export.py" "$1" x.json x.paje x.folded x.csv \
		"$programs/dump-trace"
	cat out
}
forms run/unified.otf2
has x.folded '^here;app pid 1000;app tid [0-9]+;p?write.*;vfs:sys_pwrite64;?.* [0-9]+$'
has x.json '"path":"/'
head -n 1 x.csv >first-row
has first-row '^host,pid,tid,thread,level,region,depth,begin_ns,'

has x.json '"ph":"s".*"name":"waits"'
has x.json '"name":"dirty page cache","args":\{"bytes":12288\}'

# Perfetto's form: what protoc reads with the public format's numbers is what csv has
perfetto()
{
	status 0 sci-export "$1" -o x.pftrace
	status 0 sci-export "$1" -o p.csv
	if command -v protoc >/dev/null; then
		status 0 /usr/bin/python3 "$SCI_SRC/tests/perfetto.py" "$SCI_SRC/src/export/perfetto.proto" \
			x.pftrace p.csv
		cat out
	else
		echo "skipped: protoc is absent"
	fi
	# an older file of its own is replaced, another is not
	status 0 sci-export "$1" -o x.pftrace
	cp x.json other.pftrace
	status 1 sci-export "$1" -o other.pftrace
	one_line err
}
"$programs/random-trace" 1 5 r.otf2 scheduler
"$programs/write-random" tracks.otf2 4 700 1
status 0 sci-merge -q tracks.otf2 -o track.otf2
if grep -q '^#define HAVE_PROTOBUF_C 1' "$SCI_BUILD/config.h"; then
	for archive in run/unified.otf2 r.otf2 track.otf2; do
		perfetto $archive
	done
	# an event of it takes a third of the bytes
	[ $((3 * $(stat -c %s x.pftrace))) -lt "$(sci-export -f chrome track.otf2 | wc -c)" ] || fail "large"
else
	echo "skipped: built without protobuf-c"
	status 1 sci-export run -o x.pftrace
	one_line err
	has err 'install libprotobuf-c-dev'
fi

# random nestings, names and requests; one thread among them closed by the merge
for seed in 2 1; do
	"$programs/random-trace" $seed 5 r.otf2 scheduler
	for suffix in json paje folded csv; do
		status 0 sci-export r.otf2 -o "y.$suffix"
	done
	[ "$(grep -c '^6 ' y.paje)" -eq "$("$programs/dump-trace" r.otf2 | grep -c ' ENTER ')" ] ||
		fail "pushes are missing"
	/usr/bin/python3 -c 'import json; json.load(open("y.json"))'
done

# an async track lies beside its thread, not among its regions
status 0 sci-export track.otf2 -o y.json
/usr/bin/python3 - <<'END' || fail "regions of one track are not in the order of time"
import json

last = {}
for event in json.load(open("y.json"))["traceEvents"]:
    if event["ph"] in "BE":
        track = event["pid"], event["tid"]
        assert event["ts"] >= last.get(track, 0), event
        last[track] = event["ts"]
assert len(last) == 5, last
END

# Speedscope has nothing to say of it (what it is opened with: ./dev check installs it)
viewers=$SCI_SRC/build/viewers tools=$SCI_SRC/build/web
if [ -d "$viewers/node_modules/speedscope" ] && [ -d "$tools/node_modules/playwright-core" ] && command -v node >/dev/null && chromium=$(command -v chromium); then
	"$programs/random-trace" 3 5 z.otf2
	status 0 sci-export z.otf2 -o z.json
	status 0 sci-export r.otf2 -o r.json
	status 0 timeout 120 node "$SCI_SRC/tests/viewers/speedscope.mjs" "$viewers" "$tools" "$chromium" x.json r.json z.json
	cat out
else
	echo "skipped: Speedscope: build/viewers, build/web, node or chromium is absent"
fi

# spools, several inputs, a folder, standard output: the same
status 0 sci-export -f csv run/unified.otf2
cmp out x.csv || fail "standard output differs"
status 0 sci-export -f csv run
cmp out x.csv || fail "the folder differs"
status 0 sci-export -f csv run/user.spool run/kernel.spool
cmp out x.csv || fail "the spools differ"

# ViTE draws it without a complaint
if command -v vite >/dev/null 2>&1; then
	status 0 env QT_QPA_PLATFORM=offscreen timeout 60 vite -e x.svg x.paje
	cat out err >vite.log
	has vite.log '^0 errors and 0 warnings were found'
	[ "$(grep -c '<rect' x.svg)" -gt 100 ] || fail "vite drew nothing"
fi

# PajeNG reads every state and every change of a variable, flamegraph.pl draws every path
if command -v pj_dump >/dev/null 2>&1; then
	status 0 pj_dump x.paje
	[ ! -s err ] || fail "pj_dump complains: $(cat err)"
	[ "$(grep -c '^State,' out)" -eq "$(grep -c '^6 ' x.paje)" ] || fail "pj_dump misses states"
	has out '^State, app tid 1001, .*, vfs:sys_pwrite64$'
fi
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl # of Debian's libdevel-nytprof-perl
if [ -e $flamegraph ]; then
	status 0 perl $flamegraph --countname=ns --minwidth=0 x.folded
	[ ! -s err ] || fail "flamegraph.pl complains: $(cat err)"
	has out '<title>fs:inode lock \([0-9,]+ ns, '
fi

# misuse: two lines and status 2
for wrong in "run" "-f svg run" "-o x.txt run" "-f csv" ""; do
	# shellcheck disable=SC2086 # words
	status 2 sci-export $wrong
	[ "$(wc -l <err)" -eq 2 ] || fail "misuse is not two lines"
done
status 0 sci-export --help
has out 'EXAMPLES'

# what cannot be done: one line, status 1, nothing left, an older file as it was
mv x.csv old.csv
cp old.csv before.csv
status 1 sci-export nothing -o old.csv
one_line err
status 1 sci-export run -o nowhere/x.csv
one_line err
status 1 sci-export -f csv run -o run/unified.otf2
one_line err
has err 'run/unified.otf2: is an input'
status 1 sci-export -f csv run run/unified.otf2
one_line err
has err 'is given twice'
got=0
(
	ulimit -f 2
	exec sci-export run -o old.csv 2>err
) || got=$?
[ "$got" -eq 1 ] || fail "a full disk: status $got"
one_line err
has err 'old.csv: cannot write: File'
cmp old.csv before.csv || fail "the older file was touched"
[ -z "$(find . -name '*.csv.*')" ] || fail "half a file is left"
# what cannot be read is said once, and not to be what cannot be written
event_file="track/$(basename "$(find track -name '*.evt' | sort | head -n 1)")"
truncate -s 300 "$event_file"
status 1 sci-export track.otf2 -o z.csv
one_line err
has err 'evt: damaged behind event'
printf no >"$event_file"
status 1 sci-export track.otf2 -o z.csv
one_line err
has err 'track.otf2: .*cannot read'
if [ -e /dev/full ]; then
	status 1 sci-export -f csv run -o /dev/full
	has err '/dev/full: cannot write: No space'
fi

# killed while it writes: nothing of it is left
"$SCI_BUILD/tests/bench/bench-generate" -n 200000 -t 2 -p user -o long.otf2 >/dev/null
/usr/bin/python3 - <<'END' || fail "killed"
import os, subprocess, sys, time

def writes(pid):
    """Has it a file without a name here?"""
    fds = "/proc/%d/fd/" % pid
    try:
        links = [os.readlink(fds + fd) for fd in os.listdir(fds)]
    except OSError: # one was closed meanwhile
        return False
    return any(link.startswith(os.getcwd()) and link.endswith(" (deleted)") for link in links)

export = subprocess.Popen(["sci-export", "long.otf2", "-o", "killed.csv"])
while export.poll() is None and not writes(export.pid):
    time.sleep(0.001)
ended = export.poll() is not None
export.kill()
export.wait()
left = [f for f in os.listdir(".") if f.startswith("killed.csv")]
sys.exit("ended before" if ended else "left: %s" % left if left else 0)
END

# a thread killed inside of a call: written, warned of, and a failure with --strict
size=$(stat -c %s run/user.spool/user.1000.1001.10)
truncate -s $((size - 24)) run/user.spool/user.1000.1001.10
rm -rf run/unified*
status 0 sci-export -f csv run
has err 'not complete: 1 bad'
status 1 sci-export --strict -f csv run
