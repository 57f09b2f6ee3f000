# The commands. Shared by all: libcli.
noinst_LIBRARIES += src/libcli.a
src_libcli_a_SOURCES = \
	src/cli.c src/cli.h \
	src/launch.c src/launch.h \
	src/nearest.c src/nearest.h \
	src/options.c src/options.h \
	src/outputs.c src/outputs.h \
	src/privileges.c src/privileges.h
COMMAND_LIBS = src/libcli.a $(ETA_LIBS)

# The analysis, without any printing, and the reports.
noinst_LIBRARIES += src/libanalysis.a
src_libanalysis_a_SOURCES = \
	src/analysis/tables/accesses.c src/analysis/tables/accesses.h \
	src/analysis/passes/analysis.c src/analysis/tables/analysis.h \
	src/analysis/passes/application.c \
	src/analysis/tables/analysis-options.h src/analysis/tables/scores.h \
	src/analysis/sweep/attribute.c src/analysis/sweep/loss.h \
	src/analysis/sweep/spread.c \
	src/analysis/sweep/pieces.c \
	src/analysis/tables/baseline.c src/analysis/tables/baseline.h \
	src/analysis/passes/bins-score.c \
	src/analysis/passes/command-lines.c \
	src/analysis/passes/between.c \
	src/analysis/passes/limits.c \
	src/analysis/tables/blame.c src/analysis/tables/blame.h \
	src/analysis/sweep/blame-bound.c \
	src/analysis/passes/blame-score.c \
	src/analysis/tables/callsites.c src/analysis/tables/callsites.h \
	src/analysis/passes/callsites-score.c \
	src/analysis/passes/critical.c \
	src/analysis/tables/cells.c src/analysis/tables/cells.h \
	src/analysis/tables/classes.c src/analysis/tables/classes.h \
	src/analysis/sweep/crowd.c src/analysis/sweep/crowd.h \
	src/analysis/tables/company.c src/analysis/tables/company.h \
	src/analysis/passes/company.c \
	src/analysis/exchange/company-exchange.c \
	src/analysis/sweep/elsewhere.c \
	src/analysis/tables/durations.c src/analysis/tables/durations.h \
	src/analysis/tables/engine.c src/analysis/tables/engine.h \
	src/analysis/tables/location-result.c src/analysis/tables/location-result.h \
	src/analysis/tables/file-names.c src/analysis/tables/file-names.h \
	src/analysis/passes/files-score.c \
	src/analysis/tables/habits.c src/analysis/tables/habits.h \
	src/analysis/tables/io-time.c src/analysis/tables/io-time.h \
	src/analysis/tables/longer.c src/analysis/tables/longer.h \
	src/analysis/tables/earlier.c src/analysis/tables/earlier.h \
	src/analysis/exchange/class-packet.c src/analysis/exchange/class-packet.h \
	src/analysis/exchange/collect.c src/analysis/exchange/deal.c src/analysis/exchange/divide.c \
	src/analysis/exchange/loads.h \
	src/analysis/exchange/engine-exchange.h \
	src/analysis/exchange/exchange.c src/analysis/exchange/exchange.h \
	src/analysis/exchange/found-exchange.c \
	src/analysis/exchange/pass-exchange.c \
	src/analysis/exchange/record-packet.c src/analysis/exchange/record-packet.h \
	src/analysis/exchange/reference-exchange.c \
	src/analysis/exchange/rows-exchange.c \
	src/analysis/passes/habits-score.c \
	src/analysis/passes/find-references.c \
	src/common/columns.c src/common/columns.h \
	src/common/clock-error.c src/common/clock-error.h \
	src/common/hash.h \
	src/analysis/tables/level-regions.c src/analysis/tables/walk.h \
	src/common/machines.c src/common/machines.h \
	src/common/machine-tree.c src/common/machine-tree.h \
	src/common/vm-name.c src/common/vm-name.h \
	src/analysis/tables/operations.c src/analysis/tables/operations.h \
	src/common/packet.c src/common/packet.h \
	src/common/parallel.c src/common/parallel.h \
	src/analysis/passes/pass.c src/analysis/passes/passes.h \
	src/analysis/sweep/work.c \
	src/analysis/sweep/own-work.c \
	src/analysis/sweep/plan.c \
	src/analysis/sweep/presence.c src/analysis/sweep/presence.h \
	src/analysis/tables/record-words.h \
	src/analysis/tables/shortage.c src/analysis/tables/records.c src/analysis/tables/records.h \
	src/analysis/tables/reference.c src/analysis/tables/reference.h \
	src/analysis/passes/references.c \
	src/analysis/tables/regions.c \
	src/analysis/tables/resources.c src/analysis/tables/resources.h \
	src/analysis/tables/slowed.c src/analysis/tables/slowed.h \
	src/analysis/passes/slowed-score.c \
	src/analysis/passes/task-names.c \
	src/analysis/tables/slowdown.c src/analysis/tables/slowdown.h \
	src/analysis/passes/score.c \
	src/common/share.c src/common/share.h \
	src/common/shares.c src/common/shares.h \
	src/common/spaces.c src/common/spaces.h \
	src/common/slots.c src/common/slots.h \
	src/common/spill.c src/common/spill.h \
	src/analysis/sweep/sweep.c src/analysis/sweep/sweep.h \
	src/analysis/sweep/engine-sweep.h \
	src/analysis/sweep/thread.c \
	src/analysis/passes/thread-of.c \
	src/analysis/tables/verdict.c src/analysis/tables/verdict.h \
	src/analysis/sweep/waits.c src/analysis/sweep/waits.h \
	src/analysis/sweep/weights.c src/analysis/sweep/weights.h \
	src/analysis/passes/worked-for.c \
	src/analysis/passes/workload.c src/analysis/passes/workload.h \
	src/analysis/passes/workload-disks.c \
	src/analysis/passes/workload-rows.c src/analysis/passes/workload-rows.h
ANALYSIS_LIBS = src/libanalysis.a $(COMMAND_LIBS) -lm -lpthread

# The first screen of a report, for those that show no more of it.
ANSWER = \
	src/report/advice.c src/report/advice.h \
	src/report/answer.c \
	src/report/culprits.c src/report/culprits.h \
	src/report/layers.c src/report/layers.h \
	src/report/phrases.c \
	src/report/premises.c src/report/premises.h \
	src/report/report.h \
	src/report/screen.c src/report/screen.h \
	src/report/table.c src/report/table.h src/report/table-cells.h src/report/trace-rows.h \
	src/report/words.c src/report/words.h

# What sci-analyze does, for the process alone and for those of mpirun.
noinst_LIBRARIES += src/libanalyze.a
src_libanalyze_a_SOURCES = \
	$(ANSWER) \
	src/analyze.c src/analyze.h \
	src/analyze-jobs.c src/analyze-jobs.h \
	src/analyze-options.c src/analyze-options.h \
	src/common/progress.c src/common/progress.h \
	src/inputs.c src/inputs.h \
	src/report/compare.c src/report/compare.h \
	src/report/html/data.c src/report/html/data.h \
	src/report/html/first.c src/report/html/first.h \
	src/report/html/gather.c src/report/html/gather.h \
	src/report/html/html.c src/report/html/html.h \
	src/report/html/lanes.c src/report/html/lanes.h src/report/html/lanes-put.c \
	src/report/html/pack.c src/report/html/pack.h \
	src/report/html/page.c src/report/html/page.h \
	src/report/html/workload.c src/report/html/workload.h \
	src/report/json.c src/report/json-set.h \
	src/report/score-columns.c \
	src/report/table-forms.c \
	src/report/text.c \
	src/report/view-blame.c \
	src/report/view-callsite.c \
	src/report/view-class.c \
	src/report/view-device.c \
	src/report/view-file.c \
	src/report/process-sums.c src/report/process-sums.h \
	src/report/view-container.c \
	src/report/json-habits.c src/report/json-habits.h \
	src/report/json-layers.c src/report/json-layers.h \
	src/report/json-sums.c src/report/json-sums.h \
	src/report/view-machine.c \
	src/report/view-node.c \
	src/report/view-rank.c \
	src/report/view-process.c \
	src/report/view-thread.c \
	src/report/view-timeline.c \
	src/report/guest-disks.c src/report/guest-disks.h \
	src/report/unnamed.c src/report/unnamed.h \
	src/report/vm-files.c src/report/vm-files.h \
	src/report/vm-file-columns.c src/report/vm-file-columns.h \
	src/report/views.c src/report/views-arrange.c src/report/views.h \
	src/report/workload.c src/report/workload.h \
	src/symbols.c \
	src/symbols.h \
	src/export/output.c src/export/output.h \
	src/common/texts.c src/common/texts.h
src_libanalyze_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBDW_CFLAGS) $(ZLIB_CFLAGS) \
	-DSCI_PAGE_FILE='"$(abs_top_srcdir)/web/page.html"'
# the page is built from web/ by "./dev page"; building needs none of that
page_object = src/report/html/libanalyze_a-page.$(OBJEXT)
$(page_object): $(srcdir)/web/page.html
web_sources = web/src/data.js web/src/dom.js web/src/format.js web/src/lanes.js web/src/main.js \
	web/src/matrix.js web/src/missing.js web/src/page.html web/src/series.js web/src/style.css web/src/tables.js web/src/timeline.js
EXTRA_DIST += web/page.html web/package.json web/package-lock.json web/.npmrc web/build.mjs web/picture.mjs $(web_sources)

ANALYZE_LIBS = src/libanalyze.a $(ANALYSIS_LIBS) $(LIBDW_LIBS) $(ZLIB_LIBS)

bin_PROGRAMS += src/sci-analyze
src_sci_analyze_SOURCES = src/sci-analyze.c
src_sci_analyze_LDADD = $(ANALYZE_LIBS)

if HAVE_MPI
bin_PROGRAMS += src/sci-analyze-mpi
src_sci_analyze_mpi_SOURCES = src/sci-analyze-mpi.c
src_sci_analyze_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
src_sci_analyze_mpi_LDADD = $(ANALYZE_LIBS) $(MPI_LIBS)
endif

bin_PROGRAMS += src/sci-merge
MERGING = src/merging.c src/merging.h src/inputs.c src/inputs.h src/tracer-warnings.c src/tracer-warnings.h \
	src/common/progress.c src/common/progress.h
src_sci_merge_SOURCES = \
	src/sci-merge.c \
	src/clock-options.c src/clock-options.h \
	$(MERGING)
src_sci_merge_LDADD = $(COMMAND_LIBS)

bin_PROGRAMS += src/sci-export
EXPORTING = \
	src/export/chrome.c src/export/csv.c src/export/export.c src/export/export.h \
	src/export/folded.c src/export/in-order.c src/export/in-order.h \
	src/export/links.c src/export/links.h src/export/numbers.c src/export/numbers.h \
	src/export/paje.c src/export/perfetto.c src/export/perfetto.h \
	src/export/score.c src/export/score.h src/export/dirty.c src/export/dirty.h
src_sci_export_SOURCES = \
	src/sci-export.c \
	$(EXPORTING) \
	src/export/output.c src/export/output.h \
	src/inputs.c src/inputs.h \
	src/common/progress.c src/common/progress.h \
	src/common/texts.c src/common/texts.h
src_sci_export_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PROTOBUF_C_CFLAGS)
EXPORT_LIBS =
EXTRA_DIST += src/export/perfetto.proto
if HAVE_PROTOBUF_C
EXPORTING += src/export/perfetto-tracks.c
# code that protoc-c writes has its own warnings
noinst_LIBRARIES += src/libperfetto.a
nodist_src_libperfetto_a_SOURCES = src/export/perfetto.pb-c.c src/export/perfetto.pb-c.h
src_libperfetto_a_CFLAGS = $(SCI_SANITIZE) $(PROTOBUF_C_CFLAGS) -w
EXPORT_LIBS += src/libperfetto.a $(PROTOBUF_C_LIBS)
BUILT_SOURCES += src/export/perfetto.pb-c.h
CLEANFILES += src/export/perfetto.pb-c.c src/export/perfetto.pb-c.h
src/export/perfetto.pb-c.h: $(srcdir)/src/export/perfetto.proto
	$(AM_V_GEN)mkdir -p src/export && $(PROTOC_C) --proto_path=$(srcdir)/src/export --c_out=src/export \
		$(srcdir)/src/export/perfetto.proto
src/export/perfetto.pb-c.c: src/export/perfetto.pb-c.h
endif
src_sci_export_LDADD = $(EXPORT_LIBS) $(ANALYSIS_LIBS)

bin_PROGRAMS += src/sci-import
src_sci_import_SOURCES = src/sci-import.c $(MERGING)
src_sci_import_LDADD = $(COMMAND_LIBS)

bin_PROGRAMS += src/sci-kernel
src_sci_kernel_SOURCES = \
	src/sci-kernel.c \
	src/kernel-options.c src/kernel-options.h \
	src/net-counts.c src/net-counts.h \
	src/processes.c src/processes.h \
	src/snapshot.c src/snapshot.h \
	src/watch.c src/watch.h
src_sci_kernel_LDADD = src/libvm.a $(KERNELIO_LIBS) $(COMMAND_LIBS)

# Virtual machines: QEMU's processes and images.
noinst_LIBRARIES += src/libvm.a
src_libvm_a_SOURCES = \
	src/common/looks.c src/common/looks.h \
	src/vm/image.c src/vm/image.h \
	src/vm/machines.c src/vm/machines.h \
	src/vm/disk-counts.c src/vm/disk-counts.h \
	src/vm/disk-maps.c src/vm/disk-maps.h \
	src/vm/extents.c src/vm/extents.h src/vm/extents-table.c src/vm/extents-table.h \
	src/vm/pieces.c src/vm/pieces.h \
	src/vm/qcow2-bytes.h src/vm/qcow2-map.c src/vm/qcow2-map.h src/vm/qcow2.c src/vm/qcow2.h \
	src/vm/qemu-command.c src/vm/qemu-command.h \
	src/vm/qemu-keys.c src/vm/qemu-keys.h \
	src/vm/qmp.c src/vm/qmp.h \
	src/vm/list.c src/vm/list.h \
	src/vm/table.c src/vm/table.h
src_libvm_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

if HAVE_CURSES
bin_PROGRAMS += src/sci-top
src_sci_top_SOURCES = \
	src/sci-top.c \
	src/common/texts.c src/common/texts.h \
	src/export/output.c src/export/output.h \
	src/report/culprits.c src/report/culprits.h \
	src/report/layers.c src/report/layers.h \
	src/report/phrases.c \
	src/report/process-sums.c src/report/process-sums.h \
	src/report/report.h \
	src/report/score-columns.c \
	src/report/table.c src/report/table.h src/report/table-cells.h \
	src/report/table-forms.c \
	src/report/view-container.c \
	src/report/view-thread.c \
	src/report/views-arrange.c src/report/views.h \
	src/report/words.c src/report/words.h \
	src/top/frame.c src/top/frame.h \
	src/top/json.c src/top/output.c src/top/output.h \
	src/top/rates.c src/top/rates.h \
	src/top/screen.c src/top/screen.h \
	src/top/slices.c src/top/slices.h \
	src/top/sum.c src/top/sum.h \
	src/top/tables.c \
	src/top/window.c src/top/window.h
src_sci_top_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURSES_CFLAGS)
src_sci_top_LDADD = $(KERNELIO_LIBS) $(ANALYSIS_LIBS) $(CURSES_LIBS)
endif

bin_PROGRAMS += src/sci-record
src_sci_record_SOURCES = \
	src/sci-record.c \
	src/after-run.c src/after-run.h \
	src/folder-name.c src/folder-name.h \
	src/job.c src/job.h \
	src/job-link.c src/job-link.h \
	src/job-node.c src/job-node.h \
	src/node-clock.c src/node-clock.h \
	src/job-rank.c \
	src/kernel-options.c src/kernel-options.h \
	$(MERGING) \
	$(ANSWER) \
	src/preload.c src/preload.h \
	src/processes.c src/processes.h \
	src/program-check.c src/program-check.h \
	src/record-answer.c src/record-answer.h \
	src/record-check.c src/record-check.h \
	src/recording.c src/recording.h \
	src/recording-folder.c src/recording-folder.h \
	src/shared-budget.c src/shared-budget.h src/spool-server.c src/spool-server.h \
	src/watch.c src/watch.h
src_sci_record_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_DIR='"$(plugindir)"'
src_sci_record_LDADD = $(KERNELIO_LIBS) $(ANALYSIS_LIBS)

# Figures: a Python script and a module per plot; they need matplotlib when they run, not before.
bin_SCRIPTS += src/sci-plot
EXTRA_DIST += src/sci-plot.in
CLEANFILES += src/sci-plot
plotdir = $(pkgdatadir)/plot
dist_plot_DATA = \
	src/plot/plot_addresses.py \
	src/plot/plot_blame.py \
	src/plot/plot_compare.py \
	src/plot/plot_cost.py \
	src/plot/plot_events.py \
	src/plot/plot_levels.py \
	src/plot/plot_threads.py \
	src/plot/plot_timeline.py \
	src/plot/outputs.py \
	src/plot/plots.py \
	src/plot/reading.py \
	src/plot/shown.py \
	src/plot/style.py \
	src/plot/writing.py
src/sci-plot: $(srcdir)/src/sci-plot.in Makefile
	$(AM_V_GEN)mkdir -p src && $(SED) -e 's|@plotdir[@]|$(plotdir)|' \
		-e 's|@PACKAGE_NAME[@]|$(PACKAGE_NAME)|' -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' \
		$(srcdir)/src/sci-plot.in >$@.new && chmod +x $@.new && mv $@.new $@
