#!/bin/sh
# A recording's own spools, analysed as they are, give what the archive merged from them gives.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need fio sci-record
need_tracer
need_kernel
disk_scratch

status 0 sci-record -q --keep-spools -o "$disk/run" -- \
	fio --name=meet --filename="$disk/data" --size=1m --bs=4k --rw=randwrite --ioengine=psync \
	--numjobs=4 --thread --loops=2 --fsync=64 --randseed=1
# score NAME TRACE...: "unmatched" is of the merging, which the archive has behind it
score()
{
	name=$1
	shift
	sci-analyze --json "$@" >"$scratch/all"
	grep -v '"unmatched":' "$scratch/all" >"$scratch/$name"
}

for option in --bins=5 --sci=paper --reference=solo --by=callsite --culprits=0 --threads=1; do
	score merged "$option" "$disk/run/unified.otf2"
	score apart "$option" "$disk/run/user.spool" "$disk/run/kernel.spool"
	cmp "$scratch/merged" "$scratch/apart" || {
		diff "$scratch/merged" "$scratch/apart" | head -n 20 >&2
		fail "$option: the spools and the archive have different scores"
	}
done
has "$scratch/merged" '"has_levels": true'
has "$scratch/merged" '"name": "fio'
