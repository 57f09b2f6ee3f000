#!/bin/sh
# Cost of the kernel tracer: fio's throughput traced against untraced, in pairs.
# Anchors: a record per probe 0.68 (1 thread) and 0.50 (8), one per operation 0.83 to 0.89.
set -eu
: "${SCI_BUILD:?run ./dev bench kernel}"
pairs=${SCI_BENCH_PAIRS:-7}
kernel=$SCI_BUILD/src/sci-kernel
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

"$kernel" -q -o "$dir/probe" -- true || exit 1

# rate FILE: write bandwidth in KiB/s of the fio run that FILE's terse output describes
rate()
{
	awk -F ';' '$1 == 3 { print $48 }' "$1"
}

# row NAME TARGET OPTION...: one fio job untraced, traced, untraced; worst, median, best ratio
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
		"$kernel" -q --strict -o "$dir/trace" -- "$@" >"$dir/traced"
		rm -rf "$dir/trace"
		"$@" >"$dir/after"
		echo "$(rate "$dir/traced") $(rate "$dir/before") $(rate "$dir/after")"
		i=$((i + 1))
	done | awk '{ printf "%.3f\n", 2 * $1 / ($2 + $3) }' | sort -n >"$dir/ratios"
	awk -v name="$name" -v target="$target" '{ r[NR] = $1 }
		END { printf "%-28s %8.3f %8.3f %8.3f   %s\n",
			name, r[1], r[int((NR + 1) / 2)], r[NR], target }' "$dir/ratios"
}

printf '%-28s %8s %8s %8s   %s\n' "fio 4 KiB, traced/untraced" worst median best target
row "buffered, 1 thread" ">= 0.88" --size=512m --numjobs=1
row "buffered, 8 threads" ">= 0.90" --size=128m --numjobs=8
row "O_DIRECT, 1 thread" ">= 0.98" --size=32m --direct=1 --numjobs=1
row "O_DIRECT, 8 threads" ">= 0.98" --size=8m --direct=1 --numjobs=8
