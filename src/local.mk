# The commands. Shared by all: libcli.
noinst_LTLIBRARIES += src/libcli.la
src_libcli_la_SOURCES = \
	src/cli.c src/cli.h \
	src/launch.c src/launch.h \
	src/outputs.c src/outputs.h \
	src/privileges.c src/privileges.h
COMMAND_LIBS = src/libcli.la eta-ext/libeta.la

# The analysis, without any printing, and the reports.
noinst_LTLIBRARIES += src/libanalysis.la
src_libanalysis_la_SOURCES = \
	src/analysis/accesses.c src/analysis/accesses.h \
	src/analysis/analysis.c src/analysis/analysis.h \
	src/analysis/baseline.c src/analysis/baseline.h \
	src/analysis/bins-score.c \
	src/analysis/blame.c src/analysis/blame.h \
	src/analysis/blame-bound.c \
	src/analysis/blame-score.c \
	src/analysis/callsites.c src/analysis/callsites.h \
	src/analysis/callsites-score.c \
	src/analysis/cells.c src/analysis/cells.h \
	src/analysis/classes.c src/analysis/classes.h \
	src/analysis/crowd.c \
	src/analysis/durations.c src/analysis/durations.h \
	src/analysis/engine.c src/analysis/engine.h \
	src/analysis/file-names.c src/analysis/file-names.h \
	src/analysis/files-score.c \
	src/analysis/hash.h \
	src/analysis/lane.c \
	src/analysis/machines.c src/analysis/machines.h \
	src/analysis/meet.c \
	src/analysis/operations.c src/analysis/operations.h \
	src/analysis/parallel.c src/analysis/parallel.h \
	src/analysis/pass.c \
	src/analysis/presence.c \
	src/analysis/records.c src/analysis/records.h \
	src/analysis/reference.c src/analysis/reference.h \
	src/analysis/references.c \
	src/analysis/regions.c \
	src/analysis/resources.c src/analysis/resources.h \
	src/analysis/score.c \
	src/analysis/selves.c \
	src/analysis/settle.c \
	src/analysis/share.c src/analysis/share.h \
	src/analysis/spill.c src/analysis/spill.h \
	src/analysis/spaces.c src/analysis/spaces.h \
	src/analysis/sweep.c src/analysis/sweep.h \
	src/analysis/verdict.c src/analysis/verdict.h \
	src/analysis/visits.c src/analysis/walk.h \
	src/analysis/waits.c \
	src/analysis/weights.c \
	src/analysis/workload.c src/analysis/workload.h \
	src/analysis/workload-rows.c src/analysis/workload-rows.h
src_libanalysis_la_LIBADD = -lm -lpthread

bin_PROGRAMS += src/sci-analyze
src_sci_analyze_SOURCES = \
	src/sci-analyze.c \
	src/analyze-options.c src/analyze-options.h \
	src/progress.c src/progress.h \
	src/inputs.c src/inputs.h \
	src/report/compare.c src/report/compare.h \
	src/report/json.c \
	src/report/report.h \
	src/report/phrases.c \
	src/report/score-columns.c \
	src/report/table.c src/report/table.h src/report/table-cells.h \
	src/report/table-forms.c \
	src/report/text.c \
	src/report/who.c \
	src/report/view-blame.c \
	src/report/view-callsite.c \
	src/report/view-class.c \
	src/report/view-device.c \
	src/report/view-file.c \
	src/report/process-sums.c src/report/process-sums.h \
	src/report/view-container.c \
	src/report/view-process.c \
	src/report/view-thread.c \
	src/report/view-timeline.c \
	src/report/views.c src/report/views.h \
	src/report/workload.c src/report/workload.h \
	src/symbols.c \
	src/symbols.h \
	src/texts.c src/texts.h
src_sci_analyze_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBDW_CFLAGS)
src_sci_analyze_LDADD = src/libanalysis.la $(COMMAND_LIBS) $(JANSSON_LIBS) $(LIBDW_LIBS) -lm

bin_PROGRAMS += src/sci-merge
MERGING = src/merging.c src/merging.h src/told.c src/told.h src/progress.c src/progress.h
src_sci_merge_SOURCES = \
	src/sci-merge.c \
	src/clock-options.c src/clock-options.h \
	src/inputs.c src/inputs.h \
	$(MERGING)
src_sci_merge_LDADD = $(COMMAND_LIBS)

bin_PROGRAMS += src/sci-export
src_sci_export_SOURCES = \
	src/sci-export.c \
	src/export/chrome.c src/export/csv.c src/export/export.c src/export/export.h \
	src/export/folded.c src/export/output.c src/export/output.h src/export/paje.c \
	src/inputs.c src/inputs.h \
	src/progress.c src/progress.h \
	src/texts.c src/texts.h
src_sci_export_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
src_sci_export_LDADD = src/libanalysis.la $(COMMAND_LIBS) $(JANSSON_LIBS)

bin_PROGRAMS += src/sci-import
src_sci_import_SOURCES = src/sci-import.c $(MERGING)
src_sci_import_LDADD = $(COMMAND_LIBS)

bin_PROGRAMS += src/sci-kernel
src_sci_kernel_SOURCES = \
	src/sci-kernel.c \
	src/kernel-options.c src/kernel-options.h \
	src/watch.c src/watch.h
src_sci_kernel_LDADD = plugins/kernelio/libkernelio.la eta-ext/libspool.la $(COMMAND_LIBS)

bin_PROGRAMS += src/sci-record
src_sci_record_SOURCES = \
	src/sci-record.c \
	src/after-run.c src/after-run.h \
	src/kernel-options.c src/kernel-options.h \
	$(MERGING) \
	src/preload.c src/preload.h \
	src/program-check.c src/program-check.h \
	src/recording-folder.c src/recording-folder.h \
	src/spool-server.c src/spool-server.h \
	src/watch.c src/watch.h
src_sci_record_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_DIR='"$(plugindir)"'
src_sci_record_LDADD = plugins/kernelio/libkernelio.la eta-ext/libspool.la $(COMMAND_LIBS)

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
