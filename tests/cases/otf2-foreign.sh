#!/bin/sh
# Archives of EZTrace, Score-P and APEX, and one of a big-endian machine, are read as they are, event for event as otf2-print shows.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need otf2-print xz
dump=$SCI_BUILD/tests/programs/dump-trace

# unpack NAME
unpack()
{
	tar -C "$scratch" -xJf "$SCI_SRC/tests/data/$1.tar.xz"
}

# same_events ANCHOR: Enter and Leave with location and region, in the same order per location
same_events()
{
	otf2-print "$1" 2>/dev/null |
		sed -nE 's/^(ENTER|LEAVE) +([0-9]+) .*Region: "(.*)" <[0-9]+>.*/\2 \1 \3/p' |
		sort -s -n -k 1,1 >"$scratch/theirs"
	status 0 "$dump" "$1"
	[ ! -s "$scratch/err" ] || fail "reading $1 complains: $(cat "$scratch/err")"
	sed -nE 's/^([0-9]+) [0-9]+ (ENTER|LEAVE) (.*)/\1 \2 \3/p' "$scratch/out" |
		sed -E 's/ (size|offset|ret)=.*//' >"$scratch/ours"
	[ -s "$scratch/ours" ] || fail "$1: no event"
	cmp "$scratch/theirs" "$scratch/ours" || fail "$1: events differ from otf2-print's"
}

unpack eztrace-writers
same_events "$scratch/eztrace-writers/eztrace_log.otf2"
has "$scratch/out" '^region write level=user'
has "$scratch/out" '^region pread level=user'
has "$scratch/out" '^region Working level=\?'
has "$scratch/out" '^region EZTrace finalize level=\?'
has "$scratch/out" '^location 1 P#0T#1 kind=0 process=0 tid=0 '
has "$scratch/out" '^counts .* bad=0 out_of_order=0'
for kind in 'BEGIN f[0-2] .*mode=1 size=4096' 'BEGIN f[0-2] .*mode=0 size=4096' \
	'COMPLETE f[0-2] .*size=4096'; do
	n=$(grep -cE "^[1-3] [0-9]+ $kind" "$scratch/out")
	case $kind in
	BEGIN*) expected=300 ;;
	*) expected=600 ;;
	esac
	[ "$n" -eq "$expected" ] || fail "EZTrace: $n times $kind, not $expected"
done

# 2095197216 ticks per second become nanoseconds
unpack scorep-ping-pong
same_events "$scratch/scorep-ping-pong/traces.otf2"
has "$scratch/out" '^process MPI Rank 0 host=quartz10'
has "$scratch/out" '^0 3530678124805144 ENTER int main'
has "$scratch/out" '^region MPI_File_write level=user'
has "$scratch/out" '^region MPI_Send level=\?'
has "$scratch/out" '^counts records=120 '

unpack apex
same_events "$scratch/apex/APEX.otf2"
has "$scratch/out" '^counts records=16124 events=16124 bad=0'

# of a big-endian machine: files begin with 3 and #, those of others with 3 and B
unpack big-endian
[ "$(head -c 2 "$scratch/big-endian/trace/0.evt" | od -An -c | tr -d ' ')" = '003#' ] || fail "it is not big-endian"
same_events "$scratch/big-endian/trace.otf2"
has "$scratch/out" '^counts .* bad=0 out_of_order=0'
