# A test is a program or a script that exits 0 (passed), 77 (skipped, saying why) or else (failed).
# Scripts source tests/lib.sh. Add a test, or a program for one: one file, and one line in a list below.
TEST_EXTENSIONS = .sh .py
SH_LOG_COMPILER = $(SHELL)
# Debian's interpreter: it has otf2
PY_LOG_COMPILER = /usr/bin/python3
AM_TESTS_ENVIRONMENT = \
	SCI_SRC='$(abs_top_srcdir)' SCI_BUILD='$(abs_top_builddir)' \
	SCI_SANITIZED='$(SCI_SANITIZE)' \
	SCI_PLUGIN_DIR='$(abs_top_builddir)/plugins' SCI_PLOT_DIR='$(abs_top_srcdir)/src/plot' \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/lsan.supp:print_suppressions=0' \
	PATH='$(abs_top_builddir)/src':"$$PATH"; \
	unset SUDO_UID; \
	export SCI_SRC SCI_BUILD SCI_SANITIZED SCI_PLUGIN_DIR SCI_PLOT_DIR LSAN_OPTIONS PATH;

unit_tests = \
	tests/unit/test-addresses \
	tests/unit/test-advice \
	tests/unit/test-blame \
	tests/unit/test-clock \
	tests/unit/test-clocks \
	tests/unit/test-columns \
	tests/unit/test-critical \
	tests/unit/test-cpu-history \
	tests/unit/test-dirty \
	tests/unit/test-durations \
	tests/unit/test-exchange \
	tests/unit/test-filter \
	tests/unit/test-golden \
	tests/unit/test-disk-map \
	tests/unit/test-guest-score \
	tests/unit/test-guests \
	tests/unit/test-headline \
	tests/unit/test-homes \
	tests/unit/test-kernel-spans \
	tests/unit/test-kernel-spool \
	tests/unit/test-lateness \
	tests/unit/test-levels \
	tests/unit/test-company \
	tests/unit/test-net-mounts \
	tests/unit/test-machines \
	tests/unit/test-match-requests \
	tests/unit/test-merge \
	tests/unit/test-merge-match \
	tests/unit/test-otf2 \
	tests/unit/test-otf2-runs \
	tests/unit/test-paged-array \
	tests/unit/test-printable \
	tests/unit/test-projection \
	tests/unit/test-properties \
	tests/unit/test-qemu-command \
	tests/unit/test-qmp \
	tests/unit/test-record-packet \
	tests/unit/test-reference \
	tests/unit/test-shortage \
	tests/unit/test-split \
	tests/unit/test-spool \
	tests/unit/test-spool-threads \
	tests/unit/test-spool-window \
	tests/unit/test-trace \
	tests/unit/test-verdict \
	tests/unit/test-worked-for

script_tests =
# the longest first
if HAVE_BPF
script_tests += tests/cases/export-examples.py tests/cases/kernel-guest.py
endif
script_tests += \
	tests/cases/analyze-compare.py \
	tests/cases/analyze-crowd.py \
	tests/cases/analyze-culprits.py \
	tests/cases/analyze-full-disk.sh \
	tests/cases/analyze-guests.py \
	tests/cases/analyze-habits.py \
	tests/cases/analyze-json.py \
	tests/cases/analyze-machines.py \
	tests/cases/analyze-mpi.py \
	tests/cases/analyze-misuse.sh \
	tests/cases/analyze-saved.py \
	tests/cases/analyze-window.py \
	tests/cases/analyze-schema.py \
	tests/cases/analyze-shared.py \
	tests/cases/analyze-views.py \
	tests/cases/completions.py \
	tests/cases/examples.py \
	tests/cases/export-guests.py \
	tests/cases/export.sh \
	tests/cases/faults.py \
	tests/cases/fuzz-corpus.sh \
	tests/cases/fuzz-options.py \
	tests/cases/html-browser.py \
	tests/cases/html-data.py \
	tests/cases/html-missing.py \
	tests/cases/harmless-calls.py \
	tests/cases/harmless-env.sh \
	tests/cases/harmless-hosts.py \
	tests/cases/harmless-limits.py \
	tests/cases/harmless-merge.py \
	tests/cases/harmless-outputs.py \
	tests/cases/harmless-own.py \
	tests/cases/harmless-paths.py \
	tests/cases/harmless-programs.py \
	tests/cases/harmless-rights.py \
	tests/cases/harmless-sandbox.py \
	tests/cases/harmless-sanitizers.py \
	tests/cases/harmless-stacks.py \
	tests/cases/harmless-suites.sh \
	tests/cases/harmless-text.py \
	tests/cases/help.py \
	tests/cases/import-ctf.py \
	tests/cases/import-damage.sh \
	tests/cases/import-forms.py \
	tests/cases/import-logs.py \
	tests/cases/import-tools.py \
	tests/cases/library.sh \
	tests/cases/merge-ctf.py tests/cases/merge-guests.py tests/cases/merge-vms.py \
	tests/cases/merge-limits.sh \
	tests/cases/merge-clock-error.py \
	tests/cases/merge-links.py \
	tests/cases/merge.sh \
	tests/cases/messages.py \
	tests/cases/otf2-damage.sh \
	tests/cases/otf2-foreign.sh \
	tests/cases/otf2-pipit.py \
	tests/cases/otf2-python.py \
	tests/cases/otf2-records.py \
	tests/cases/otf2-tracks.py \
	tests/cases/otf2-tools.sh \
	tests/cases/paje-round-trip.py \
	tests/cases/plot.sh \
	tests/cases/posixio-callstack.py \
	tests/cases/posixio-eztrace-callsite.py \
	tests/cases/posixio-ends.py \
	tests/cases/posixio-eztrace-ends.py \
	tests/cases/posixio-eztrace-processes.py \
	tests/cases/posixio-eztrace-runs.py \
	tests/cases/posixio-eztrace.py \
	tests/cases/posixio-full-disk.py \
	tests/cases/posixio-functions.py \
	tests/cases/posixio-processes.py \
	tests/cases/posixio-loading.py \
	tests/cases/posixio-last-names.py \
	tests/cases/posixio-mpi-io.py \
	tests/cases/posixio-mpi.sh \
	tests/cases/posixio-names.py \
	tests/cases/posixio-paths.py \
	tests/cases/posixio-programs.sh \
	tests/cases/posixio-short-threads.py \
	tests/cases/posixio-spool.py \
	tests/cases/posixio-strace.py \
	tests/cases/posixio-stream-lock.py \
	tests/cases/posixio-descriptors.py \
	tests/cases/posixio-taken-over.py \
	tests/cases/record-answer.sh \
	tests/cases/record-clocks.py \
	tests/cases/record-detail.sh \
	tests/cases/spool-damage.py \
	tests/cases/versions.py \
	tests/cases/vm-extents.py \
	tests/cases/waits.py

# They trace the kernel, one at a time: each takes its turn with tests/kernel.py, or kernel_turn of tests/lib.sh.
kernel_tests = \
	tests/cases/analyze-container.sh \
	tests/cases/analyze-unmerged.sh \
	tests/cases/analyze-workload.py \
	tests/cases/experiments.sh \
	tests/cases/examples-record.py \
	tests/cases/eztrace-kernelio.sh \
	tests/cases/harmless-folders.py \
	tests/cases/harmless-launch.py \
	tests/cases/import-ftrace.py \
	tests/cases/kernel-refused.sh \
	tests/cases/merge-projection.sh \
	tests/cases/paper-score.py \
	tests/cases/record-fio.sh \
	tests/cases/record-job.py \
	tests/cases/record-queues.sh \
	tests/cases/record-size.py \
	tests/cases/record-status.sh \
	tests/cases/record-sudo.py \
	tests/cases/record-verdict.sh \
	tests/cases/record-warnings.sh \
	tests/cases/top.py
if HAVE_BPF
# What these look at are the kernel's programs, which no sanitizer sees: ./dev check runs them in the normal build only.
probe_tests = \
	tests/cases/kernel-asleep.py \
	tests/cases/kernel-between.py \
	tests/cases/kernel-calls.py \
	tests/cases/kernel-cold-memory.py \
	tests/cases/kernel-commits.py \
	tests/cases/kernel-compat.py \
	tests/cases/kernel-direct-commit.py \
	tests/cases/kernel-direct.py \
	tests/cases/kernel-dirty.py \
	tests/cases/kernel-eviction.py \
	tests/cases/kernel-exit.py \
	tests/cases/kernel-fanotify.py \
	tests/cases/kernel-faults.py \
	tests/cases/kernel-flushed.py \
	tests/cases/kernel-habits.py \
	tests/cases/kernel-late.py \
	tests/cases/kernel-light.py \
	tests/cases/kernel-light-syncs.py \
	tests/cases/kernel-limited-disk.py \
	tests/cases/kernel-lock-for.py \
	tests/cases/kernel-locks.py \
	tests/cases/kernel-maps.py \
	tests/cases/kernel-loop.py \
	tests/cases/kernel-metadata.py \
	tests/cases/kernel-before.py \
	tests/cases/kernel-discard.py \
	tests/cases/kernel-neighbours.py \
	tests/cases/kernel-owner.py \
	tests/cases/kernel-queue-ahead.py \
	tests/cases/kernel-renamed.py \
	tests/cases/kernel-scheduler.py \
	tests/cases/kernel-sync.py \
	tests/cases/kernel-unseen.py \
	tests/cases/kernel-uring.py \
	tests/cases/kernel-uring-ready.py \
	tests/cases/kernel-worked-for.py \
	tests/cases/kernel-written.py
# Those of them that take half a minute or more: ./dev check leaves them to CI.
long_tests = \
	tests/cases/kernel-async-raw.py \
	tests/cases/kernel-changes.py \
	tests/cases/kernel-file-locks.py \
	tests/cases/kernel-fs.py \
	tests/cases/kernel-fuse.py \
	tests/cases/kernel-limits.py \
	tests/cases/kernel-realtime.py \
	tests/cases/kernel-reasons.py \
	tests/cases/kernel-short-processes.py \
	tests/cases/kernel-swap.py \
	tests/cases/kernel-worker.py
kernel_tests += \
	tests/cases/causes.py \
	tests/cases/harmless-both.py \
	tests/cases/kernel-backends.py \
	tests/cases/kernel-control.py \
	tests/cases/kernel-counts.py \
	tests/cases/kernel-filter.py \
	tests/cases/kernel-processes.py \
	tests/cases/kernel-last-names.py \
	tests/cases/kernel-leaving.py \
	tests/cases/kernel-left-calls.py \
	tests/cases/kernel-loss.py \
	tests/cases/kernel-names.py \
	tests/cases/kernel-namespace.py \
	tests/cases/kernel-own-calls.py \
	tests/cases/kernel-privileges.py \
	tests/cases/kernel-rings.py \
	tests/cases/kernel-side-alone.py \
	tests/cases/kernel-skip.py \
	tests/cases/kernel-unnamed.py \
	tests/cases/kernel-vm.py \
	tests/cases/kernel-net-counts.py \
	tests/cases/kernel-vm-counts.py \
	tests/cases/merge-eztrace-builtin.py \
	tests/cases/record-namespaces.py \
	tests/cases/record-runs.py
endif

# They boot machines and work in them for a minute or more: make check TESTS=tests/cases/kernel-vm-guest.py
slow_tests = tests/cases/kernel-nfs.py tests/cases/kernel-9p.py tests/cases/kernel-suspend.py \
	tests/cases/kernel-vm-guest.py tests/cases/kernel-vm-qcow2.py tests/cases/kernel-vm-score.py \
	tests/cases/overhead-guests.py tests/cases/kernel-vm-grows.py tests/cases/kernel-vm-steal.py \
	tests/cases/kernel-vm-sync.py

TESTS += $(check_PROGRAMS) $(script_tests) $(kernel_tests) $(probe_tests) $(long_tests)
EXTRA_DIST += $(script_tests) $(kernel_tests) $(probe_tests) $(long_tests) $(slow_tests) tests/package/try.sh

# Both may run at once, when all is built.
.PHONY: check-kernel check-others check-unit check-threads
check-kernel:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(probe_tests) $(kernel_tests) $(long_tests)' TEST_SUITE_LOG=$@.suite
check-others:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(script_tests) $(check_PROGRAMS)' TEST_SUITE_LOG=$@.suite
# under an emulator, where the others are of no use: tests/cross.sh
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)' TEST_SUITE_LOG=$@.suite
# what analysis and merge do in several threads, for ThreadSanitizer: only what these need is built
thread_tests = \
	tests/unit/test-blame \
	tests/unit/test-merge \
	tests/unit/test-merge-match \
	tests/unit/test-split \
	tests/unit/test-spool-window
thread_programs = src/sci-analyze src/sci-export src/sci-merge tests/programs/make-spool tests/programs/random-trace
check-threads: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TEST_SUITE_LOG=$@.suite \
		check_PROGRAMS='$(thread_tests) $(thread_programs)' \
		TESTS='$(thread_tests) tests/cases/analyze-json.py'
CLEANFILES += check-kernel.suite check-others.suite check-unit.suite check-threads.suite kernel-probe
# the guest's kernel, and a cache of fonts
distclean-local:
	-rm -rf guest guests tests/matplotlib

# ---- programs ----
# Each is made of the C file of its name. What is made with which flags is said for all of a list at once.

# Programs that are traced: none of our libraries, no sanitizer.
traced_programs = \
	tests/guest/remote \
	tests/guest/stack \
	tests/guest/host-clock \
	tests/guest/workload \
	tests/faults/crowd \
	tests/faults/inject \
	tests/faults/writer \
	tests/programs/calls \
	tests/programs/confined \
	tests/programs/ends-early \
	tests/programs/fortified \
	tests/programs/functions \
	tests/programs/harmless-calls \
	tests/programs/harmless-cancel \
	tests/programs/harmless-descriptors \
	tests/programs/harmless-memory \
	tests/programs/harmless-processes \
	tests/programs/harmless-signals \
	tests/programs/harmless-streams \
	tests/programs/held-stream \
	tests/programs/left-calls \
	tests/programs/lfs64 \
	tests/programs/processes \
	tests/programs/limited \
	tests/programs/own-calls \
	tests/programs/own-ring \
	tests/programs/rights \
	tests/programs/short-threads \
	tests/programs/signal-state \
	tests/programs/small-stacks \
	tests/programs/stream-lock \
	tests/programs/taken-over
noinst_PROGRAMS += $(traced_programs)
$(traced_programs): AM_CFLAGS = $(SCI_CFLAGS)
$(traced_programs): AM_LDFLAGS = -pthread

# Libraries that these preload or open.
traced_libraries = \
	tests/bench/floor.so \
	tests/faults/clock-error.so \
	tests/faults/clock-steps.so \
	tests/programs/harmless-beside.so \
	tests/programs/harmless-library.so
noinst_PROGRAMS += $(traced_libraries)
$(traced_libraries): AM_CFLAGS = $(SCI_CFLAGS) -fPIC
$(traced_libraries): LINK = $(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -o $@

# Programs that make traces and print them. What they share with the unit tests: traces in memory, random
# ones, spools without a tracer, events as text.
trace_programs = \
	tests/programs/dump-trace \
	tests/programs/follow-spool \
	tests/programs/make-calls \
	tests/programs/make-guests \
	tests/programs/make-hosts \
	tests/programs/make-machines \
	tests/programs/make-nodes \
	tests/programs/make-spool \
	tests/programs/make-vms \
	tests/programs/random-trace \
	tests/programs/write-random
noinst_PROGRAMS += $(trace_programs)
noinst_LIBRARIES += tests/unit/libunit.a
tests_unit_libunit_a_SOURCES = tests/unit/unit.h tests/unit/scratch.h \
	tests/unit/events.c tests/unit/events.h \
	tests/unit/guest-trace.c tests/unit/guest-trace.h \
	tests/unit/kernel-expansions.h tests/unit/kernel-maker.c tests/unit/kernel-maker.h \
	tests/unit/memory-trace.c tests/unit/memory-trace.h tests/unit/merge-cases.h \
	tests/unit/random-trace.c tests/unit/random-trace.h \
	tests/unit/spool-maker.c tests/unit/spool-maker.h
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
tests_unit_libunit_a_SOURCES += tests/unit/score-trace.c tests/unit/score-trace.h \
	tests/unit/same-events.c tests/unit/same-events.h
endif
test_libraries = tests/unit/libunit.a src/libanalysis.a src/libcli.a eta-ext/libspool.a eta-ext/libeta.a
$(trace_programs) $(unit_tests): $(test_libraries)
TEST_LIBS = $(test_libraries) $(ETA_LIBS) -lm -lpthread
$(trace_programs): LDADD = $(TEST_LIBS)
tests_programs_follow_spool_SOURCES = tests/programs/follow-spool.c \
	src/top/rates.c src/top/rates.h \
	src/top/slices.c src/top/slices.h \
	src/top/sum.c src/top/sum.h \
	src/top/window.c src/top/window.h
$(unit_tests): LDADD = $(TEST_LIBS) $(CMOCKA_LIBS)
tests_unit_test_qemu_command_LDADD = src/libvm.a $(LDADD)
tests_unit_test_net_mounts_SOURCES = tests/unit/test-net-mounts.c plugins/kernelio/net-mounts.c
tests_unit_test_qmp_LDADD = src/libvm.a $(LDADD)
tests_unit_test_advice_SOURCES = tests/unit/test-advice.c $(ANSWER)
tests_unit_test_advice_CPPFLAGS = $(AM_CPPFLAGS)
# these are of the tracers' own sources
tests_unit_test_clock_SOURCES = tests/unit/test-clock.c plugins/posixio/clock.c
tests_unit_test_clock_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_dirty_SOURCES = tests/unit/test-dirty.c plugins/kernelio/dirty.c
tests_unit_test_dirty_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_filter_SOURCES = tests/unit/test-filter.c plugins/posixio/filter.c plugins/posixio/filter.h
tests_unit_test_filter_CPPFLAGS = $(AM_CPPFLAGS)

# Inputs that fuzzing found are read again (tests/fuzz/run.sh).
noinst_PROGRAMS += tests/fuzz/replay
tests_fuzz_replay_SOURCES = tests/fuzz/replay.c tests/fuzz/inputs.c tests/fuzz/reports.c tests/fuzz/source.c tests/fuzz/vm.c \
	tests/fuzz/fuzz.h $(EXPORTING)
tests_fuzz_replay_CPPFLAGS = $(src_sci_export_CPPFLAGS)
tests_fuzz_replay_LDADD = src/libvm.a $(EXPORT_LIBS) $(ANALYZE_LIBS)

# Programs of the benches (tests/bench/*.sh).
noinst_PROGRAMS += tests/bench/bench-copy
tests_bench_bench_copy_SOURCES = tests/bench/copy.c
tests_bench_bench_copy_LDADD = $(ETA_LIBS)
noinst_PROGRAMS += tests/bench/bench-generate
tests_bench_bench_generate_SOURCES = tests/bench/generate.c
tests_bench_bench_generate_LDADD = $(COMMAND_LIBS)
noinst_PROGRAMS += tests/bench/bench-read
tests_bench_bench_read_SOURCES = tests/bench/read.c
tests_bench_bench_read_LDADD = $(COMMAND_LIBS)
noinst_PROGRAMS += tests/bench/bench-otf2
tests_bench_bench_otf2_SOURCES = tests/bench/otf2.c eta-ext/format/otf2-memory.c
tests_bench_bench_otf2_LDADD = $(OTF2_LIBS)
noinst_PROGRAMS += tests/bench/bench-user-ops
tests_bench_bench_user_ops_SOURCES = tests/bench/user-ops.c
tests_bench_bench_user_ops_CFLAGS = $(SCI_CFLAGS)
tests_bench_bench_user_ops_LDFLAGS = -pthread
noinst_PROGRAMS += tests/bench/bench-kernel-idle
tests_bench_bench_kernel_idle_SOURCES = tests/bench/kernel-idle.c
tests_bench_bench_kernel_idle_CFLAGS = $(SCI_CFLAGS)
if HAVE_BPF
noinst_PROGRAMS += tests/bench/bench-empty-probes
tests_bench_bench_empty_probes_SOURCES = tests/bench/empty-probes.c
tests_bench_bench_empty_probes_CFLAGS = $(SCI_CFLAGS) $(LIBBPF_CFLAGS)
tests_bench_bench_empty_probes_LDADD = $(LIBBPF_LIBS)
endif
.PHONY: bench-programs
bench-programs: $(noinst_PROGRAMS)

# ---- what else the tests need ----
EXTRA_DIST += \
	tests/analyze.sh \
	tests/bench/analyze.sh \
	tests/bench/archive.sh \
	tests/bench/empty-probes.c \
	tests/bench/kernel.sh \
	tests/bench/look.mjs \
	tests/bench/look.py \
	tests/bench/peers.py \
	tests/bench/scale.py \
	tests/bench/vm.py \
	tests/bench/merge.sh \
	tests/bench/user.sh \
	tests/cases/analyze-views.txt \
	tests/circles.py \
	tests/cppcheck.h \
	tests/cppcheck.sh \
	tests/cross.sh \
	tests/data/README.md \
	tests/data/apex.tar.xz \
	tests/data/big-endian.tar.xz \
	tests/data/eztrace-writers.tar.xz \
	tests/data/guest-pairs.txt \
	tests/data/logs \
	tests/data/recorded-logs.tar.xz \
	tests/data/scorep-ping-pong.tar.xz \
	tests/export.py \
	tests/eztrace.py \
	tests/faults/commands.py \
	tests/faults/faults.py \
	tests/faults/kills.py \
	tests/faults/surroundings.py \
	tests/faults/table.py \
	tests/faults/writes.py \
	tests/fuzz/corpus \
	tests/fuzz/coverage.sh \
	tests/fuzz/fail.c \
	tests/fuzz/found.tar.xz \
	tests/fuzz/libfuzzer.c \
	tests/fuzz/options.py \
	tests/fuzz/pack.py \
	tests/fuzz/run.sh \
	tests/fuzz/sources.sh \
	tests/guest/init \
	tests/guest/nfs-init tests/guest/9p-init tests/guest/suspend-init \
	tests/guest/vm-init \
	tests/guest/overhead-init tests/guest/phases-init tests/guest/vm-score-init \
	tests/guest/kernel.sh \
	tests/demo-vm.py \
	tests/ctf.py tests/guests.py \
	tests/qemu.py \
	tests/guest/kernels.py \
	tests/harmless.py \
	tests/imports.py \
	tests/kernel-probe.sh \
	tests/kernel.py \
	tests/page.mjs \
	tests/page.py \
	tests/kernel_spool.py \
	tests/renames.py \
	tests/waits.py \
	tests/kernel_turn.py \
	tests/get-sources.sh \
	tests/lib.sh \
	tests/lsan.supp \
	tests/paper_score.py \
	tests/perfetto.py \
	tests/programs/blind-frame.c \
	tests/programs/blind.c \
	tests/programs/blind.h \
	tests/programs/callsites-library.c \
	tests/programs/callsites.c \
	tests/programs/callsites.h \
	tests/programs/exceptions.cpp \
	tests/programs/harmless-calls.h \
	tests/programs/harmless-iostream.cc \
	tests/programs/harmless-sanitized.c \
	tests/programs/harmless.h \
	tests/programs/queued.c \
	tests/programs/mpi-errors.c \
	tests/programs/ranks.c \
	tests/programs/rings.c \
	tests/programs/streams.cc \
	tests/projection.py \
	tests/reach.py \
	tests/release.py \
	tests/scratch.py \
	tests/spool.py \
	tests/suites \
	tests/unified.py \
	tests/viewers/package-lock.json \
	tests/viewers/package.json \
	tests/viewers/speedscope.mjs
