#!/bin/sh
# Programs that use the real libaio and liburing: their transfers are in no call, which is said by
# sci-record and in EZTrace's archive; where the kernel is traced each is an operation.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
need cc otf2-print
disk_scratch
cd "$disk"
count=20
tried=0

# calls ARCHIVE NAME: how many
calls()
{
	otf2-print "$1" | grep -c "^ENTER.*\"$2\"" || true
}

# try NAME FLAGS LIBRARY SUBMIT
try()
{
	name=$1
	# shellcheck disable=SC2086
	cc -D_GNU_SOURCE $2 -o "$name" "$SCI_SRC/tests/programs/queued.c" "-l$3" 2>cc.err || {
		grep -Eq 'lib(aio|uring)\.h: No such file' cc.err || fail "$(cat cc.err)"
		echo "$name: not tried: $(grep -m 1 error cc.err)"
		return 0
	}
	got=0
	"./$name" data "$count" || got=$?
	[ "$got" -ne 77 ] || {
		echo "$name: not tried: this kernel refuses it"
		return 0
	}
	tried=1
	status 0 sci-record -q --no-kernel -o "$name.user" -- "./$name" data "$count"
	one_line "$scratch/err"
	has "$scratch/err" "^sci-record: warning: $name was used \\([0-9]+ library calls\\): its transfers are not in the trace"
	[ "$(calls "$name.user/unified.otf2" "$4")" -eq $((2 * count)) ] ||
		fail "$name: not every $4"
	# a program that is linked with it and makes no call is not warned of
	status 2 sci-record -q --no-kernel -o "$name.none" -- "./$name"
	! grep warning "$scratch/err" || fail "$name is not used, and warned of"
	if [ -e "$SCI_BUILD/plugins/libeztrace-posixio.so" ] && command -v eztrace >/dev/null; then
		EZTRACE_LIBRARY_PATH=$SCI_BUILD/plugins eztrace -t posixio "./$name" data "$count" \
			>/dev/null 2>&1
		property=$(echo "$name" | tr '[:lower:]' '[:upper:]')
		otf2-print -A "${name}_trace/eztrace_log.otf2" |
			grep -q "SCI::PROCESS_[0-9]*::ASYNCHRONOUS_$property\$" ||
			fail "EZTrace's archive does not name $name"
		[ "$(calls "${name}_trace/eztrace_log.otf2" "$4")" -eq $((2 * count)) ] ||
			fail "EZTrace: $name: not every $4"
	fi
}

try libaio "" aio io_submit
try io_uring -DWITH_URING uring io_uring_submit
[ "$tried" -eq 1 ] || skip "neither libaio nor io_uring can be used here"

need_kernel
for name in libaio io_uring; do
	[ -e "$name.user" ] || continue
	status 0 sci-record -q -o "$name.both" -- "./$name" data "$count"
	! grep "warning: $name" "$scratch/err" || fail "$name: its transfers are there, and it is warned of"
	case $name in
	libaio) operation=aio ;;
	*) operation=$name ;;
	esac
	for kind in read write; do
		n=$(calls "$name.both/unified.otf2" "vfs:${operation}_$kind")
		[ "$n" -eq "$count" ] || fail "$name: $n of $count ${kind}s"
	done
	otf2-print -Werror "$name.both/unified.otf2" >/dev/null 2>"$scratch/err" ||
		fail "$name: otf2-print: $(head -n 1 "$scratch/err")"
	sci-analyze --json "$name.both/unified.otf2" >analysis.json
	has analysis.json "track 1"
done
