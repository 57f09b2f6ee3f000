noinst_LIBRARIES += eta-ext/libeta.a eta-ext/libspool.a

# The writer of spool files, for the tracers; inside the traced program, so without sanitizers, and
# without _FORTIFY_SOURCE (plugins/posixio/local.mk).
eta_ext_libspool_a_SOURCES = eta-ext/format/own-call.c eta-ext/format/own-call.h eta-ext/format/own-map.c \
	eta-ext/format/own-map.h eta-ext/format/launcher.h eta-ext/format/record.h eta-ext/format/spool.c eta-ext/format/spool.h \
	eta-ext/format/spool-budget.c eta-ext/format/spool-budget.h \
	eta-ext/format/spool-held.c eta-ext/format/spool-held.h eta-ext/format/spool-last.c \
	eta-ext/format/spool-last.h eta-ext/format/spool-reach.c eta-ext/format/spool-reach.h
eta_ext_libspool_a_CFLAGS = $(SCI_CFLAGS) -fPIC -U_FORTIFY_SOURCE -fvisibility=hidden \
	-Wframe-larger-than=1024

# Commands link these objects directly; libeta-ext.so is for other programs.
eta_ext_libeta_a_SOURCES = \
	eta-ext/format/addresses.c \
	eta-ext/format/addresses.h \
	eta-ext/format/archive.c \
	eta-ext/format/archive.h \
	eta-ext/format/samples.c \
	eta-ext/format/samples.h \
	eta-ext/format/clock-reads.c \
	eta-ext/format/clock-reads.h \
	eta-ext/format/disk-map.c \
	eta-ext/format/disk-map.h \
	eta-ext/trace/call.c \
	eta-ext/trace/call.h \
	eta-ext/trace/check.c \
	eta-ext/trace/check.h \
	eta-ext/base/clock-now.h \
	eta-ext/base/clock-sync.c \
	eta-ext/base/clocks.c \
	eta-ext/base/clocks.h \
	eta-ext/base/eta.h \
	eta-ext/base/search.h \
	eta-ext/base/folder.c \
	eta-ext/base/folder.h \
	eta-ext/base/folder-remove.c \
	eta-ext/base/io-functions.h \
	eta-ext/base/known.c \
	eta-ext/base/known.h \
	eta-ext/base/levels.c \
	eta-ext/base/levels.h \
	eta-ext/base/name-calls.h \
	eta-ext/base/paged-array.c eta-ext/base/paged-array.h \
	eta-ext/base/fnv.h \
	eta-ext/base/plural.h \
	eta-ext/format/otf2-flags.h \
	eta-ext/merge/flushes.c \
	eta-ext/merge/match-calls.c \
	eta-ext/merge/match-requests.c \
	eta-ext/merge/match-requests.h \
	eta-ext/merge/call-pieces.c \
	eta-ext/merge/call-pieces.h \
	eta-ext/merge/request-store.c \
	eta-ext/merge/request-store.h \
	eta-ext/merge/request-streams.c \
	eta-ext/merge/request-streams.h \
	eta-ext/merge/served.c \
	eta-ext/merge/service-stream.c \
	eta-ext/merge/services.c \
	eta-ext/merge/services.h \
	eta-ext/merge/steals.c \
	eta-ext/merge/steals.h \
	eta-ext/merge/waiters.c \
	eta-ext/merge/waiters.h \
	eta-ext/merge/match-calls.h \
	eta-ext/logs/log.c \
	eta-ext/logs/log.h \
	eta-ext/logs/blktrace-records.c \
	eta-ext/logs/blktrace-records.h \
	eta-ext/logs/log-block.c \
	eta-ext/logs/log-block.h \
	eta-ext/logs/log-cursor.c \
	eta-ext/logs/log-defs.c \
	eta-ext/logs/log-defs.h \
	eta-ext/logs/log-events.h \
	eta-ext/logs/log-files.c \
	eta-ext/logs/log-files.h \
	eta-ext/logs/log-leaves.c \
	eta-ext/logs/log-lines.c \
	eta-ext/logs/log-spill.c \
	eta-ext/logs/log-spill.h \
	eta-ext/logs/log-text.c \
	eta-ext/logs/log-text.h \
	eta-ext/trace/machines.c \
	eta-ext/trace/mounts.c \
	eta-ext/trace/machines.h \
	eta-ext/trace/ranks.c \
	eta-ext/trace/ranks.h \
	eta-ext/merge/merge.c \
	eta-ext/merge/merge.h \
	eta-ext/merge/clocks.c \
	eta-ext/merge/guest-vm.c \
	eta-ext/merge/guests.c \
	eta-ext/merge/guests.h \
	eta-ext/merge/homes.c \
	eta-ext/merge/host-vms.c eta-ext/merge/host-vms.h \
	eta-ext/merge/defs.c \
	eta-ext/merge/samples.c \
	eta-ext/merge/match.c \
	eta-ext/merge/node-clocks.c \
	eta-ext/merge/numbers.c \
	eta-ext/merge/processes.c \
	eta-ext/merge/doubles.c \
	eta-ext/merge/threads.c \
	eta-ext/base/message.c \
	eta-ext/base/printable.c \
	eta-ext/base/array.h \
	eta-ext/base/printable.h \
	eta-ext/base/whole-io.h \
	eta-ext/base/printable-step.c \
	eta-ext/logs/ctf.h \
	eta-ext/logs/ctf-precheck.c \
	eta-ext/logs/ctf-precheck.h \
	eta-ext/logs/ctf-tasks.h \
	eta-ext/logs/bcom.c \
	eta-ext/logs/blkparse.c \
	eta-ext/logs/blktrace.c \
	eta-ext/logs/ctf.c \
	eta-ext/logs/ctf-calls.c \
	eta-ext/logs/ctf-events.c \
	eta-ext/logs/ctf-tasks.c eta-ext/logs/ctf-vms.c \
	eta-ext/logs/dio.c \
	eta-ext/logs/dxt.c \
	eta-ext/logs/iotracer.c \
	eta-ext/otf2/read-properties.c \
	eta-ext/otf2/index.c \
	eta-ext/otf2/index.h \
	eta-ext/otf2/read-index.c \
	eta-ext/otf2/read-runs.c \
	eta-ext/otf2/runs.h \
	eta-ext/otf2/read-anchor.c \
	eta-ext/otf2/read-build.c \
	eta-ext/otf2/read-cursor.c \
	eta-ext/otf2/read-cut.c \
	eta-ext/otf2/read-cursor.h \
	eta-ext/otf2/read-defs.c \
	eta-ext/otf2/read-events.c \
	eta-ext/otf2/read-links.c \
	eta-ext/otf2/read.c \
	eta-ext/otf2/read.h \
	eta-ext/logs/paje.c \
	eta-ext/logs/qemu.c \
	eta-ext/logs/strace.c \
	eta-ext/trace/source.h \
	eta-ext/spool/spool.c \
	eta-ext/spool/spool.h \
	eta-ext/spool/addresses.c \
	eta-ext/spool/definitions.c \
	eta-ext/spool/images.c \
	eta-ext/spool/mapped-files.c \
	eta-ext/spool/kernel.c \
	eta-ext/spool/threads.c \
	eta-ext/spool/user.c \
	eta-ext/spool/kernel-cursor.c \
	eta-ext/spool/kernel-reader.c \
	eta-ext/spool/kernel-reader.h \
	eta-ext/spool/kernel-emit.c \
	eta-ext/spool/kernel-emit.h \
	eta-ext/spool/kernel-expand.c \
	eta-ext/spool/kernel-expand.h \
	eta-ext/spool/kernel-spans.c \
	eta-ext/spool/kernel-index.c \
	eta-ext/spool/kernel-index-entries.c \
	eta-ext/spool/kernel-regions.c \
	eta-ext/spool/kernel-index.h \
	eta-ext/spool/kernel-names.c \
	eta-ext/spool/kernel-names.h \
	eta-ext/spool/live.c \
	eta-ext/spool/live.h \
	eta-ext/spool/view.c \
	eta-ext/spool/view.h \
	eta-ext/logs/strace.h \
	eta-ext/logs/strace-call.c \
	eta-ext/logs/log-syscalls.c \
	eta-ext/logs/strace-line.c \
	eta-ext/open.c \
	eta-ext/trace/trace.c \
	eta-ext/open-merged.c \
	eta-ext/format/otf2-memory.c \
	eta-ext/format/otf2-memory.h \
	eta-ext/otf2/write-check.c \
	eta-ext/otf2/write-defs.c \
	eta-ext/otf2/write-defs.h \
	eta-ext/otf2/write-events.c \
	eta-ext/otf2/write-index.c \
	eta-ext/otf2/write-index.h \
	eta-ext/otf2/write-links.c \
	eta-ext/otf2/write-links.h \
	eta-ext/otf2/write-place.c \
	eta-ext/otf2/write-properties.c \
	eta-ext/otf2/write-runs.c \
	eta-ext/otf2/write-runs.h \
	eta-ext/otf2/write-strings.c \
	eta-ext/otf2/write-text.c \
	eta-ext/otf2/write-tree.c \
	eta-ext/otf2/write.c \
	eta-ext/otf2/write.h
eta_ext_libeta_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(BABELTRACE2_CFLAGS) -fPIC
ETA_LIBS = eta-ext/libeta.a $(OTF2_LIBS) $(JANSSON_LIBS) $(BABELTRACE2_LIBS)

# The first number changes when programs that were linked to the library have to be linked anew.
ETA_EXT_SONAME = libeta-ext.so.1
sharedexecdir = $(libdir)
sharedexec_PROGRAMS = eta-ext/libeta-ext.so.1.0.0
eta_ext_libeta_ext_so_1_0_0_SOURCES =
eta_ext_libeta_ext_so_1_0_0_LDADD = $(eta_ext_libeta_a_OBJECTS) $(OTF2_LIBS) $(JANSSON_LIBS) $(BABELTRACE2_LIBS)
eta_ext_libeta_ext_so_1_0_0_DEPENDENCIES = $(eta_ext_libeta_a_OBJECTS) eta-ext/libeta-ext.map
eta_ext_libeta_ext_so_1_0_0_LINK = $(CC) $(AM_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared $(AM_LDFLAGS) \
	-Wl,-soname,$(ETA_EXT_SONAME) -Wl,--version-script=$(top_srcdir)/eta-ext/libeta-ext.map -o $@
EXTRA_DIST += eta-ext/libeta-ext.map
install-exec-hook:
	cd $(DESTDIR)$(libdir) && for name in $(ETA_EXT_SONAME) libeta-ext.so; do \
		rm -f $$name && $(LN_S) libeta-ext.so.1.0.0 $$name || exit 1; done
uninstall-local:
	cd $(DESTDIR)$(libdir) && rm -f $(ETA_EXT_SONAME) libeta-ext.so

# The same, static: one object, so that nothing but what the map lists can meet a program's names.
staticdir = $(libdir)
static_DATA = eta-ext/libeta-ext.a
CLEANFILES += eta-ext/libeta-ext.a eta-ext/libeta-ext.o eta-ext/libeta-ext.names
eta-ext/libeta-ext.a: $(eta_ext_libeta_a_OBJECTS) eta-ext/libeta-ext.map
	$(AM_V_GEN)$(SED) -n 's/^[[:space:]]*\(eta_[a-z0-9_]*\);.*/\1/p' \
		$(top_srcdir)/eta-ext/libeta-ext.map >eta-ext/libeta-ext.names
	$(AM_V_at)$(CC) -r -nostdlib -o eta-ext/libeta-ext.o $(eta_ext_libeta_a_OBJECTS)
	$(AM_V_at)$(OBJCOPY) --keep-global-symbols=eta-ext/libeta-ext.names eta-ext/libeta-ext.o
	$(AM_V_at)rm -f $@ && $(AR) rcs $@ eta-ext/libeta-ext.o && rm -f eta-ext/libeta-ext.o

etaincludedir = $(includedir)/eta-ext
etainclude_HEADERS = eta-ext/base/clocks.h eta-ext/base/eta.h eta-ext/base/levels.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = eta-ext/eta-ext.pc
