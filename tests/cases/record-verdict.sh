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

# check NAME EXPRESSION: of the json, as t
check()
{
	/usr/bin/python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))
def time(level):
    """Share of a level in the time that all operations of the writing threads took."""
    busy = [x for x in t["threads"] if x["operations"] > 100]
    return sum(x["io_levels"][level] for x in busy) / sum(x["io_ns"] for x in busy)
sys.exit(not eval(sys.argv[2]))' "$scratch/$1.json" "$2" || {
		cat "$scratch/$1.json" >&2
		fail "$1: not true: $2"
	}
}

# large writes: the lock is held long enough to be waited for, whatever else the machine does
record shared "$examples/shared-file" -t 8 -n 250 -s 1048576 "$disk/shared"
check shared 't["verdict"]["level"] == "fs" and t["verdict"]["reason"] == "inode lock"'
check shared 't["trace"]["lost_events"] == 0'

record quiet "$examples/quiet" "$disk/quiet"
# a machine that is busy with something else does keep it off the CPU, and that is all it may find
check quiet 't["verdict"]["level"] in ("none", "cpu")'
check quiet 't["threads"][0]["operations"] >= 25600'

for direct in 0 1; do
	record "direct$direct" fio --name=w --rw=write --bs=4k --size=4m --numjobs=4 --thread \
		--ioengine=psync --direct=$direct --directory="$disk"
done
# The device is the largest part only on a machine that has nothing else to do: how long the threads
# wait for a CPU is not in their hands. Buffered, they never wait for it at all.
check direct1 'time("block") > 0.1'
check direct0 'time("block") < 0.02'
