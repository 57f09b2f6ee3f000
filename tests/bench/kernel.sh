#!/bin/sh
# Cost of the kernel tracer: fio's throughput traced against untraced, in pairs; what it adds to the
# calls of a process that is not traced; how many events it keeps up with.
# Anchors: a record per probe 0.68 (1 thread) and 0.50 (8), one per operation 0.83 to 0.89.
set -eu
: "${SCI_BUILD:?run ./dev bench kernel}"
pairs=${SCI_BENCH_PAIRS:-7}
kernel=$SCI_BUILD/src/sci-kernel
idle=$SCI_BUILD/tests/bench/bench-kernel-idle
empty=$SCI_BUILD/tests/bench/bench-empty-probes
quiet=$SCI_BUILD/examples/causes/quiet
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
tracer=
trap 'rm -rf "$dir"' EXIT
trap '[ -z "$tracer" ] || kill "$tracer"; exit 1' HUP INT TERM

"$kernel" -q -o "$dir/probe" -- true || exit 1

# rate FILE: write bandwidth in KiB/s of the fio run that FILE's terse output describes
rate()
{
	awk -F ';' '$1 == 3 { print $48 }' "$1"
}

# column N: worst, median and best of the N-th number of each line
column()
{
	awk -v n="$1" '{ print $n }' | sort -n |
		awk '{ v[NR] = $1 } END { print v[1], v[int((NR + 1) / 2)], v[NR] }'
}

# ---- what is traced ----

# row NAME TARGET OPTION...: one fio job untraced, traced in each way, untraced
row()
{
	name=$1 target=$2
	shift 2
	# new files each time, dropped while still dirty: the page cache, not the disk's state
	set -- fio --name=w --directory="$dir" --rw=write --bs=4k --ioengine=psync --thread \
		--group_reporting --output-format=terse --terse-version=3 --unlink=1 "$@"
	i=0
	while [ "$i" -lt "$pairs" ]; do
		"$@" >"$dir/before"
		for how in user kernel both light; do
			case $how in
			user) without=--no-kernel ;;
			kernel) without=--no-user ;;
			both) without= ;;
			light) without=--light ;;
			esac
			rm -rf "$dir/trace" # of one that failed
			# shellcheck disable=SC2086 # nothing, or an option
			sci-record --quiet --strict $without -o "$dir/trace" -- "$@" >"$dir/$how"
			rm -rf "$dir/trace"
		done
		"$@" >"$dir/after"
		echo "$(rate "$dir/before") $(rate "$dir/after") $(rate "$dir/user")" \
			"$(rate "$dir/kernel") $(rate "$dir/both") $(rate "$dir/light")"
		i=$((i + 1))
	done | awk '{ m = ($1 + $2) / 2
		printf "%.3f %.3f %.3f %.3f\n", $3 / m, $4 / m, $5 / m, $6 / m }' >"$dir/ratios"
	for n in 1 2 3 4; do column "$n" <"$dir/ratios"; done >"$dir/columns"
	awk -v name="$name" -v target="$target" '{ low[NR] = $1; median[NR] = $2; high[NR] = $3 }
		END { printf "%-20s %8.3f %8.3f %8.3f %8.3f to %.3f %8.3f %8.3f to %.3f   %s\n",
			name, median[1], median[2], median[3], low[3], high[3], median[4], low[4],
			high[4], target }' "$dir/columns"
}

# both sides, in full and with --light
printf '%-20s %8s %8s %8s %17s %8s %17s   %s\n' "fio 4 KiB, ratio" user kernel both \
	"both, of $pairs" light "light, of $pairs" "target of both, of light"
row "buffered, 1 thread" ">= 0.88, 0.95" --size=512m --numjobs=1
row "buffered, 8 threads" ">= 0.88, 0.95" --size=128m --numjobs=8
row "O_DIRECT, 1 thread" ">= 0.98, 0.98" --size=32m --direct=1 --numjobs=1
row "O_DIRECT, 8 threads" ">= 0.95, 0.98" --size=8m --direct=1 --numjobs=8

# ---- what is not traced ----

# beside OPTION...: what the idle program measures while sci-kernel with these options traces another
beside()
{
	mkfifo "$dir/ready" "$dir/done"
	"$kernel" "$@" -o "$dir/trace" -- sh -c "echo >'$dir/ready'; read -r _ <'$dir/done'" &
	tracer=$!
	read -r _ <"$dir/ready"
	beside=$("$idle" "$dir/file")
	echo >"$dir/done"
	wait "$tracer"
	tracer=
	rm -rf "$dir/ready" "$dir/done" "$dir/trace"
}

# Tracepoints of system calls send every call of the machine through the kernel's slow path; a probe
# cannot be had for less than an empty one costs.
[ ! -x "$empty" ] || {
	echo x >"$dir/file"
	i=0
	while [ "$i" -lt "$pairs" ]; do
		alone=$("$idle" "$dir/file")
		least=$("$empty" sys_enter sys_exit -- "$idle" "$dir/file")
		beside -q
		traced=$beside
		beside --light -q
		echo "$alone $least $traced $beside"
		i=$((i + 1))
	done | awk '{ printf "%.1f %.1f %.1f %.1f %.1f %.1f\n",
		$3 - $1, $5 - $1, $4 - $2, $6 - $2, $7 - $1, $8 - $2 }' >"$dir/added"
	for n in 1 2 3 4 5 6; do column "$n" <"$dir/added"; done >"$dir/columns"
	awk '{ v[NR] = $2 } END {
		printf "\n%-34s %8s %8s\n", "not traced, ns added per call", "getppid", "pread"
		printf "%-34s %8.0f %8.0f\n", "empty probes (the least possible)", v[1], v[3]
		printf "%-34s %8.0f %8.0f\n", "beside an idle sci-kernel", v[2], v[4]
		printf "%-34s %8.0f %8.0f   <= 30\n", "of that the filter", v[2] - v[1], v[4] - v[3]
		printf "%-34s %8.0f %8.0f   0\n", "beside an idle sci-kernel --light", v[5], v[6]
	}' "$dir/columns"
}

# ---- how much it keeps up with ----

# 2 million small writes by 4 threads: operations and events per second while they last
"$kernel" -q --wait-writeback=0 -o "$dir/trace" -- sh -c "date +%s%N
	'$quiet' -t 4 -n 500000 -s 16 '$dir/small' >/dev/null; date +%s%N" >"$dir/times"
sci-analyze --json "$dir/trace/kernel.spool" >"$dir/report"
/usr/bin/python3 - "$dir/times" "$dir/report" <<'PYTHON'
import json
import sys

begin, end = (int(line) for line in open(sys.argv[1]))
trace = json.load(open(sys.argv[2]))["trace"]
seconds = (end - begin) / 1e9
print(f"\n4 threads, 16-byte writes: {trace['operations'] / seconds / 1e6:.2f} M operations/s, "
      f"{trace['events'] / seconds / 1e6:.2f} M events/s (>= 1.00), {trace['lost_events']} lost (0)")
PYTHON
