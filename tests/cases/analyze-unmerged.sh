#!/bin/sh
# A recording's own spools, analysed as they are, give what the archive merged from them gives.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need busybox fio sci-record
need_tracer
need_kernel
disk_scratch

# of a static program there is the kernel's side alone
# shellcheck disable=SC2016 # the inner shell has arguments of its own
status 0 sci-record -q --keep-spools -o "$disk/run" -- dash -c '/bin/busybox cat /etc/passwd; exec "$@"' dash \
	fio --name=meet --filename="$disk/data" --size=1m --bs=4k --rw=randwrite --ioengine=psync \
	--numjobs=4 --thread --loops=2 --fsync=64 --randseed=1
for option in --timeline=5 --sci=paper --reference=solo --by=callsite --culprits=0 --threads=1; do
	sci-analyze --json "$option" "$disk/run/unified.otf2" >"$scratch/merged"
	sci-analyze --json "$option" "$disk/run/user.spool" "$disk/run/kernel.spool" >"$scratch/apart"
	cmp "$scratch/merged" "$scratch/apart" || {
		diff "$scratch/merged" "$scratch/apart" | head -n 20 >&2
		fail "$option: the spools and the archive have different scores"
	}
done
has "$scratch/merged" '"has_levels": true'
has "$scratch/merged" '"name": "fio'
# what the merging said, the archive says
grep -q '"unmatched": [1-9]' "$scratch/merged" || fail "no thread is on one side only"
sci-merge "$disk/run/unified.otf2" -o "$disk/again.otf2" >/dev/null
sci-analyze --json --threads=1 "$disk/again.otf2" >"$scratch/again"
cmp "$scratch/merged" "$scratch/again" || fail "merged again it has another score"
status 0 sci-analyze --strict "$disk/run/unified.otf2"
