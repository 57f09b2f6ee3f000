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
    """Share of a level in the time that all operations of the writing threads took."""
    busy = [x for x in t["threads"] if x["operations"] > 100]
    return sum(x["io_levels"][level] for x in busy) / sum(x["io_ns"] for x in busy)
sys.exit(not eval(sys.argv[2]))' "$scratch/$1.json" "$2"
}

# verdict NAME EXPRESSION COMMAND...: recorded up to five times: what else the machine does meanwhile is
# interference, too, and a verdict that names it is right
verdict()
{
	expect=$2
	name=$1
	shift 2
	for attempt in 1 2 3 4 5; do
		rm -rf "${scratch:?}/$name"
		record "$name" "$@"
		if holds "$name" 't["trace"]["lost_events"] == 0' && holds "$name" "$expect"; then
			return
		fi
		echo "$name, attempt $attempt: not true: $expect"
		sleep 1
	done
	cat "$scratch/$name.json" >&2
	fail "$name: not true: $expect"
}

verdict shared 't["verdict"]["level"] == "fs" and t["verdict"]["reason"] == "inode lock"' \
	"$examples/shared-file" -t 8 "$disk/shared"

# real-time: ahead of whatever else this machine runs meanwhile
realtime=
chrt -f 10 true 2>/dev/null && realtime='chrt -f 10'

# shellcheck disable=SC2086 # two words or none
verdict quiet 't["verdict"]["level"] == "none" and max(x["operations"] for x in t["threads"]) >= 25600' \
	$realtime "$examples/quiet" "$disk/quiet"

# shellcheck disable=SC2086
set -- $realtime fio --name=w --rw=write --bs=4k --size=4m --numjobs=4 --thread --ioengine=psync \
	--directory="$disk"
# how fast the device is against the CPUs is the machine's; that it takes the largest part is not
verdict direct 'time("block") == max(map(time, t["threads"][0]["io_levels"]))' "$@" --direct=1
rm -f "$disk"/*
verdict buffered 'time("block") < 0.02' "$@" --direct=0
