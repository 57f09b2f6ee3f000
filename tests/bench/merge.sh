# Rate and memory of sci-merge against reading and writing the same events without merging.
# shellcheck shell=sh
# Target: >= 0.8 of that rate, <= 64 MiB at any length.
set -eu
: "${SCI_BUILD:?run ./dev bench merge}"
events=${SCI_BENCH_EVENTS:-10000000}
runs=${SCI_BENCH_RUNS:-5}
merge=$SCI_BUILD/src/sci-merge
copy=$SCI_BUILD/tests/bench/bench-copy
generate=$SCI_BUILD/tests/bench/bench-generate
make_spool=$SCI_BUILD/tests/programs/make-spool
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# measure COMMAND...: "seconds MiB" of one run, the most memory it had at a time
measure()
{
	/usr/bin/python3 -c '
import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = time.monotonic() - start
print("%.3f %.0f" % (used, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))' "$@"
}

# median FILE: of its first column, with the second of the same line
median()
{
	sort -n "$1" | awk '{ l[NR] = $0 } END { print l[int((NR + 1) / 2)] }'
}

# row NAME EVENTS THREADS OPTION...: copy and merge in turn
row()
{
	name=$1 events=$2 threads=$3
	shift 3
	"$generate" -n "$events" -t "$threads" -p user "$@" -o "$dir/user.otf2" >/dev/null
	"$generate" -n "$events" -t "$threads" -p kernel "$@" -o "$dir/kernel.otf2" >/dev/null
	n=$("$merge" "$dir/user.otf2" "$dir/kernel.otf2" -o "$dir/out.otf2" |
		sed -n 's/.*out.otf2: \([0-9]*\) events.*/\1/p')
	: >"$dir/copies"
	: >"$dir/merges"
	i=0
	while [ $i -lt "$runs" ]; do
		measure "$copy" "$dir/user.otf2" "$dir/kernel.otf2" "$dir/copy" >>"$dir/copies"
		measure "$merge" -q "$dir/user.otf2" "$dir/kernel.otf2" -o "$dir/out.otf2" \
			>>"$dir/merges"
		i=$((i + 1))
	done
	echo "$name $n $(median "$dir/copies") $(median "$dir/merges")" | awk '{
		printf "%-28s %6.1f %9.1f %9.1f %8.2f %8d %8d\n", $1, $2 / 1e6, $2 / 1e6 / $3,
			$2 / 1e6 / $5, $3 / $5, $4, $6 }'
	rm -rf "$dir"/*.otf2 "$dir"/*.def "$dir/user" "$dir/kernel" "$dir/out" "$dir"/copy*
}

# spools NAME THREADS OPERATIONS: there is no copy to compare with
spools()
{
	mkdir -p "$dir/run"
	"$make_spool" "$dir/run" "$2" "$3"
	n=$("$merge" "$dir/run/user.spool" "$dir/run/kernel.spool" -o "$dir/out.otf2" |
		sed -n 's/.*out.otf2: \([0-9]*\) events.*/\1/p')
	: >"$dir/merges"
	i=0
	while [ $i -lt "$runs" ]; do
		measure "$merge" -q "$dir/run/user.spool" "$dir/run/kernel.spool" \
			-o "$dir/out.otf2" >>"$dir/merges"
		i=$((i + 1))
	done
	echo "$1 $n $(median "$dir/merges")" | awk '{
		printf "%-28s %6.1f %9s %9.1f %8s %8s %8d\n", $1, $2 / 1e6, "", $2 / 1e6 / $3, "",
			"", $4 }'
	rm -rf "$dir/run" "$dir/out"*
}

printf '%-28s %6s %9s %9s %8s %8s %8s\n' '' events copy merge ratio copy merge
printf '%-28s %6s %9s %9s %8s %8s %8s\n' 'user + kernel' M M/s M/s '>= 0.8' MiB '<= 64'
# How the rate and the memory change with the length (SCI_BENCH_LONG=1: 40 M events, too) ...
all=$events
row "archives,32-threads" $((all / 10)) 32
row "archives,32-threads" "$all" 32
[ -z "${SCI_BENCH_LONG:-}" ] || row "archives,32-threads" $((all * 4)) 32
# ... and with the number of threads.
row "archives,32-threads,attr" "$all" 32 -a
row "archives,2-threads" "$all" 2
row "archives,1024-threads" "$all" 1024
events=$all
spools "spools,8-threads" 8 $((events / 8 / 13))
spools "spools,64-threads" 64 $((events / 64 / 13))
