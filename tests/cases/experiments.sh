#!/bin/sh
# The experiments in their short forms: every cell measured, every table and figure there, and one
# that was interrupted goes on where it was.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need fio strace gzip
need_tracer
# its cache of fonts takes long to build, and it says so
MPLCONFIGDIR=$SCI_BUILD/tests/matplotlib /usr/bin/python3 -c 'import matplotlib.font_manager' 2>/dev/null ||
	skip "python3-matplotlib is not installed"
[ "$(id -u)" -eq 0 ] || skip "needs root: the experiments trace the kernel"
need_kernel
disk_scratch
export SCI_PLOT_DIR="$SCI_SRC/src/plot" MPLCONFIGDIR="$SCI_BUILD/tests/matplotlib"

run_paper()
{
	status 0 /usr/bin/python3 "$SCI_SRC/examples/ezio-paper/paper.py" -o "$disk" --short \
		--threads=1,2 --repetitions=1
}

run_paper
[ "$(grep -c '^\[' "$scratch/err")" -eq 12 ] || fail "not 12 cells: $(cat "$scratch/err")"
cells=$disk/short/cells
# what an interruption leaves: cells that are not there, or not whole
rm "$cells/direct-2-user-0.json"
printf '{ "throughput' >"$cells/buffered-1-vanilla-0.json"
run_paper
[ "$(grep -c '^\[' "$scratch/err")" -eq 2 ] || fail "more or less than 2 cells were measured again"
has "$scratch/out" '^threads +MiB/s'
has "$scratch/out" '^direct: the score against one thread alone grows .*: (yes|NO)'
/usr/bin/python3 - "$disk/short" <<'END'
import csv
import os
import sys
folder = sys.argv[1]
rows = list(csv.DictReader(open(folder + "/paper.csv")))
assert len(rows) == 12 and not any(row["failed"] for row in rows), rows
for row in rows:
    assert float(row["throughput_mib_s"]) > 0, row
    if row["configuration"] != "vanilla":
        assert 0 <= float(row["sci_paper"]) <= 1 and 0 < float(row["write_share"]) <= 1, row
        assert row["lost_events"] == "0", row
    if row["configuration"] == "both" and row["threads"] == "1":
        assert -1 < float(row["sci_baseline"]) < 1, row
events = {(row["io"], row["level"]): int(row["events"])
          for row in csv.DictReader(open(folder + "/events.csv"))}
# two threads of 10 and of 1 MiB in blocks of 4 KiB: at least a write each, entered and left
for io, writes in ("buffered", 2 * 2560), ("direct", 2 * 256):
    for level in "user", "vfs", "fs":
        assert events[io, level] >= 2 * writes, events
assert events["direct", "block"] >= 2 * 512 * 0.9, events
for name in ("fig4a-score-buffered", "fig4b-score-direct", "fig5a-throughput-buffered",
             "fig5b-throughput-direct", "share-of-write-direct", "table3-events"):
    for suffix in ".pdf", ".png":
        assert os.path.getsize(os.path.join(folder, name + suffix)) > 4000, name
END

# none asked for is a misuse, and not the default of hours
status 2 /usr/bin/python3 "$SCI_SRC/examples/ezio-paper/paper.py" -o "$disk/none" --repetitions=0
has "$scratch/err" "'0': a number from 1 on is needed"
[ ! -e "$disk/none" ] || fail "measured for --repetitions=0"
status 2 /usr/bin/python3 "$SCI_SRC/examples/causes/truth.py" --repeat=0
has "$scratch/err" 'repeat=0: a number from 1 on is needed'
# no cause is not all of them
status 1 /usr/bin/python3 "$SCI_SRC/examples/causes/truth.py" --only=
has "$scratch/err" "no such cause: ''; there are quiet, shared-file"

overhead()
{
	status "$1" /usr/bin/python3 "$SCI_SRC/examples/overhead/overhead.py" -o "$disk/overhead" \
		--elapsed "$SCI_BUILD/examples/measuring/elapsed" --short --guests=none --base-runs=2 "$2" "$3" "$4"
}

overhead 0 --tasks='gzip,fio buffered' --caches=hot --tracers=filtered,user,memory,dummy,strace
[ "$(grep -c '^\[' "$scratch/err")" -eq 14 ] || fail "not 14 cells: $(cat "$scratch/err")"
has "$scratch/out" '^geometric mean +-?[0-9]'
/usr/bin/python3 - "$disk/overhead/short" <<'END'
import csv
import os
import sys
rows = {(row["task"], row["tracer"]): row
        for row in csv.DictReader(open(sys.argv[1] + "/overhead.csv"))}
assert not any(row["failed"] for row in rows.values()), rows
for (task, tracer), row in rows.items():
    assert abs(float(row["performance_percent"]) + float(row["added_percent"]) - 100) < 1e-3, row
    traced = tracer in ("user", "memory", "strace") and task != "geometric mean"
    assert not traced or int(row["trace_bytes"]) > 1000, row
# a record of 32 bytes for each of 4 times 3276 writes
assert int(rows["fio buffered", "user"]["trace_bytes"]) > 4 * 3276 * 32, rows
assert os.path.getsize(sys.argv[1] + "/overhead.pdf") > 4000
END
mount | grep "$disk" && fail "a file system is still mounted"
overhead 2 --tasks=nothing --caches=hot --tracers=user
has "$scratch/err" "no task 'nothing'; there are: tar create"
