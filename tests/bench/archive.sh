# Reading OTF2 archives through eta-ext against bare local reading (empty callbacks), and writing them.
# shellcheck shell=sh
# Anchor (10 M events, 2 cores): bare local reading 36 to 39 M/s without attributes on one thread,
# 11 to 12 M/s with 3 on Enter and 4 on Leave.
set -eu
: "${SCI_BUILD:?run ./dev bench archive}"
events=${SCI_BENCH_EVENTS:-10000000}
runs=${SCI_BENCH_RUNS:-5}
bench=$SCI_BUILD/tests/bench
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# median of the numbers on stdin
median()
{
	sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'
}

# rows THREADS [--attributes]: bare and eta-ext in turn, so that a noisy moment meets both
rows()
{
	traced=$1
	shift
	begin=$(date +%s%N)
	n=$("$bench/bench-generate" --events="$events" --threads="$traced" "$@" \
		--output="$dir/t.otf2" | cut -d ' ' -f 1)
	end=$(date +%s%N)
	bytes=$(du -sb "$dir/t" | cut -f 1)
	awk -v n="$n" -v ns=$((end - begin)) -v b="$bytes" -v t="$traced" -v a="$*" 'BEGIN {
		printf "\n%d events, %d threads %s: made and written at %.1f M/s, %.1f bytes an event\n",
			n, t, a, n * 1000 / ns, b / n
		printf "%8s %12s %12s %8s %10s\n", "threads", "bare M/s", "eta-ext M/s", "ratio", "MiB" }'
	for threads in 1 2; do
		: >"$dir/bare"
		: >"$dir/eta"
		for _ in $(seq "$runs"); do
			"$bench/bench-read" --threads="$threads" "$dir/t.otf2" >>"$dir/bare"
			"$bench/bench-read" --eta --threads="$threads" "$dir/t.otf2" >>"$dir/eta"
		done
		bare=$(cut -d ' ' -f 3 "$dir/bare" | median)
		eta=$(cut -d ' ' -f 3 "$dir/eta" | median)
		mib=$(cut -d ' ' -f 7 "$dir/eta" | sort -n | tail -n 1)
		awk -v n="$n" -v t="$threads" -v b="$bare" -v e="$eta" -v m="$mib" 'BEGIN {
			printf "%8d %12.1f %12.1f %8.2f %10d\n", t, n / 1e6 / b, n / 1e6 / e, b / e, m }'
	done
}

rows 32
rows 32 --attributes
rows 1024 --attributes
