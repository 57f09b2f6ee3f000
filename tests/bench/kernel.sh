# Cost of the kernel tracer: fio's throughput traced against untraced, in pairs.
# shellcheck shell=sh
# Anchors: one record per probe 0.68 (1 thread) and 0.50 (8), one record per operation 0.83 to 0.89.
set -eu
: "${SCI_BUILD:?run ./dev bench kernel}"
pairs=${SCI_BENCH_PAIRS:-7}
kernel=$SCI_BUILD/src/sci-kernel
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# rate NAME: write bandwidth in KiB/s of the fio run that NAME's terse output describes
rate()
{
	awk -F ';' '$1 == 3 { print $48 }' "$1"
}

# run OPTION...: one fio job, untraced and traced in turn; prints the ratio of each pair
job()
{
	set -- fio --name=w --directory="$dir" --rw=write --bs=4k --ioengine=psync --thread \
		--group_reporting --output-format=terse --terse-version=3 --fallocate=none "$@"
	"$@" >"$dir/out" # files exist from here on
	i=0
	while [ $i -lt "$pairs" ]; do
		"$@" >"$dir/untraced"
		"$kernel" -q --strict -o "$dir/trace" -- "$@" >"$dir/traced"
		rm -rf "$dir/trace"
		echo "$(rate "$dir/traced") $(rate "$dir/untraced")"
		i=$((i + 1))
	done | awk '{ printf "%.3f\n", $1 / $2 }' | sort -n >"$dir/ratios"
}

# row NAME TARGET OPTION...
row()
{
	name=$1 target=$2
	shift 2
	job "$@"
	awk -v name="$name" -v target="$target" '{ r[NR] = $1 }
		END { printf "%-28s %8.3f %8.3f %8.3f   %s\n", name, r[1], r[int((NR + 1) / 2)], r[NR], target }' \
		"$dir/ratios"
	rm -f "$dir"/w.*
}

printf '%-28s %8s %8s %8s   %s\n' "fio 4 KiB, traced/untraced" worst median best target
row "buffered, 1 thread" ">= 0.88" --size=256m --loops=2 --numjobs=1
row "buffered, 8 threads" ">= 0.90" --size=32m --loops=2 --numjobs=8
row "O_DIRECT, 1 thread" ">= 0.98" --size=32m --direct=1 --numjobs=1
row "O_DIRECT, 8 threads" ">= 0.98" --size=4m --direct=1 --numjobs=8
