#!/bin/sh
# A merged archive restricted to one side is that side, event for event: made spools and a real run.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

# project DIR: merges DIR's spools together and alone, and compares
project()
{
	for side in user kernel; do
		status 0 sci-merge -q "$1/$side.spool" -o "$1/$side.otf2"
	done
	status 0 sci-merge --strict -q "$1/user.spool" "$1/kernel.spool" -o "$1/merged.otf2"
	status 0 /usr/bin/python3 "$SCI_SRC/tests/projection.py" "$1/merged.otf2" "$1/user.otf2" \
		"$1/kernel.otf2"
}

"$SCI_BUILD/tests/programs/make-spool" "$scratch" 4 200
project "$scratch"

# Random nestings of random regions, more threads, with many equal times.
for seed in 1 2 3 4 5 6; do
	for side in user kernel; do
		"$SCI_BUILD/tests/programs/random-trace" $seed 6 "$scratch/r$side.otf2" $side
	done
	status 0 sci-merge --strict -q "$scratch/ruser.otf2" "$scratch/rkernel.otf2" \
		-o "$scratch/rmerged.otf2"
	status 0 /usr/bin/python3 "$SCI_SRC/tests/projection.py" "$scratch/rmerged.otf2" \
		"$scratch/ruser.otf2" "$scratch/rkernel.otf2"
done

# It can fail: another run's spool is not this one's.
mkdir "$scratch/other"
"$SCI_BUILD/tests/programs/make-spool" "$scratch/other" 4 201
status 0 sci-merge -q "$scratch/other/user.spool" -o "$scratch/another.otf2"
status 1 /usr/bin/python3 "$SCI_SRC/tests/projection.py" "$scratch/merged.otf2" "$scratch/another.otf2"

need_tracer
need_kernel
disk_scratch
status 0 sci-record -q --keep-spools -o "$scratch/run" -- \
	"$SCI_BUILD/examples/causes/shared-file" -t 4 -s 65536 -n 200 "$disk/shared"
rm -rf "$scratch/run/unified"*
project "$scratch/run"
