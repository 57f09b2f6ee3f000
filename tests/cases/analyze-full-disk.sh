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
# the published score needs no temporary file
TMPDIR=$scratch/small status 0 sci-analyze --sci=paper "$trace"
