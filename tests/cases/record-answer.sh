#!/bin/sh
# sci-record ends with the first screen of the analysis and where the recording is; counts only where asked for.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
need cc
cd "$scratch"

program='import os
f = os.open("data", os.O_CREAT | os.O_RDWR)
for i in range(50):
    os.pwrite(f, b"x" * 100, i * 100)'
status 0 sci-record --no-kernel -o run -- /usr/bin/python3 -c "$program"
cp err said
# word for word what sci-analyze says before its table; then one line
sci-analyze run/unified.otf2 | sed '/^$/,$d' >answer
grep -v '^level\|^in I/O\|^lost\|^interference\|^long paths' answer >first
[ "$(wc -l <first)" -ge 3 ] || fail "no answer: $(cat first)"
sed '$d' said | cmp -s first - || fail "not the answer: $(diff first said)"
tail -n 1 said | grep -qx 'sci-record: recorded in run; more: sci-analyze run/unified.otf2' ||
	fail "the last line: $(tail -n 1 said)"

# -v: the counts, before; -q: nothing
status 0 sci-record -v --no-kernel -o counted -- /usr/bin/python3 -c "$program"
has err 'counted/unified.otf2: [0-9]* events, .* 0 bad, 0 lost'
has err '^SCI '
status 0 sci-record -q --no-kernel -o quiet -- /usr/bin/python3 -c "$program"
[ ! -s err ] || fail "-q says $(cat err)"

# two runs are taken as one, as they were given, and the way to compare them is named; a run and its copy are refused
status 0 sci-analyze run quiet
has err '^sci-analyze: run/unified.otf2 and quiet/unified.otf2 are .* no process in common: .*--compare'
one_line err
cp -r run copy
status 1 sci-analyze run copy
has err 'run/unified.otf2 and copy/unified.otf2: both have recorded python3 tid [0-9]* at the same time'
one_line err

# a program without I/O has an answer, too
status 0 sci-record --no-kernel -o none -- true
has err '^sci-record: recorded in none;'

# an analysis that the kernel ends: the recording is there, its status the program's, and the command is said
cat >ends.c <<'EOF'
#include <signal.h>
#include <stdio.h>
/* in sci-record only the answer is made with it */
FILE *open_memstream(char **text, size_t *size)
{
	(void)text;
	(void)size;
	raise(SIGKILL);
	return NULL;
}
EOF
cc -shared -fPIC -o ends.so ends.c
status 3 env LD_PRELOAD="$scratch/ends.so" \
	sci-record --no-kernel -o ended -- sh -c 'echo text >data; exit 3'
has err '^sci-record: warning: not analysed: the analysis was ended by signal 9'
tail -n 1 err | grep -qx 'sci-record: recorded in ended; more: sci-analyze ended/unified.otf2' ||
	fail "the last line: $(tail -n 1 err)"
status 0 sci-analyze ended/unified.otf2

# one that fails, for want of memory
sed '/raise/d' ends.c >fails.c
cc -shared -fPIC -o fails.so fails.c
status 0 env LD_PRELOAD="$scratch/fails.so" \
	sci-record --no-kernel -o failed -- sh -c 'echo text >data'
has err '^sci-record: warning: not analysed'
tail -n 1 err | grep -q '^sci-record: recorded in failed;' || fail "the last line: $(tail -n 1 err)"
