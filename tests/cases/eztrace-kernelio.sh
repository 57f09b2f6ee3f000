# eztrace -t "posixio kernelio": both sides of one run, merged by thread and time.
# shellcheck shell=sh
. "${SCI_SRC:?}/tests/lib.sh"

need_tracer
need eztrace otf2-print
[ -e "$SCI_BUILD/plugins/libeztrace-kernelio.so" ] || skip "built without EZTrace"
need_kernel
disk_scratch

EZTRACE_LIBRARY_PATH=$SCI_BUILD/plugins
SCI_KERNEL=$SCI_BUILD/src/sci-kernel
export EZTRACE_LIBRARY_PATH SCI_KERNEL
cd "$disk"
for run in first again; do # the second replaces what the first has left
	status 0 eztrace -t "posixio kernelio" dd if=/dev/zero "of=$disk/data" bs=4k count=100
	! grep -q 'missing\|not traced' "$scratch/err" || fail "$run: $(cat "$scratch/err")"
	[ ! -e dd_trace/kernel.spool/control ] || fail "$run: the collector is still at work"
done
status 0 sci-merge dd_trace/eztrace_log.otf2 dd_trace/kernel.spool -o "$disk/unified.otf2"
otf2-print unified.otf2 >events
# the program's writes, in the library and in the kernel, by the same thread
writes=$(grep -c '^ENTER .*"write"' events) || :
calls=$(grep -c '^ENTER .*"vfs:sys_write"' events) || :
[ "$writes" -ge 100 ] || fail "$writes writes of the library"
[ "$calls" -ge 100 ] || fail "$calls writes in the kernel"
locations=$(grep -E '^ENTER .*"(write|vfs:sys_write)"' events | awk '{ print $2 }' | sort -u | wc -l)
[ "$locations" -eq 1 ] || fail "the two sides are $locations threads"
! grep -q 'sci-kernel' events || fail "the collector is in the trace"
status 0 sci-analyze unified.otf2 --top
has "$scratch/out" 'vfs'

# without rights the program runs on, and one line says what is missing
rm -rf dd_trace
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	status 0 setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all \
		eztrace -t "posixio kernelio" dd if=/dev/zero "of=$disk/data" bs=4k count=10
	has "$scratch/err" 'eztrace-kernelio: .*levels are missing'
	otf2-print dd_trace/eztrace_log.otf2 >events
	has events '^ENTER .*"write"'
fi
