#!/bin/sh
# sci-merge: exact counts, the archive's soundness, misuse, damage.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

"$SCI_BUILD/tests/programs/make-spool" "$scratch" 3 100
user=$scratch/user.spool
kernel=$scratch/kernel.spool
cd "$scratch"

# Counts: 3 threads x 100 calls; a FILE record each; 4 events a call. Kernel: 300 operations and 30
# requests, 3 TASK, 4 FILE, 1 NAME record; see make-spool.c for the events.
status 0 sci-merge user.spool kernel.spool -o all.otf2
has out '^user.spool: 304 records, 1200 events, 0 bad, 0 lost$'
has out '^kernel.spool: 338 records, 2610 events, 0 bad, 0 lost$'
has out '^all.otf2: 3810 events, 3 threads, 3 of them matched, 0 bad, 0 lost, 0 orphan, 0 truncated, 0 overlapping regions, 0 out of order, 0 threads unmatched$'
status 0 sci-merge --strict -q kernel.spool user.spool --threads=1 -o again.otf2
[ ! -s out ] || fail "-q still prints"

# The order of the inputs and the number of threads change no event.
if command -v otf2-print >/dev/null 2>&1; then
	status 0 otf2-print -Werror all.otf2
	grep -E '^(ENTER|LEAVE)' out | sed 's/<[0-9]*>//' >one
	[ "$(wc -l <one)" -eq 3120 ] || fail "$(wc -l <one) ENTER and LEAVE"
	status 0 otf2-print -Werror again.otf2
	grep -E '^(ENTER|LEAVE)' out | sed 's/<[0-9]*>//' | cmp - one || fail "events differ"
fi

# Twice into one name, whatever it is called.
for name in again old; do
	status 0 sci-merge -q user.spool -o $name.otf2
	status 0 sci-merge -q user.spool kernel.spool -o $name.otf2
	cmp all.def $name.def || fail "$name.otf2 was not replaced"
done
[ -z "$(find . -name '.*.unfinished.*')" ] || fail "a hidden folder is left"

# Misuse: two lines and status 2.
status 2 sci-merge user.spool kernel.spool
has err '-o ARCHIVE'
status 2 sci-merge -o x.otf2
status 2 sci-merge user.spool -o x.otf2 --threads=0
status 2 sci-merge --no-such-option
[ "$(wc -l <err)" -eq 2 ] || fail "misuse is not two lines"
status 0 sci-merge --help
has out 'EXAMPLES'

# What cannot be done: one line and status 1, and nothing is left behind.
status 1 sci-merge user.spool ./user.spool -o x.otf2
one_line err
has err 'is given twice'
status 1 sci-merge all.otf2 user.spool -o all.otf2
one_line err
has err 'is an input'
status 1 sci-merge no.spool -o x.otf2
one_line err
has err 'no.spool: cannot open: No such file'
status 1 sci-merge user.spool -o nowhere/x.otf2
one_line err
status 1 sci-merge user.spool -o x.txt
one_line err
mkdir nothing
status 1 sci-merge nothing -o x.otf2
one_line err
[ ! -e x.otf2 ] || fail "x.otf2 was written"

# Cut in the middle of a record: its good part, counted; --strict refuses.
cut=$user/user.1000.1001.10
size=$(stat -c %s "$cut")
truncate -s $((size - 24)) "$cut"
status 0 sci-merge user.spool kernel.spool -o x.otf2
has err "warning: .*truncated record at byte $((size - 64)):"
has out '^user.spool: 303 records, 1196 events, 1 bad, 0 lost$'
rm -r x.otf2 x.def x
status 1 sci-merge --strict user.spool kernel.spool -o x.otf2
has err '--strict'

# Killed inside of a call: the call is closed and counted.
printf '\0\0\0\0\0\0\0\0' | dd of="$user/user.1000.1002.10" bs=1 seek=$((size - 64 + 8)) conv=notrunc 2>/dev/null
rm "$cut"
status 0 sci-merge user.spool kernel.spool -o x.otf2
# That another thread made no library call is no loss, as its process is known.
has out '^x.otf2: .*, 3 threads, 3 of them matched, .* 1 truncated, .* 0 threads unmatched$'

# A cut kernel file is found when it is opened.
size=$(stat -c %s "$kernel/cpu.1")
truncate -s $((size - 8)) "$kernel/cpu.1"
status 0 sci-merge user.spool kernel.spool -o x.otf2
has err 'cpu.1: truncated record'
has out '^kernel.spool: .* 1 bad'

# Of machines: a folder of each; numbers are not mixed up, and nothing of another machine can match.
mkdir nodes
for node in a b; do
	mkdir nodes/$node
	"$SCI_BUILD/tests/programs/make-spool" nodes/$node 3 100
done
# A copy has the same threads at the same time: it would count twice.
for command in "sci-merge nodes -o twice.otf2" "sci-merge nodes/a/user.spool nodes/b/user.spool -o twice.otf2" \
	"sci-merge nodes/a/kernel.spool nodes/b/kernel.spool -o twice.otf2" "sci-analyze nodes" \
	"sci-merge all.otf2 nodes/a/user.spool -o twice.otf2" "sci-merge nodes/b/kernel.spool all.otf2 -o twice.otf2"; do
	# shellcheck disable=SC2086
	status 1 $command
	one_line err
	has err "[a-z./]* and [a-z./]*: both have recorded app tid 100[0-2] at the same time"
	[ ! -e twice.otf2 ] || fail "$command: an archive was written"
done
for file in nodes/b/*.spool/*; do
	/usr/bin/python3 -c '
import sys
with open(sys.argv[1], "r+b") as file:
    head = file.read(4096)
    file.seek(head.index(b"here\0"))
    file.write(b"ther\0")' "$file"
done
status 0 sci-merge nodes -o job.otf2
has out '^job.otf2: 7620 events, 6 threads, 6 of them matched, .* 0 threads unmatched$'
status 0 sci-analyze nodes --by=node --csv --fields=node,processes,threads,operations
[ "$(tr -d '\r' <out | sort | tr '\n' ' ')" = "here,1,3,300 node,processes,threads,operations ther,1,3,300 " ] ||
	fail "nodes: $(cat out)"
status 0 sci-merge -q nodes/a -o here.otf2
status 0 sci-merge -q nodes/b -o ther.otf2
status 0 sci-merge here.otf2 ther.otf2 -o job.otf2
has out '^job.otf2: 7620 events, 6 threads, 0 of them matched, .* 0 threads unmatched$'
# A machine that left nothing is reported, and counts as missing.
mkdir nodes/c
status 1 sci-merge --strict nodes -o job.otf2
has err 'warning: nodes/c: holds no recording'
has out '^job.otf2: .*, 1 machine or rank missing$'
status 1 sci-analyze --strict nodes --by=node
has out '^data: .*, 1 machine or rank missing'
