# Cost of a traced call: ns added by our tracers and by EZTrace's built-in one, in interleaved runs.
# shellcheck shell=sh
set -eu
: "${SCI_BUILD:?run ./dev bench user}"
rounds=${SCI_BENCH_ROUNDS:-5}
calls=${SCI_BENCH_CALLS:-200000} # per run, over all threads
program=$SCI_BUILD/tests/bench/bench-user-ops
spool_tracer=$SCI_BUILD/plugins/.libs/libsci-posixio.so
plugins=$SCI_BUILD/plugins
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
data=$(mktemp -d /dev/shm/sci-bench.XXXXXX)
trap 'rm -rf "$dir" "$data"' EXIT
trap 'exit 1' HUP INT TERM

# run HOW THREADS BYTES: "elapsed cpu" in ns per call
run()
{
	how=$1
	set -- "$program" "$data" "$2" "$3" $((calls / $2))
	rm -rf "$dir/trace"
	mkdir "$dir/trace"
	case $how in
	untraced) "$@" ;;
	spool) SCI_SPOOL_DIR=$dir/trace LD_PRELOAD=$spool_tracer "$@" ;;
	eztrace) (cd "$dir/trace" && EZTRACE_LIBRARY_PATH=$plugins eztrace -t posixio "$@") ;;
	builtin) (cd "$dir/trace" && eztrace -t posixio "$@") ;;
	esac 9>&1 >/dev/null 2>"$dir/err" || {
		cat "$dir/err" >&2
		exit 1
	}
}

tracers=spool
if command -v eztrace >/dev/null 2>&1 && [ -e "$plugins/libeztrace-posixio.so" ]; then
	# the built-in tracer sees no pwrite64, and this program's pwrite is that of LP64
	tracers="spool eztrace builtin"
else
	echo "eztrace is not installed: only the spool is measured"
fi

# row BYTES THREADS: medians of what each tracer adds, run by run against the untraced run beside it
row()
{
	i=0
	while [ $i -lt "$rounds" ]; do
		for how in untraced $tracers; do
			echo "$how $(run "$how" "$2" "$1")"
		done
		i=$((i + 1))
	done | awk -v bytes="$1" -v threads="$2" '
		function median(list, n,   i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
					t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
				}
			return list[int((n + 1) / 2)]
		}
		$1 == "untraced" { wall = $2; cpu = $3; n++; w["untraced", n] = $2; c["untraced", n] = $3; next }
		{ w[$1, n] = $2 - wall; c[$1, n] = $3 - cpu; known[$1] = 1 }
		function cell(how,   i, list, out) {
			if (how != "untraced" && !known[how]) return "-"
			for (i = 1; i <= n; i++) list[i] = w[how, i]
			out = sprintf("%.0f", median(list, n))
			for (i = 1; i <= n; i++) list[i] = c[how, i]
			return out sprintf(" (%.0f)", median(list, n))
		}
		END { printf "%-10s %7d %14s %14s %14s %14s\n", bytes " B", threads, cell("untraced"),
			cell("spool"), cell("eztrace"), cell("builtin") }'
}

echo "ns per pwrite on tmpfs: untraced, then what each tracer adds; elapsed (CPU time)"
printf '%-10s %7s %14s %14s %14s %14s\n' size threads untraced spool eztrace "built-in"
for bytes in 1 4096; do
	for threads in 1 2 4 8; do
		row "$bytes" "$threads"
	done
done
echo "target: spool <= 40, eztrace <= 100, the same at every thread count"
