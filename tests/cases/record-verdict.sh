#!/bin/sh
# Injected causes, recorded and scored: the verdict names them.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need fio
need_tracer
need_kernel
disk_scratch
examples=$SCI_BUILD/examples/causes

# record NAME COMMAND...: leaves $scratch/NAME.json
record()
{
	name=$1
	shift
	status 0 sci-record -q -o "$scratch/$name" -- "$@"
	sci-analyze "$scratch/$name/unified.otf2" --json >"$scratch/$name.json"
}

# holds NAME EXPRESSION: of the json, as t
holds()
{
	/usr/bin/python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))
def time(level):
    """Share of a level in the time that all operations of the writing threads took; fio has others."""
    busy = [x for x in t["threads"] if x["operations"] > 1000]
    return sum(x["io_levels"][level] for x in busy) / sum(x["io_ns"] for x in busy)
def part(path):
    """Share of the writes at a position that took this path through the kernel."""
    writes = [x for x in t["classes"] if x["function"].startswith("pwrite")]
    return sum(x["count"] for x in writes if x["path"] == path) / sum(x["count"] for x in writes)
def largest():
    reasons = {}
    for x in t["threads"]:
        for reason, ns in x["reasons"].items():
            if reason not in ("run queue", "wakeup latency", "service time"):
                reasons[reason] = reasons.get(reason, 0) + ns
    return max(reasons, key=reasons.get)
sys.exit(not eval(sys.argv[2]))' "$scratch/$1.json" "$2"
}

# verdict NAME EXPRESSION COMMAND...: recorded, nothing lost, and true
verdict()
{
	expect=$2
	name=$1
	shift 2
	record "$name" "$@"
	for e in 't["trace"]["lost_events"] == 0' "$expect"; do
		holds "$name" "$e" && continue
		/usr/bin/python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))
print(t["verdict"], *((x["name"], x["operations"], x["io_ns"], x["io_levels"], x["reasons"])
                      for x in t["threads"] if x["operations"] > 1000), sep="\n")' "$scratch/$name.json" >&2
		fail "$name: not true: $e"
	done
}

# the largest of what was lost, but for what a loaded machine has anyway: waits for a CPU, a slow device
verdict shared 'largest() == "inode lock"' "$examples/shared-file" -t 8 "$disk/shared"
# which writes 1 MiB at a time: the advice has the file, and no larger blocks
holds shared '(t["verdict"]["level"], t["verdict"]["reason"]) != ("fs", "inode lock") or (
	"/shared" in t["verdict"]["advice"] and "larger" not in t["verdict"]["advice"])' ||
	fail "shared: not the advice for it"

# real-time: ahead of whatever else this machine runs meanwhile. What chrt reads before it has set that is its own, so
# the verdict on the thread that writes is asked for
realtime=
chrt -f 20 true 2>/dev/null && realtime='chrt -f 20'

# and in memory, which has no journal that others may be waiting for
quiet=$(mktemp -d /dev/shm/sci-test.XXXXXX 2>/dev/null) || quiet=$disk
undo="$undo; rm -rf '$quiet'"
# shellcheck disable=SC2086 # two words or none
verdict quiet '[x["verdict"]["level"] for x in t["threads"] if x["operations"] >= 25600] == ["none"]' \
	$realtime "$examples/quiet" "$quiet/quiet"

# shellcheck disable=SC2086
set -- $realtime fio --name=w --rw=write --numjobs=4 --thread --ioengine=psync --directory="$disk"
# how fast the device is against the CPUs is the machine's, and so is how long a thread waits for a CPU; that the
# device takes the largest part of the rest is not
verdict direct '(part("direct") == 1 and
	time("block") == max(time(level) for level in t["threads"][0]["io_levels"] if level != "cpu"))' \
	"$@" --bs=32k --size=32m --direct=1
# the same files: a few writes may have to read again what says where their blocks are, if the cache
# was dropped meanwhile; all others need no request
verdict buffered 'part("cached") > 0.9' "$@" --bs=4k --size=4m --direct=0
