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

# The launcher gives the processes their ranks; mpirun itself is of no rank.
status 0 sci-analyze recorded --by=rank --csv --fields=rank
[ "$(tr -d '\r' <out | sort | tr '\n' ' ')" = " 0 1 rank " ] || fail "ranks: $(cat out)"
status 0 sci-analyze recorded --csv --fields=thread
for rank in 0 1; do
	has out "^ranks rank $rank tid [0-9]+"
done
status 0 sci-analyze recorded --json
/usr/bin/python3 -c '
import json, sys
report = json.load(sys.stdin)
for kind in "threads", "processes":
    told = {(t.get("rank"), t.get("job")) for t in report[kind] if t["name"].startswith("ranks")}
    assert {rank for rank, job in told} == {0, 1} and len({job for rank, job in told}) == 1, told
' <out || fail "no ranks in json"

# Each rank a recording of its own: together they are the job, in which a rank may be missing.
mkdir job
# shellcheck disable=SC2086
status 0 $run sci-record -q --no-kernel -o job/%h.%r -- ./ranks
status 0 sci-merge --strict job -o all.otf2
both_ranks all.otf2
rm -r job/*.1
status 1 sci-merge --strict job -o all.otf2
has err 'warning: job .*: 1 of its 2 ranks left no trace: 1$'
has out '^all.otf2: .*, 1 machine or rank missing$'

# What no launcher says, and what contradicts itself.
status 1 sci-record -q --no-kernel -o %r -- true
one_line err
has err 'no launcher says what %r is'
status 0 env PMI_RANK=3 PMI_SIZE=4 PMIX_RANK=2 PMIX_NAMESPACE=one/two sci-record -q --no-kernel -o %j.%r%% -- true
one_line err
has err 'PMIX_RANK=2 and PMI_RANK=3 contradict each other: the rank is taken to be 2'
[ -e one_two.2%/unified.otf2 ] || fail "%j.%r%% is not one_two.2%: $(ls)"
status 0 env OMPI_COMM_WORLD_RANK=first OMPI_COMM_WORLD_SIZE=4 sci-record -q --no-kernel -o no-rank -- true
one_line err
has err 'OMPI_COMM_WORLD_RANK=first is no number: not taken for a rank'
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
