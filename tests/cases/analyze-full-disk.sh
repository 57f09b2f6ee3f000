#!/bin/sh
# sci-analyze without room for its temporary file: one clear line and status 1, nothing half.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
mkdir "$scratch/small"
mount -t tmpfs -o size=64k tmpfs "$scratch/small" 2>/dev/null || skip "mounting is not allowed here"
undo="umount '$scratch/small'"

trace=$scratch/t.otf2
"$SCI_BUILD/tests/programs/random-trace" 1 100 "$trace"
TMPDIR=$scratch/small status 1 sci-analyze "$trace"
one_line "$scratch/err"
has "$scratch/err" 'small: cannot write a temporary file: No space left'
[ ! -s "$scratch/out" ] || fail "half a report"
# a reader that goes: of a named pipe one line and status 1, of standard output nothing, as of any filter
mkfifo "$scratch/pipe"
: <"$scratch/pipe" &
status 1 sci-export -q -f csv "$trace" -o "$scratch/pipe"
one_line "$scratch/err"
has "$scratch/err" 'pipe: cannot write: Broken pipe'
[ -p "$scratch/pipe" ] || fail "the pipe is gone"
sci-export -q -f csv "$trace" 2>"$scratch/err" | head -n 1 >"$scratch/out"
[ -s "$scratch/out" ] || fail "nothing on standard output"
[ ! -s "$scratch/err" ] || fail "standard output without a reader: $(cat "$scratch/err")"
# the published score needs no temporary file
TMPDIR=$scratch/small status 0 sci-analyze --sci=paper "$trace"
