#!/bin/sh
# sci-record of fio with a known number of writes: every write at both levels, one inside the other.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need fio
need_tracer
need_kernel
disk_scratch

jobs=4
# job SIZE OPTION...
job()
{
	size=$1
	shift
	set -- --name=w --rw=write --bs=4k --size="$size" --numjobs=$jobs --thread --group_reporting \
		--ioengine=psync --directory="$disk" "$@"
	status 0 sci-record -v -o "$scratch/$size" -- fio "$@"
}

# buffered: 2560 writes a job
job 10m
has "$scratch/err" ' 0 lost$'
has "$scratch/err" 'unified.otf2: .* 0 bad, 0 lost, 0 orphan, 0 truncated, 0 overlapping regions, 0 out of order'
otf2-print -Werror "$scratch/10m/unified.otf2" >"$scratch/text" || fail "otf2-print -Werror"
otf2-print -G "$scratch/10m/unified.otf2" >"$scratch/text"
has "$scratch/text" '^CLOCK_PROPERTIES .* Date: 20[0-9][0-9]-'

# O_DIRECT, on new files (dirty pages of old ones would be written too): each write is a bio of its own, and its bytes are those written
rm -f "$disk"/*
job 2m --direct=1
has "$scratch/err" "written by the threads $((jobs * 2 * 1024 * 1024)),"

/usr/bin/python3 - "$SCI_SRC/tests" "$scratch" "$jobs" <<'END'
import re
import sys
sys.path.insert(0, sys.argv[1])
import unified

def writers(archive, writes):
    read = unified.read(archive)
    found = 0
    for name, thread in read["threads"].items():
        if not thread["calls"]["pwrite64"]:
            continue
        found += 1
        assert thread["calls"]["pwrite64"] == writes, (name, thread["calls"])
        assert thread["inside"]["pwrite64>vfs:sys_pwrite64"] == writes, (name, thread["inside"])
        assert thread["bytes"]["pwrite64"] == writes * 4096, (name, thread["bytes"])
        assert not thread["calls"]["vfs:sys_pwrite64"], "a system call outside its library call"
    assert found == int(sys.argv[3]), f"{found} writing threads"
    return read

writers(sys.argv[2] + "/10m/unified.otf2", 2560)
direct = writers(sys.argv[2] + "/2m/unified.otf2", 512)
# completions that the kernel did not report are counted
said = open(sys.argv[2] + "/err").read()
unreported = sum(int(a or b) for a, b in
             re.findall(r"bios \((\d+) open\)|(\d+) bios without an end", said))
assert unreported < direct["block"]["begun"] / 2, said
assert direct["block"]["begun"] == direct["block"]["completed"] + unreported, (direct["block"], said)
END
