# Rate and memory of sci-analyze against bare reading of the same archive, and other readers.
# shellcheck shell=sh
# Anchors (10 M events with attributes, 2 cores): bare local reading 0.42 s, otf2-print 8.4 s,
# python3-otf2 130 s. Targets: --sci=paper >= 0.6 and the default view >= 0.35 of bare reading.
set -eu
: "${SCI_BUILD:?run ./dev bench analyze}"
# SCI_BENCH_EVENTS: as many events as to measure, several numbers; SCI_BENCH_THREADS: threads that
# traced them; SCI_BENCH_RUNS: runs of which the median counts. SCI_BENCH_FULL=1: 1 to 40 M events,
# 2 to 1024 threads.
if [ "${SCI_BENCH_FULL:-0}" = 1 ]; then
	all_events=${SCI_BENCH_EVENTS:-1000000 10000000 40000000}
	all_threads=${SCI_BENCH_THREADS:-2 32 1024}
else
	all_events=${SCI_BENCH_EVENTS:-5000000}
	all_threads=${SCI_BENCH_THREADS:-32 1024}
fi
runs=${SCI_BENCH_RUNS:-5}
bench=$SCI_BUILD/tests/bench
dir=$(mktemp -d "$SCI_BUILD/bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# measure RUNS COMMAND...: median seconds and peak MiB
measure()
{
	/usr/bin/python3 - "$@" <<'EOF'
import os
import statistics
import sys
import time

seconds, peak = [], 0
for _ in range(int(sys.argv[1])):
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execvp(sys.argv[2], sys.argv[2:])
    _, status, usage = os.wait4(pid, 0)
    seconds.append(time.monotonic() - begin)
    peak = max(peak, usage.ru_maxrss)
    if status:
        sys.exit("%s fails" % sys.argv[2])
print("%.3f %.1f" % (statistics.median(seconds), peak / 1024))
EOF
}

# row NAME TARGET RUNS COMMAND...; the first row is what the others are divided by
bare=
row()
{
	name=$1 target=$2
	shift 2
	result=$(measure "$@")
	bare=${bare:-${result% *}}
	echo "$result" | awk -v name="$name" -v n="$n" -v bare="$bare" -v target="$target" '{
		printf "%-28s %8.2f %10.1f %8.3f %8.1f   %s\n", name, $1, n / 1e6 / $1, bare / $1, $2, target }'
}

# table THREADS [--attributes]
table()
{
	threads=$1
	shift
	"$bench/bench-generate" --events="$events" --threads="$threads" "$@" --output="$dir/t.otf2" >/dev/null
	n=$("$SCI_BUILD/src/sci-analyze" --json "$dir/t.otf2" | sed -n 's/.*"events": \([0-9]*\).*/\1/p')
	bare=
	printf '\n%-28s %8s %10s %8s %8s   %s\n' "$n events, $threads threads $*" seconds M/s ratio MiB target
	row "bare reading" "" "$runs" "$bench/bench-read" --threads="$(nproc)" "$dir/t.otf2"
	row "sci-analyze --sci=paper" ">= 0.6" "$runs" "$SCI_BUILD/src/sci-analyze" --sci=paper "$dir/t.otf2"
	row "sci-analyze" ">= 0.35" "$runs" "$SCI_BUILD/src/sci-analyze" "$dir/t.otf2"
	length=$("$SCI_BUILD/src/sci-analyze" --json "$dir/t.otf2" | sed -n '0,/duration_ns/s/.*"duration_ns": \([0-9]*\).*/\1/p')
	row "the last 1 % of the time" "" "$runs" "$SCI_BUILD/src/sci-analyze" --from="$((length * 99 / 100))ns" "$dir/t.otf2"
	rm "$dir/t/times.index"
	row "the same without the index" "" "$runs" "$SCI_BUILD/src/sci-analyze" --from="$((length * 99 / 100))ns" "$dir/t.otf2"
}

for events in $all_events; do
	for t in $all_threads; do
		table "$t"
		table "$t" --attributes
	done
done
row "otf2-print" "" 1 otf2-print "$dir/t.otf2"
cat >"$dir/read.py" <<'EOF'
import sys
import otf2
with otf2.reader.open(sys.argv[1]) as trace:
    for count, _ in enumerate(trace.events):
        if count == 200000:
            break
EOF
n=200000
row "python3-otf2, first 200000" "" 1 /usr/bin/python3 "$dir/read.py" "$dir/t.otf2"
