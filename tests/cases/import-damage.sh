#!/bin/sh
# Damaged logs: one line that names file, line and what is wrong; --lenient keeps the good part. Logs
# out of order and of any length: nothing lost, memory bounded. Misuse says what to do.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need xz awk prlimit
logs=$SCI_SRC/tests/data/logs
tar -C "$scratch" -xJf "$SCI_SRC/tests/data/recorded-logs.tar.xz"
recorded=$scratch/logs
bad=$scratch/bad.log

# damaged LINE PATTERN: bad.log has something wrong at LINE, reported as PATTERN; leniently it is counted
damaged()
{
	status 1 sci-import "$bad" -o "$scratch/bad.otf2"
	one_line "$scratch/err"
	has "$scratch/err" "bad.log:$1: $2.*--lenient"
	[ ! -e "$scratch/bad.otf2" ] || fail "an archive of a log that is refused"
	status 0 sci-import --lenient "$bad" -o "$scratch/bad.otf2"
	has "$scratch/out" '^.*bad.log: .* 1 bad, '
	status 1 sci-import --lenient --strict -q "$bad" -o "$scratch/bad.otf2"
	has "$scratch/err" 'not complete'
	rm -rf "$scratch/bad" "$scratch/bad.otf2" "$scratch/bad.def"
}

# cut LOG LINE: the first LINE lines of LOG, the last one in half
cut_at()
{
	head -n "$2" "$1" | awk -v n="$2" 'NR < n { print } NR == n { print substr($0, 1, length($0) / 2) }' >"$bad"
}

cut_at "$recorded/strace/dd-ns.txt" 100
damaged 100 'no "= RETURNED"|the arguments do not end'
cut_at "$recorded/blktrace/vda.txt" 12
damaged 12 'fewer fields'
cut_at "$recorded/b-com/sample.log" 4
damaged 4 'not the seven fields'
cut_at "$logs/iotracer-12.log" 20
damaged 20 'fewer than ten fields'
cut_at "$logs/iotracer-bpftrace.csv" 20
damaged 20 'not the fields'
cut_at "$logs/dxt.txt" 22
damaged 22 'fewer than 8 fields'
cut_at "$logs/paje.trace" 68
damaged 68 '.* fields, its %EventDef has'
sed '7s/sector 0/sector x/' "$recorded/qemu/qemu-trace-log.txt" >"$bad"
damaged 7 'virtio_blk_handle_read without'
sed 's/"return_timestamp":1700000000000005000/"return_timestamp":12/' "$logs/dio.json" >"$bad"
damaged 1 'openat: returned before it was called'
head -c 2000 "$logs/dio.json" >"$bad"
damaged '[0-9]*' 'event .*(end of file|expected|premature)'
head -c 5000 "$recorded/blktrace/vda.blktrace.0" >"$bad"
damaged '[0-9]*' 'truncated record at byte'
{
	head -c 4800 "$recorded/blktrace/vda.blktrace.0"
	echo "this is no record of blktrace, and nothing behind it can be read either"
} >"$bad"
damaged '[0-9]*' '(no|truncated) record at byte'
{
	head -n 3 "$recorded/b-com/sample.log"
	head -c 2000000 /dev/zero | tr '\0' x
	echo
	tail -n 3 "$recorded/b-com/sample.log"
} >"$bad"
damaged 4 'a line of more than'

# what is no log, and what the user got wrong
printf 'hello\nworld\n' >"$bad"
status 1 sci-import "$bad" -o "$scratch/bad.otf2"
one_line "$scratch/err"
has "$scratch/err" 'unknown format.*sci-import'
status 1 sci-import --format=strace "$bad" -o "$scratch/bad.otf2"
has "$scratch/err" 'bad.log:1: no time before the call .*-ttt'
: >"$bad"
status 1 sci-import "$bad" -o "$scratch/bad.otf2"
has "$scratch/err" 'is empty'
status 1 sci-import "$scratch/nowhere" -o "$scratch/bad.otf2"
has "$scratch/err" 'nowhere: cannot open: No such file'
status 1 sci-import "$logs/paje.trace" "$logs/paje.trace" -o "$scratch/bad.otf2"
has "$scratch/err" 'given twice'
status 2 sci-import --format=strase "$logs/paje.trace" -o "$scratch/bad.otf2"
has "$scratch/err" '--format=strase: no such format.*--list-formats'
status 2 sci-import "$logs/paje.trace"
status 2 sci-import -o "$scratch/bad.otf2"
status 0 sci-import --list-formats
has "$scratch/out" '^strace +output of strace'
# every format is in the man page's table
while read -r name _; do
	grep -q "^\.It Cm $name\$" "$SCI_SRC/doc/man/sci-import.1" || fail "sci-import(1) lacks $name"
done <"$scratch/out"

# 4 threads, each in turn; then blocks of 5000 lines, the last one first: the same archive
awk 'BEGIN {
	for (i = 0; i < 60000; i++) {
		t = 1000000000 + i * 1000
		printf "%d\tV\tW\t%d\t4096\t1\tE\t500\t%d\tfio\t77\t1\n", t, i * 4096, 1000 + i % 4
		printf "%d\tV\tW\t0\t0\t1\tL\t500\t%d\tfio\t0\t0\n", t + 500, 1000 + i % 4
	}
}' >"$scratch/ordered.log"
awk '{ line[NR] = $0 } END {
	for (block = NR - 5000; block >= 0; block -= 5000)
		for (i = 1; i <= 5000; i++)
			print line[block + i]
}' "$scratch/ordered.log" >"$scratch/reversed.log"
for name in ordered reversed; do
	status 0 sci-import --strict "$scratch/$name.log" -o "$scratch/$name.otf2"
	has "$scratch/out" "^.*/$name.log: 120000 records, 120000 events, 0 bad, 0 lost\$"
	status 0 "$SCI_BUILD/tests/programs/dump-trace" "$scratch/$name.otf2"
	# the order in which threads are met is another
	grep -E '^[0-9]+ [0-9]+ (ENTER|LEAVE)' "$scratch/out" | cut -d ' ' -f 2- | sort -n -s -k 1,1 \
		>"$scratch/$name.events"
done
cmp "$scratch/ordered.events" "$scratch/reversed.events" || fail "order in the log changes the archive"

# calls that never ended: killed in one, going on at the end, and of two that are no I/O
cat >"$bad" <<'END'
7 1700000000.000000 openat(AT_FDCWD, "/tmp/x", O_RDWR) = 3 <0.000010>
7 1700000000.001000 write(3, "abc", 3 <unfinished ...>
8 1700000000.002000 read(3,  <unfinished ...>
9 1700000000.003000 futex(0x1, FUTEX_WAIT, 1, NULL <unfinished ...>
7 1700000000.500000 +++ killed by SIGKILL +++
10 1700000000.600000 wait4(-1,  <unfinished ...>
11 1700000000.700000 pread64(0</tmp/y>,  <detached ...>
9 1700000001.000000 --- SIGTERM {si_signo=SIGTERM} ---
END
status 0 sci-import "$bad" -o "$scratch/bad.otf2"
has "$scratch/out" 'bad.otf2: .* 3 truncated'
status 1 sci-import --strict "$bad" -o "$scratch/bad.otf2"
status 0 "$SCI_BUILD/tests/programs/dump-trace" "$scratch/bad.otf2"
# dump-trace: number, ns, kind, region, ...: until when each lasts
awk '$3 == "LEAVE" { printf "%.0f %s\n", ($2 - 1700000000000000000) / 1000000, $4 }' "$scratch/out" | sort -n \
	>"$scratch/lasts"
printf '0 vfs:sys_openat\n500 vfs:sys_write\n1000 vfs:sys_pread64\n1000 vfs:sys_read\n' |
	sort -n | cmp - "$scratch/lasts" || fail "how long unfinished calls last: $(cat "$scratch/lasts")"

# ten times the log, the same memory: the limit is that of a tenth of its events
(
	[ -z "${SCI_SANITIZED:-}" ] || exit 0 # address space is what they use most
	for pass in 1 2 3 4 5; do
		awk -v later="$((pass * 100000000))" 'BEGIN { FS = OFS = "\t" } { $1 += later; print }' \
			OFMT=%d CONVFMT=%d "$scratch/ordered.log"
	done >"$scratch/long.log"
	status 0 prlimit --as=200000000 sci-import "$scratch/long.log" -o "$scratch/long.otf2"
	has "$scratch/out" '600000 records, 600000 events'
	# nowhere to put the events
	TMPDIR=$scratch/no-folder
	export TMPDIR
	status 1 sci-import "$scratch/long.log" -o "$scratch/long.otf2"
	one_line "$scratch/err"
	has "$scratch/err" 'temporary file in .*/no-folder: No such file.*TMPDIR'
) || exit 1
