# Small programs that show one cause of interference each: what they share, then a line for each.
CAUSE = examples/causes/cause.c examples/causes/cause.h
noinst_PROGRAMS += examples/causes/quiet
examples_causes_quiet_SOURCES = examples/causes/quiet.c $(CAUSE)
noinst_PROGRAMS += examples/causes/shared-file
examples_causes_shared_file_SOURCES = examples/causes/shared-file.c $(CAUSE)
noinst_PROGRAMS += examples/causes/shared-descriptor
examples_causes_shared_descriptor_SOURCES = examples/causes/shared-descriptor.c $(CAUSE)
noinst_PROGRAMS += examples/causes/append
examples_causes_append_SOURCES = examples/causes/append.c $(CAUSE)
noinst_PROGRAMS += examples/causes/stream-lock
examples_causes_stream_lock_SOURCES = examples/causes/stream-lock.c $(CAUSE)
noinst_PROGRAMS += examples/causes/dirtying
examples_causes_dirtying_SOURCES = examples/causes/dirtying.c $(CAUSE)
noinst_PROGRAMS += examples/causes/page-lock
examples_causes_page_lock_SOURCES = examples/causes/page-lock.c $(CAUSE)
noinst_PROGRAMS += examples/causes/reclaim
examples_causes_reclaim_SOURCES = examples/causes/reclaim.c $(CAUSE)
noinst_PROGRAMS += examples/causes/swapped
examples_causes_swapped_SOURCES = examples/causes/swapped.c $(CAUSE)
noinst_PROGRAMS += examples/causes/fsync-storm
examples_causes_fsync_storm_SOURCES = examples/causes/fsync-storm.c $(CAUSE)
noinst_PROGRAMS += examples/causes/allocation
examples_causes_allocation_SOURCES = examples/causes/allocation.c $(CAUSE)
noinst_PROGRAMS += examples/causes/cold-reads
examples_causes_cold_reads_SOURCES = examples/causes/cold-reads.c $(CAUSE)
noinst_PROGRAMS += examples/causes/direct
examples_causes_direct_SOURCES = examples/causes/direct.c $(CAUSE)
noinst_PROGRAMS += examples/causes/mixed
examples_causes_mixed_SOURCES = examples/causes/mixed.c $(CAUSE)
noinst_PROGRAMS += examples/causes/hold
examples_causes_hold_SOURCES = examples/causes/hold.c $(CAUSE)
noinst_PROGRAMS += examples/causes/hogs
examples_causes_hogs_SOURCES = examples/causes/hogs.c
noinst_PROGRAMS += examples/causes/locking
examples_causes_locking_SOURCES = examples/causes/locking.c $(CAUSE)
noinst_PROGRAMS += examples/causes/names
examples_causes_names_SOURCES = examples/causes/names.c $(CAUSE)
noinst_PROGRAMS += examples/causes/mapped
examples_causes_mapped_SOURCES = examples/causes/mapped.c $(CAUSE)
noinst_PROGRAMS += examples/causes/mapping
examples_causes_mapping_SOURCES = examples/causes/mapping.c $(CAUSE)
noinst_PROGRAMS += examples/causes/rereads
examples_causes_rereads_SOURCES = examples/causes/rereads.c $(CAUSE)
noinst_PROGRAMS += examples/causes/stops
examples_causes_stops_SOURCES = examples/causes/stops.c

# An analysis of one's own on libeta-ext; tests/cases/library.sh compiles it as a user would.
EXTRA_DIST += examples/bytes-per-second.c
# ./dev truth: runs them all and looks whether the score names them.
EXTRA_DIST += examples/causes/truth.py examples/causes/causes.py examples/causes/conditions.py \
	examples/causes/scoring.py examples/causes/accuracy.py examples/causes/corpus.py examples/causes/scenes.py examples/causes/scripts.py examples/causes/fuse-server.py \
	examples/causes/postgres.sh

# What tracing costs, and the paper's evaluation: ./dev overhead, ./dev paper. What both use is in measuring.
noinst_PROGRAMS += examples/measuring/elapsed
examples_measuring_elapsed_SOURCES = examples/measuring/elapsed.c
EXTRA_DIST += examples/measuring/cells.py examples/measuring/fio.py examples/measuring/tracers.py
EXTRA_DIST += examples/overhead/overhead.py examples/overhead/tasks.py examples/overhead/virtual.py
EXTRA_DIST += examples/ezio-paper/paper.py examples/ezio-paper/published.py

# MPI-IO: the usual ways to write; doc/mpi.md
EXTRA_DIST += examples/mpi-io/mpi-io.c
