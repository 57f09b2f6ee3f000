# A test is a program or a script that exits 0 (passed), 77 (skipped, saying why) or else (failed).
# Scripts source tests/lib.sh. Add a test: one file and one line below. Those of kernel_tests trace the
# kernel, one at a time: they take their turn with tests/kernel.py, or kernel_turn of tests/lib.sh.
TEST_EXTENSIONS = .sh .py
SH_LOG_COMPILER = $(SHELL)
# Debian's interpreter: it has otf2
PY_LOG_COMPILER = /usr/bin/python3
AM_TESTS_ENVIRONMENT = \
	SCI_SRC='$(abs_top_srcdir)' SCI_BUILD='$(abs_top_builddir)' \
	SCI_SANITIZED='$(SCI_SANITIZE)' \
	SCI_PLUGIN_DIR='$(abs_top_builddir)/plugins/.libs' SCI_PLOT_DIR='$(abs_top_srcdir)/src/plot' \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/lsan.supp:print_suppressions=0' \
	PATH='$(abs_top_builddir)/src':"$$PATH"; \
	unset SUDO_UID; \
	export SCI_SRC SCI_BUILD SCI_SANITIZED SCI_PLUGIN_DIR SCI_PLOT_DIR LSAN_OPTIONS PATH;

TESTS += $(check_PROGRAMS) $(script_tests) $(kernel_tests)
script_tests =
kernel_tests =
# the longest first
if HAVE_BPF
script_tests += tests/cases/kernel-guest.py
endif
EXTRA_DIST += $(script_tests) $(kernel_tests) tests/cases/analyze-views.txt tests/lib.sh tests/lsan.supp

# Both may run at once, when all is built.
.PHONY: check-kernel check-others
check-kernel:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(kernel_tests)' TEST_SUITE_LOG=$@.suite
check-others:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(script_tests) $(check_PROGRAMS)' TEST_SUITE_LOG=$@.suite
CLEANFILES += check-kernel.suite check-others.suite kernel-probe
# the guest's kernel, and a cache of fonts
distclean-local:
	-rm -rf guest tests/matplotlib

UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
UNIT_LIBS = eta-ext/libeta.la $(CMOCKA_LIBS)
# A trace given in memory, for every test that needs a small known one.
MEMORY_TRACE = tests/unit/memory-trace.c tests/unit/memory-trace.h tests/unit/unit.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-levels
tests_unit_test_levels_SOURCES = tests/unit/test-levels.c tests/unit/unit.h
tests_unit_test_levels_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_levels_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-printable
tests_unit_test_printable_SOURCES = tests/unit/test-printable.c tests/unit/unit.h
tests_unit_test_printable_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_printable_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-trace
tests_unit_test_trace_SOURCES = tests/unit/test-trace.c $(MEMORY_TRACE)
tests_unit_test_trace_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_trace_LDADD = $(UNIT_LIBS)

RANDOM_TRACE = tests/unit/random-trace.c tests/unit/random-trace.h

check_PROGRAMS += tests/unit/test-otf2
tests_unit_test_otf2_SOURCES = tests/unit/test-otf2.c $(RANDOM_TRACE) $(MEMORY_TRACE)
tests_unit_test_otf2_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_otf2_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-merge
tests_unit_test_merge_SOURCES = tests/unit/test-merge.c tests/unit/events.c tests/unit/events.h \
	$(MEMORY_TRACE)
tests_unit_test_merge_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_merge_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-machines
tests_unit_test_machines_SOURCES = tests/unit/test-machines.c tests/unit/events.c tests/unit/events.h \
	$(MEMORY_TRACE)
tests_unit_test_machines_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_machines_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-merge-match
tests_unit_test_merge_match_SOURCES = tests/unit/test-merge-match.c tests/unit/events.c \
	tests/unit/events.h $(MEMORY_TRACE)
tests_unit_test_merge_match_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_merge_match_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-projection
tests_unit_test_projection_SOURCES = tests/unit/test-projection.c $(MEMORY_TRACE)
tests_unit_test_projection_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_projection_LDADD = $(UNIT_LIBS)

# A spool made by hand, and events as text.
SPOOL_MAKER = tests/unit/spool-maker.c tests/unit/spool-maker.h \
	tests/unit/events.c tests/unit/events.h tests/unit/unit.h

check_PROGRAMS += tests/unit/test-spool
tests_unit_test_spool_SOURCES = tests/unit/test-spool.c $(SPOOL_MAKER)
tests_unit_test_spool_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spool_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-spool-threads
tests_unit_test_spool_threads_SOURCES = tests/unit/test-spool-threads.c $(SPOOL_MAKER)
tests_unit_test_spool_threads_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spool_threads_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-spool-window
tests_unit_test_spool_window_SOURCES = tests/unit/test-spool-window.c $(SPOOL_MAKER)
tests_unit_test_spool_window_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spool_window_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

KERNEL_MAKER = tests/unit/kernel-maker.c tests/unit/kernel-maker.h $(SPOOL_MAKER)

check_PROGRAMS += tests/unit/test-kernel-spans
tests_unit_test_kernel_spans_SOURCES = tests/unit/test-kernel-spans.c $(KERNEL_MAKER)
tests_unit_test_kernel_spans_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_kernel_spans_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-kernel-spool
tests_unit_test_kernel_spool_SOURCES = tests/unit/test-kernel-spool.c $(KERNEL_MAKER)
tests_unit_test_kernel_spool_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_kernel_spool_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-cpu-history
tests_unit_test_cpu_history_SOURCES = tests/unit/test-cpu-history.c tests/unit/unit.h
tests_unit_test_cpu_history_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cpu_history_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-addresses
tests_unit_test_addresses_SOURCES = tests/unit/test-addresses.c $(SPOOL_MAKER)
tests_unit_test_addresses_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_addresses_LDADD = eta-ext/libspool.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-durations
tests_unit_test_durations_SOURCES = tests/unit/test-durations.c tests/unit/unit.h
tests_unit_test_durations_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_durations_LDADD = src/libanalysis.la $(UNIT_LIBS)

SCORE_TRACE = tests/unit/score-trace.c tests/unit/score-trace.h $(MEMORY_TRACE)

check_PROGRAMS += tests/unit/test-golden
tests_unit_test_golden_SOURCES = tests/unit/test-golden.c $(SCORE_TRACE)
tests_unit_test_golden_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_golden_LDADD = src/libanalysis.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-split
tests_unit_test_split_SOURCES = tests/unit/test-split.c $(SCORE_TRACE)
tests_unit_test_split_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_split_LDADD = src/libanalysis.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-blame
tests_unit_test_blame_SOURCES = tests/unit/test-blame.c $(SCORE_TRACE)
tests_unit_test_blame_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_blame_LDADD = src/libanalysis.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-properties
tests_unit_test_properties_SOURCES = tests/unit/test-properties.c $(SCORE_TRACE)
tests_unit_test_properties_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_properties_LDADD = src/libanalysis.la $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test-clocks
tests_unit_test_clocks_SOURCES = tests/unit/test-clocks.c tests/unit/unit.h
tests_unit_test_clocks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_clocks_LDADD = $(UNIT_LIBS) -lm

check_PROGRAMS += tests/unit/test-clock
tests_unit_test_clock_SOURCES = tests/unit/test-clock.c tests/unit/unit.h plugins/posixio/clock.c
tests_unit_test_clock_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_clock_LDADD = eta-ext/libspool.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test-filter
tests_unit_test_filter_SOURCES = tests/unit/test-filter.c tests/unit/unit.h \
	plugins/posixio/filter.c plugins/posixio/filter.h
tests_unit_test_filter_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_filter_LDADD = $(CMOCKA_LIBS)
endif

# Spools without a tracer, for the tests and the bench of the merge.
noinst_PROGRAMS += tests/programs/make-spool
tests_programs_make_spool_SOURCES = tests/programs/make-spool.c \
	tests/unit/spool-maker.c tests/unit/spool-maker.h
tests_programs_make_spool_LDADD = eta-ext/libspool.la
noinst_PROGRAMS += tests/programs/make-hosts
tests_programs_make_hosts_SOURCES = tests/programs/make-hosts.c $(MEMORY_TRACE)
tests_programs_make_hosts_LDADD = eta-ext/libeta.la
noinst_PROGRAMS += tests/programs/make-machines
tests_programs_make_machines_SOURCES = tests/programs/make-machines.c \
	tests/unit/spool-maker.c tests/unit/spool-maker.h
tests_programs_make_machines_LDADD = eta-ext/libspool.la
script_tests += tests/cases/export.sh tests/cases/library.sh tests/cases/merge-limits.sh \
	tests/cases/merge.sh tests/cases/spool-damage.py
kernel_tests += tests/cases/merge-projection.sh
EXTRA_DIST += tests/circles.py tests/projection.py tests/export.py
script_tests += tests/cases/harmless-env.sh tests/cases/harmless-hosts.py tests/cases/harmless-outputs.py \
	tests/cases/harmless-text.py

noinst_PROGRAMS += tests/bench/bench-copy
tests_bench_bench_copy_SOURCES = tests/bench/copy.c
tests_bench_bench_copy_LDADD = eta-ext/libeta.la
EXTRA_DIST += tests/bench/merge.sh

# Programs that the tracer's tests run.
noinst_PROGRAMS += tests/programs/calls
tests_programs_calls_SOURCES = tests/programs/calls.c
tests_programs_calls_CFLAGS = $(SCI_CFLAGS)
tests_programs_calls_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/life
tests_programs_life_SOURCES = tests/programs/life.c
tests_programs_life_CFLAGS = $(SCI_CFLAGS)
tests_programs_life_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/functions
tests_programs_functions_SOURCES = tests/programs/functions.c
tests_programs_functions_CFLAGS = $(SCI_CFLAGS)
noinst_PROGRAMS += tests/programs/harmless-calls
tests_programs_harmless_calls_SOURCES = tests/programs/harmless-calls.c tests/programs/harmless-calls.h
tests_programs_harmless_calls_CFLAGS = $(SCI_CFLAGS) -Wno-nonnull
script_tests += tests/cases/harmless-calls.py tests/cases/posixio-loading.py
noinst_PROGRAMS += tests/programs/fortified
tests_programs_fortified_SOURCES = tests/programs/fortified.c
tests_programs_fortified_CFLAGS = $(SCI_CFLAGS)
noinst_PROGRAMS += tests/programs/lfs64
tests_programs_lfs64_SOURCES = tests/programs/lfs64.c
tests_programs_lfs64_CFLAGS = $(SCI_CFLAGS)
noinst_PROGRAMS += tests/programs/taken-over
tests_programs_taken_over_SOURCES = tests/programs/taken-over.c
tests_programs_taken_over_CFLAGS = $(SCI_CFLAGS)
noinst_PROGRAMS += tests/programs/confined
tests_programs_confined_SOURCES = tests/programs/confined.c
tests_programs_confined_CFLAGS = $(SCI_CFLAGS)
tests_programs_confined_LDFLAGS = -pthread
script_tests += tests/cases/harmless-sandbox.py
noinst_PROGRAMS += tests/programs/limited
tests_programs_limited_SOURCES = tests/programs/limited.c
tests_programs_limited_CFLAGS = $(SCI_CFLAGS)
tests_programs_limited_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/small-stacks
tests_programs_small_stacks_SOURCES = tests/programs/small-stacks.c
tests_programs_small_stacks_CFLAGS = $(SCI_CFLAGS)
tests_programs_small_stacks_LDFLAGS = -pthread
script_tests += tests/cases/harmless-limits.py tests/cases/harmless-stacks.py
noinst_PROGRAMS += tests/programs/own-calls
tests_programs_own_calls_SOURCES = tests/programs/own-calls.c
tests_programs_own_calls_CFLAGS = $(SCI_CFLAGS)
noinst_PROGRAMS += tests/programs/stream-lock
tests_programs_stream_lock_SOURCES = tests/programs/stream-lock.c
tests_programs_stream_lock_CFLAGS = $(SCI_CFLAGS)
tests_programs_stream_lock_LDFLAGS = -pthread
script_tests += tests/cases/posixio-stream-lock.py
noinst_PROGRAMS += tests/programs/signal-state
tests_programs_signal_state_SOURCES = tests/programs/signal-state.c
tests_programs_signal_state_CFLAGS = $(SCI_CFLAGS)
kernel_tests += tests/cases/harmless-folders.py tests/cases/harmless-launch.py
script_tests += tests/cases/harmless-paths.py
if HAVE_BPF
kernel_tests += tests/cases/causes.py
endif
noinst_PROGRAMS += tests/programs/rights
tests_programs_rights_SOURCES = tests/programs/rights.c
tests_programs_rights_CFLAGS = $(SCI_CFLAGS)
script_tests += tests/cases/harmless-rights.py tests/cases/harmless-merge.py
script_tests += tests/cases/posixio-taken-over.py tests/cases/posixio-mpi.sh
EXTRA_DIST += tests/programs/ranks.c
script_tests += tests/cases/posixio-functions.py tests/cases/posixio-strace.py \
	tests/cases/record-detail.sh
EXTRA_DIST += tests/programs/queued.c tests/programs/rings.c tests/programs/streams.cc tests/spool.py tests/bench/user.sh
noinst_PROGRAMS += tests/programs/short-threads
tests_programs_short_threads_SOURCES = tests/programs/short-threads.c
tests_programs_short_threads_CFLAGS = $(SCI_CFLAGS)
tests_programs_short_threads_LDFLAGS = -pthread
script_tests += tests/cases/posixio-short-threads.py tests/cases/posixio-full-disk.py
noinst_PROGRAMS += tests/programs/ends-early
tests_programs_ends_early_SOURCES = tests/programs/ends-early.c
tests_programs_ends_early_CFLAGS = $(SCI_CFLAGS)
tests_programs_ends_early_LDFLAGS = -pthread
script_tests += tests/cases/posixio-eztrace-ends.py
script_tests += tests/cases/posixio-spool.py tests/cases/posixio-paths.py tests/cases/posixio-programs.sh \
	tests/cases/posixio-eztrace.py tests/cases/posixio-life.py tests/cases/posixio-eztrace-life.py \
	tests/cases/posixio-eztrace-runs.py tests/cases/posixio-eztrace-callsite.py \
	tests/cases/posixio-callstack.py
EXTRA_DIST += tests/programs/callsites.c tests/programs/callsites.h \
	tests/programs/callsites-library.c tests/programs/exceptions.cpp tests/programs/blind.c \
	tests/programs/blind.h tests/programs/blind-frame.c
noinst_PROGRAMS += tests/bench/bench-user-ops
tests_bench_bench_user_ops_SOURCES = tests/bench/user-ops.c
tests_bench_bench_user_ops_CFLAGS = $(SCI_CFLAGS)
tests_bench_bench_user_ops_LDFLAGS = -pthread
noinst_PROGRAMS += tests/bench/floor.so
tests_bench_floor_so_SOURCES = tests/bench/floor.c
tests_bench_floor_so_CFLAGS = $(SCI_CFLAGS) -fPIC
tests_bench_floor_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@
noinst_PROGRAMS += tests/bench/bench-otf2
tests_bench_bench_otf2_SOURCES = tests/bench/otf2.c plugins/posixio/eztrace-memory.c
tests_bench_bench_otf2_LDADD = $(OTF2_LIBS)

# Programs that are run untraced and under each tracer, and are to do the same.
script_tests += tests/cases/harmless-own.py tests/cases/harmless-programs.py \
	tests/cases/harmless-sanitizers.py
EXTRA_DIST += tests/harmless.py tests/programs/harmless-iostream.cc \
	tests/programs/harmless-sanitized.c tests/suites
noinst_PROGRAMS += tests/programs/harmless-signals
tests_programs_harmless_signals_SOURCES = tests/programs/harmless-signals.c tests/programs/harmless.h
tests_programs_harmless_signals_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_signals_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-cancel
tests_programs_harmless_cancel_SOURCES = tests/programs/harmless-cancel.c tests/programs/harmless.h
tests_programs_harmless_cancel_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_cancel_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-descriptors
tests_programs_harmless_descriptors_SOURCES = tests/programs/harmless-descriptors.c tests/programs/harmless.h
tests_programs_harmless_descriptors_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_descriptors_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-processes
tests_programs_harmless_processes_SOURCES = tests/programs/harmless-processes.c tests/programs/harmless.h
tests_programs_harmless_processes_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_processes_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-streams
tests_programs_harmless_streams_SOURCES = tests/programs/harmless-streams.c tests/programs/harmless.h
tests_programs_harmless_streams_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_streams_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-memory
tests_programs_harmless_memory_SOURCES = tests/programs/harmless-memory.c tests/programs/harmless.h
tests_programs_harmless_memory_CFLAGS = $(SCI_CFLAGS)
tests_programs_harmless_memory_LDFLAGS = -pthread
noinst_PROGRAMS += tests/programs/harmless-library.so
tests_programs_harmless_library_so_SOURCES = tests/programs/harmless-library.c
tests_programs_harmless_library_so_CFLAGS = $(SCI_CFLAGS) -fPIC
tests_programs_harmless_library_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -o $@
noinst_PROGRAMS += tests/programs/harmless-beside.so
tests_programs_harmless_beside_so_SOURCES = tests/programs/harmless-beside.c
tests_programs_harmless_beside_so_CFLAGS = $(SCI_CFLAGS) -fPIC
tests_programs_harmless_beside_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -o $@
if HAVE_BPF
kernel_tests += tests/cases/harmless-both.py
endif

# The kernel tracer's.
EXTRA_DIST += tests/eztrace.py tests/kernel.py tests/kernel-probe.sh tests/kernel_spool.py tests/kernel_turn.py tests/scratch.py tests/bench/kernel.sh
kernel_tests += tests/cases/kernel-refused.sh tests/cases/eztrace-kernelio.sh
EXTRA_DIST += tests/bench/kernel-idle.c
if HAVE_BPF
noinst_PROGRAMS += tests/bench/bench-kernel-idle
tests_bench_bench_kernel_idle_SOURCES = tests/bench/kernel-idle.c
tests_bench_bench_kernel_idle_CFLAGS = $(SCI_CFLAGS) $(LIBBPF_CFLAGS)
tests_bench_bench_kernel_idle_LDADD = $(LIBBPF_LIBS)
kernel_tests += tests/cases/kernel-filter.py tests/cases/kernel-control.py \
	tests/cases/kernel-privileges.py
kernel_tests += tests/cases/kernel-calls.py tests/cases/kernel-compat.py tests/cases/kernel-counts.py \
	tests/cases/kernel-direct.py tests/cases/kernel-fs.py tests/cases/kernel-life.py \
	tests/cases/kernel-queue-ahead.py tests/cases/kernel-locks.py tests/cases/kernel-loss.py \
	tests/cases/kernel-owner.py tests/cases/kernel-reasons.py tests/cases/kernel-rings.py \
	tests/cases/kernel-namespace.py \
	tests/cases/kernel-skip.py tests/cases/kernel-own-calls.py tests/cases/record-namespaces.py
kernel_tests += tests/cases/kernel-backends.py
kernel_tests += tests/cases/merge-eztrace-builtin.py
endif

# What runs in the guest.
EXTRA_DIST += tests/guest/init tests/guest/kernel.sh
noinst_PROGRAMS += tests/guest/workload
tests_guest_workload_SOURCES = tests/guest/workload.c
tests_guest_workload_CFLAGS = $(SCI_CFLAGS)
tests_guest_workload_LDFLAGS = -pthread
noinst_PROGRAMS += tests/guest/stack
tests_guest_stack_SOURCES = tests/guest/stack.c
tests_guest_stack_CFLAGS = $(SCI_CFLAGS)

# Programs of the benches (tests/bench/*.sh).
noinst_PROGRAMS += tests/bench/bench-generate
tests_bench_bench_generate_SOURCES = tests/bench/generate.c
tests_bench_bench_generate_LDADD = $(COMMAND_LIBS)

noinst_PROGRAMS += tests/bench/bench-read
tests_bench_bench_read_SOURCES = tests/bench/read.c
tests_bench_bench_read_LDADD = $(COMMAND_LIBS)
EXTRA_DIST += tests/bench/archive.sh
.PHONY: bench-programs
bench-programs: $(noinst_PROGRAMS)

# Prints what eta-ext reads, for tests that compare it.
noinst_PROGRAMS += tests/programs/dump-trace
tests_programs_dump_trace_SOURCES = tests/programs/dump-trace.c
tests_programs_dump_trace_LDADD = eta-ext/libeta.la

noinst_PROGRAMS += tests/programs/write-random
tests_programs_write_random_SOURCES = tests/programs/write-random.c \
	tests/unit/random-trace.c tests/unit/random-trace.h \
	tests/unit/memory-trace.c tests/unit/memory-trace.h
tests_programs_write_random_LDADD = eta-ext/libeta.la
script_tests += tests/cases/otf2-tools.sh tests/cases/otf2-damage.sh tests/cases/otf2-python.py \
	tests/cases/otf2-foreign.sh tests/cases/otf2-pipit.py tests/cases/otf2-records.py
EXTRA_DIST += tests/data/README.md tests/data/guest-pairs.txt tests/data/apex.tar.xz tests/data/eztrace-writers.tar.xz \
	tests/data/scorep-ping-pong.tar.xz

# Logs of other tools, and inputs that fuzzing found (tests/fuzz/run.sh).
noinst_PROGRAMS += tests/fuzz/replay
tests_fuzz_replay_SOURCES = tests/fuzz/replay.c tests/fuzz/source.c tests/fuzz/fuzz.h
tests_fuzz_replay_LDADD = eta-ext/libeta.la
script_tests += tests/cases/import-logs.py tests/cases/import-forms.py tests/cases/import-damage.sh
script_tests += tests/cases/import-tools.py tests/cases/fuzz-corpus.sh
script_tests += tests/cases/import-ctf.py tests/cases/paje-round-trip.py
kernel_tests += tests/cases/import-ftrace.py
EXTRA_DIST += tests/data/recorded-logs.tar.xz tests/data/logs tests/fuzz/corpus tests/fuzz/found.tar.xz tests/fuzz/run.sh \
	tests/fuzz/libfuzzer.c tests/fuzz/pack.py tests/imports.py

# The whole chain.
EXTRA_DIST += tests/unified.py
kernel_tests += tests/cases/record-sudo.py tests/cases/record-fio.sh tests/cases/record-status.sh \
	tests/cases/record-verdict.sh tests/cases/record-queues.sh tests/cases/record-warnings.sh

# Archives for the analysis.
noinst_PROGRAMS += tests/programs/random-trace
tests_programs_random_trace_SOURCES = tests/programs/random-trace.c $(MEMORY_TRACE)
tests_programs_random_trace_LDADD = eta-ext/libeta.la
script_tests += tests/cases/analyze-misuse.sh tests/cases/analyze-full-disk.sh \
	tests/cases/analyze-json.py tests/cases/analyze-schema.py tests/cases/analyze-culprits.py \
	tests/cases/analyze-views.py tests/cases/analyze-compare.py tests/cases/analyze-machines.py \
	tests/cases/analyze-crowd.py
kernel_tests += tests/cases/analyze-container.sh tests/cases/analyze-unmerged.sh \
	tests/cases/paper-score.py tests/cases/analyze-workload.py
EXTRA_DIST += tests/paper_score.py tests/bench/analyze.sh

# Figures and experiments.
script_tests += tests/cases/plot.sh
kernel_tests += tests/cases/experiments.sh
