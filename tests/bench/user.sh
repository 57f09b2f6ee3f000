# Cost of a traced call: ns added by our tracers and by EZTrace's built-in one, in interleaved runs.
# Beside them what the least possible tracer adds (floor.c). Then what a thread costs, and a call in the
# trace.
# shellcheck shell=sh
set -eu
: "${SCI_BUILD:?run ./dev bench user}"
rounds=${SCI_BENCH_ROUNDS:-5}
calls=${SCI_BENCH_CALLS:-200000} # per run, over all threads
program=$SCI_BUILD/tests/bench/bench-user-ops
otf2=$SCI_BUILD/tests/bench/bench-otf2
short_threads=$SCI_BUILD/tests/programs/short-threads
spool_tracer=$SCI_BUILD/plugins/libsci-posixio.so
plugins=$SCI_BUILD/plugins
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
data=$(mktemp -d /dev/shm/sci-bench.XXXXXX)
trap 'rm -rf "$dir" "$data"' EXIT
trap 'exit 1' HUP INT TERM

# traced HOW COMMAND...: what it prints to descriptor 9
traced()
{
	how=$1
	shift
	rm -rf "$dir/trace"
	mkdir "$dir/trace"
	case $how in
	untraced) "$@" ;;
	floor) SCI_SPOOL_DIR=$dir/trace LD_PRELOAD=$SCI_BUILD/tests/bench/floor.so "$@" ;;
	spool) SCI_SPOOL_DIR=$dir/trace LD_PRELOAD=$spool_tracer "$@" ;;
	stack*) SCI_CALLSTACK=${how#stack} SCI_SPOOL_DIR=$dir/trace LD_PRELOAD=$spool_tracer "$@" ;;
	eztrace) (cd "$dir/trace" && EZTRACE_LIBRARY_PATH=$plugins eztrace -t posixio "$@") ;;
	builtin) (cd "$dir/trace" && eztrace -t posixio "$@") ;;
	esac 9>&1 >/dev/null 2>"$dir/err" || {
		cat "$dir/err" >&2
		exit 1
	}
}

# run HOW THREADS BYTES: "elapsed cpu" in ns per call, then the resident memory in KiB
run()
{
	# deep enough for the deepest stack that is asked for
	traced "$1" "$program" "$data" "$2" "$3" $((calls / $2)) 10
}

tracers="floor spool"
[ ! -e "$plugins/libsci-unwind.so" ] || tracers="floor spool stack4 stack10"
if command -v eztrace >/dev/null 2>&1 && [ -e "$plugins/libeztrace-posixio.so" ]; then
	# the built-in tracer sees no pwrite64, and this program's pwrite is that of LP64
	tracers="$tracers eztrace builtin"
else
	echo "eztrace is not installed: only the spool is measured"
fi

# median: of numbers, one per line
median()
{
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# The built-in keeps 16 MiB and more of each thread that ever was: with these threads it takes all of
# a machine's memory.
short_columns()
{
	all=$tracers
	tracers=${tracers% builtin}
	columns short_row "$1"
	tracers=$all
}

# columns COMMAND...: what the command says of untraced runs and of each tracer
columns()
{
	for how in untraced spool eztrace builtin; do
		case " untraced $tracers " in
		*" $how "*) printf ' %14s' "$("$@" "$how")" ;;
		*) printf ' %14s' - ;;
		esac
	done
	echo
}

# short_row THREADS HOW: microseconds per thread
short_row()
{
	i=0
	while [ $i -lt "$rounds" ]; do
		traced "$2" "$short_threads" "$data" "$1" 4
		i=$((i + 1))
	done | median
}

# memory HOW: KiB of a process of 32 threads, per thread
memory()
{
	traced "$1" "$program" "$data" 32 1 20000 | awk '{ printf "%.0f", $3 / 32 }'
}

# trace_bytes HOW: bytes of the trace per call
trace_bytes()
{
	traced "$1" "$program" "$data" 1 1 "$calls" >/dev/null
	find "$dir/trace" -type f -printf '%s\n' |
		awk -v calls="$calls" '{ n += $1 } END { printf "%.0f", n / calls }'
}

# otf2_floor: a bare loop that writes to libotf2 what the EZTrace sink does, part by part
otf2_floor()
{
	i=0
	while [ $i -lt "$rounds" ]; do
		"$otf2" "$data/otf2" "$calls"
		rm -rf "$data/otf2"
		i=$((i + 1))
	done | awk -F: '
		!($1 in least) { name[++n] = $1; least[$1] = $2 }
		$2 < least[$1] { least[$1] = $2 }
		END { for (i = 1; i <= n; i++) printf "  %-30s %6.0f\n", name[i], least[name[i]] }'
}

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
		END { printf "%-7s %7d %12s %12s %12s %12s %12s %12s %14s\n", bytes " B", threads,
			cell("untraced"), cell("floor"), cell("spool"), cell("stack4"), cell("stack10"),
			cell("eztrace"), cell("builtin") }'
}

echo "ns per pwrite on tmpfs: untraced, then what each tracer adds; elapsed (CPU time)"
printf '%-7s %7s %12s %12s %12s %12s %12s %12s %14s\n' size threads untraced floor spool callstack=4 \
	callstack=10 eztrace "built-in"
for bytes in 1 4096; do
	for threads in 1 2 4 8; do
		row "$bytes" "$threads"
	done
done
echo "target: spool <= 40, eztrace <= 100, the same at every thread count"
echo "CPU ns that libotf2 itself takes of each call in an archive, the least of $rounds runs:"
otf2_floor
echo
printf '%-18s %14s %14s %14s %14s\n' "" untraced spool eztrace "built-in"
for threads in 200 1000; do
	printf '%-18s' "$threads threads, us"
	short_columns "$threads"
done
printf '%-18s' "KiB per thread"
columns memory
printf '%-18s' "trace bytes/call"
columns trace_bytes
echo "target: 200 short threads within 1.5 x untraced, 1024 KiB more per thread, 64 bytes per call"
