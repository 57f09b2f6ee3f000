#!/bin/sh
# Two ranks of an MPI program: sci-record around mpirun, and EZTrace's module for MPI beside ours.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
need mpicc mpirun otf2-print
cd "$scratch"
mpicc -o ranks "$SCI_SRC/tests/programs/ranks.c"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run="mpirun -n 2"
mpirun --version | grep -q 'Open MPI' && run="$run --oversubscribe"
$run ./ranks >/dev/null 2>mpi.err || skip "MPI does not run here: $(tail -n 1 mpi.err)"

# both_ranks ARCHIVE: the writes of each, on a file of its own
both_ranks()
{
	for rank in 0 1; do
		n=$(otf2-print "$1" |
			grep -c "IO_OPERATION_BEGIN.*/rank$rank\".*Bytes Request: 4$((rank + 1)),") || true
		[ "$n" -eq 10 ] || fail "$1: $n writes of rank $rank"
	done
}

# shellcheck disable=SC2086
status 0 sci-record -q --no-kernel -o recorded -- $run ./ranks
both_ranks recorded/unified.otf2

[ -e "$SCI_BUILD/plugins/libeztrace-posixio.so" ] || exit 0
need eztrace
EZTRACE_LIBRARY_PATH=$SCI_BUILD/plugins
export EZTRACE_LIBRARY_PATH
module=
for name in openmpi mpich; do
	# which one fits is known by whose calls it sees
	rm -rf ranks_trace
	$run eztrace -t $name ./ranks >/dev/null 2>&1 || continue
	! otf2-print ranks_trace/eztrace_log.otf2 2>/dev/null | grep -q 'ENTER.*MPI_Barrier' || module=$name
done
[ -n "$module" ] || skip "EZTrace has no module for this MPI"

# mpi_calls: EZTrace's archive has those of both ranks
mpi_calls()
{
	n=$(otf2-print ranks_trace/eztrace_log.otf2 | grep -c 'ENTER.*MPI_Barrier')
	[ "$n" -eq 20 ] || fail "$n calls of MPI_Barrier in EZTrace's archive"
}

rm -rf ranks_trace
# shellcheck disable=SC2086
status 0 $run eztrace -t "$module posixio" ./ranks
! grep 'OTF2\]' "$scratch/err" || fail "libotf2 refuses events"
has "$scratch/err" '^eztrace-posixio: process .*calls before MPI_Init and after MPI_Finalize.*SCI_SPOOL_DIR'
mpi_calls
# those of each rank with as many bytes as its file has, where the one before ended
for rank in 0 1; do
	n=$(otf2-print ranks_trace/eztrace_log.otf2 2>/dev/null | grep -A 1 'ENTER.*"write"' | grep "INT64; .*\"size\" .*UINT64; 4$((rank + 1))\\()\\|,\\).*\"inode\".*UINT64; $(stat -c %i rank$rank))" |
		sed 's/.*"offset"[^;]*; INT64; \([0-9]*\)).*/\1/' | sort -nu | wc -l)
	[ "$n" -eq 10 ] || fail "$n writes of rank $rank in EZTrace's archive"
done
status 0 sci-analyze ranks_trace/eztrace_log.otf2 --json
/usr/bin/python3 -c '
import json, sys
calls = [t["operations"] for t in json.load(sys.stdin)["threads"]]
sys.exit(calls != [12, 12])' <"$scratch/out" || fail "sci-analyze: not 12 operations of each rank"
rm -rf ranks_trace
mkdir calls.spool
SCI_SPOOL_DIR=$PWD/calls.spool
export SCI_SPOOL_DIR
# shellcheck disable=SC2086
status 0 $run eztrace -t "$module posixio" ./ranks
unset SCI_SPOOL_DIR
mpi_calls
status 0 sci-merge calls.spool -o calls.otf2
both_ranks calls.otf2
