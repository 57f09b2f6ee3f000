#!/bin/sh
# Real programs give the same output under the spool tracer, and fio's writes are all counted.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

[ -z "${SCI_SANITIZED:-}" ] || skip "a sanitized program cannot preload the tracer"
tracer=$SCI_PLUGIN_DIR/libsci-posixio.so
spool=$scratch/spool
mkdir "$spool" "$scratch/in"

# traced COMMAND...: its output to $scratch/traced, in a fresh spool
traced()
{
	rm -rf "$spool"
	mkdir "$spool"
	LD_PRELOAD=$tracer SCI_SPOOL_DIR=$spool "$@" >"$scratch/traced" 2>&1 ||
		fail "$* fails under the tracer: $(cat "$scratch/traced")"
}

# count FUNCTION PATH-PART: operations in the spool ('': any); also checks that none is lost
count()
{
	/usr/bin/python3 - "$SCI_SRC/tests" "$spool" "$1" "$2" <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
import spool
s = spool.Spool(sys.argv[2])
assert s.lost == 0, [h for h in s.headers.values() if h.lost]
print(sum(sys.argv[3] in ('', op.name) and sys.argv[4] in op.path for op in s.ops))
EOF
}

# same COMMAND...: the same output and status with and without the tracer
same()
{
	(cd "$scratch/in" && "$@") >"$scratch/plain" 2>&1 || fail "$* fails by itself"
	cd "$scratch/in"
	traced "$@"
	cd - >/dev/null
	cmp "$scratch/plain" "$scratch/traced" || fail "$*: output differs under the tracer"
}

head -c 1000000 /dev/urandom >"$scratch/in/random"
same /usr/bin/python3 -c 'print(sum(open("random", "rb").read()))'
same tar -cf - random
# shellcheck disable=SC2016
same sh -c 'exec 3<random; cat <&3 | cksum; echo $((6 * 7)) >made; cat made'
same /usr/bin/python3 -c 'import subprocess; print(subprocess.check_output(["cksum", "random"]))'

same dd if=random of=copy bs=1000 count=999 status=none
n=$(count write /copy)
[ "$n" -eq 999 ] || fail "dd wrote 999 blocks, $n traced"
n=$(count read /random)
[ "$n" -eq 999 ] || fail "dd read 999 blocks, $n traced"

if command -v sqlite3 >/dev/null 2>&1; then
	same sqlite3 db 'DROP TABLE IF EXISTS t; CREATE TABLE t(a); INSERT INTO t VALUES (42);
		SELECT * FROM t;'
	n=$(count pwrite64 /db)
	[ "$n" -gt 3 ] || fail "sqlite3: only $n pwrite64 traced"
fi

cd "$scratch/in"

# a thread killed inside its work leaves what it did, and the call it was in
# shellcheck disable=SC2016
traced sh -c 'dd if=/dev/zero of=killed bs=1 count=100000000 status=none &
	while [ "$(stat -c %s killed 2>/dev/null || echo 0)" -lt 5000 ]; do sleep 0.01; done; kill -9 $!; wait; :'
n=$(count write killed)
[ "$n" -gt 1000 ] || fail "kill -9: only $n writes kept"

# so do one that dies of a signal and one that goes on as another program
signals='f = open("died%d" % n, "wb", 0); f.write(b"123"); os.kill(os.getpid(), n)'
for n in 6 11 15; do
	# shellcheck disable=SC2016
	traced sh -c '/usr/bin/python3 -c "$1" || :' sh "import os; n = $n; $signals"
	[ "$(count write "died$n")" -eq 1 ] || fail "signal $n: the write before it is missing"
done
# shellcheck disable=SC2016
traced sh -c 'echo x >before; exec dd if=/dev/zero of=after bs=7 count=2 status=none'
[ "$(count write /before)" -eq 1 ] || fail "exec: what was before is missing"
[ "$(count write /after)" -eq 2 ] || fail "exec: what came after is missing"

if command -v fio >/dev/null 2>&1; then
	traced fio --name=w --rw=write --bs=4k --size=4m --numjobs=4 --thread --group_reporting \
		--ioengine=psync --directory="$scratch/in"
	for job in 0 1 2 3; do
		n=$(count pwrite64 "/w.$job.0")
		[ "$n" -eq 1024 ] || fail "fio job $job wrote 1024 blocks, $n traced"
	done
	# every call of the spool is in the archive that becomes of it
	status 0 sci-merge "$spool" -o "$scratch/fio.otf2"
	n=$(count '' '')
	entered=$(otf2-print -Werror "$scratch/fio.otf2" | grep -c '^ENTER ')
	[ "$n" -eq "$entered" ] || fail "$n calls in the spool, $entered in the archive"
fi
