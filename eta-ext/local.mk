noinst_LTLIBRARIES += eta-ext/libeta.la eta-ext/libspool.la
lib_LTLIBRARIES += eta-ext/libeta-ext.la

# The writer of spool files, for the tracers; inside the traced program, so without sanitizers, and
# without _FORTIFY_SOURCE (plugins/posixio/local.mk).
eta_ext_libspool_la_SOURCES = eta-ext/own-call.c eta-ext/own-call.h eta-ext/own-map.c \
	eta-ext/own-map.h eta-ext/record.h eta-ext/spool.c eta-ext/spool.h \
	eta-ext/spool-reach.c eta-ext/spool-reach.h
eta_ext_libspool_la_CFLAGS = $(SCI_CFLAGS) -U_FORTIFY_SOURCE -fvisibility=hidden -Wframe-larger-than=1024

# Commands link these objects directly; libeta-ext.so is for other programs.
eta_ext_libeta_la_SOURCES = \
	eta-ext/addresses.c \
	eta-ext/addresses.h \
	eta-ext/archive.c \
	eta-ext/archive.h \
	eta-ext/call.c \
	eta-ext/call.h \
	eta-ext/check.c \
	eta-ext/check.h \
	eta-ext/clock-sync.c \
	eta-ext/clocks.c \
	eta-ext/clocks.h \
	eta-ext/eta.h \
	eta-ext/folder.c \
	eta-ext/folder.h \
	eta-ext/folder-remove.c \
	eta-ext/io-functions.h \
	eta-ext/known.c \
	eta-ext/known.h \
	eta-ext/levels.c \
	eta-ext/levels.h \
	eta-ext/otf2-flags.h \
	eta-ext/match-calls.c \
	eta-ext/match-calls.h \
	eta-ext/log.c \
	eta-ext/log.h \
	eta-ext/log-blktrace.c \
	eta-ext/log-blktrace.h \
	eta-ext/log-block.c \
	eta-ext/log-cursor.c \
	eta-ext/log-defs.c \
	eta-ext/log-files.c \
	eta-ext/log-leaves.c \
	eta-ext/log-lines.c \
	eta-ext/log-spill.c \
	eta-ext/log-spill.h \
	eta-ext/log-text.c \
	eta-ext/machines.c \
	eta-ext/machines.h \
	eta-ext/merge.c \
	eta-ext/merge.h \
	eta-ext/merge-clocks.c \
	eta-ext/merge-defs.c \
	eta-ext/merge-match.c \
	eta-ext/merge-numbers.c \
	eta-ext/merge-processes.c \
	eta-ext/merge-threads.c \
	eta-ext/message.c \
	eta-ext/printable.c \
	eta-ext/printable.h \
	eta-ext/printable-step.c \
	eta-ext/ctf.h \
	eta-ext/ctf-rehearsal.c \
	eta-ext/ctf-rehearsal.h \
	eta-ext/ctf-tasks.h \
	eta-ext/source-bcom.c \
	eta-ext/source-blkparse.c \
	eta-ext/source-blktrace.c \
	eta-ext/source-ctf.c \
	eta-ext/source-ctf-calls.c \
	eta-ext/source-ctf-events.c \
	eta-ext/source-ctf-tasks.c \
	eta-ext/source-dio.c \
	eta-ext/source-dxt.c \
	eta-ext/source-iotracer.c \
	eta-ext/source-otf2-properties.c \
	eta-ext/source-otf2-anchor.c \
	eta-ext/source-otf2-build.c \
	eta-ext/source-otf2-cursor.c \
	eta-ext/source-otf2-cursor.h \
	eta-ext/source-otf2-defs.c \
	eta-ext/source-otf2-events.c \
	eta-ext/source-otf2.c \
	eta-ext/source-otf2.h \
	eta-ext/source-paje.c \
	eta-ext/source-qemu.c \
	eta-ext/source-strace.c \
	eta-ext/source.h \
	eta-ext/source-spool.c \
	eta-ext/source-spool.h \
	eta-ext/source-spool-addresses.c \
	eta-ext/source-spool-defs.c \
	eta-ext/source-spool-images.c \
	eta-ext/source-spool-kernel.c \
	eta-ext/source-spool-threads.c \
	eta-ext/source-spool-user.c \
	eta-ext/spool-cursor.c \
	eta-ext/spool-expand.c \
	eta-ext/spool-index.c \
	eta-ext/spool-index-entries.c \
	eta-ext/spool-regions.c \
	eta-ext/spool-index.h \
	eta-ext/spool-view.c \
	eta-ext/spool-view.h \
	eta-ext/strace.h \
	eta-ext/strace-call.c \
	eta-ext/strace-files.c \
	eta-ext/strace-line.c \
	eta-ext/open.c \
	eta-ext/trace.c \
	eta-ext/whole.c \
	eta-ext/write-otf2-check.c \
	eta-ext/write-otf2-defs.c \
	eta-ext/write-otf2-defs.h \
	eta-ext/write-otf2-events.c \
	eta-ext/write-otf2-memory.c \
	eta-ext/write-otf2-place.c \
	eta-ext/write-otf2-properties.c \
	eta-ext/write-otf2-strings.c \
	eta-ext/write-otf2-text.c \
	eta-ext/write-otf2-tree.c \
	eta-ext/write-otf2.c \
	eta-ext/write-otf2.h
eta_ext_libeta_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(BABELTRACE2_CFLAGS)
eta_ext_libeta_la_LIBADD = $(OTF2_LIBS) $(JANSSON_LIBS) $(BABELTRACE2_LIBS)

eta_ext_libeta_ext_la_SOURCES =
eta_ext_libeta_ext_la_LIBADD = eta-ext/libeta.la
eta_ext_libeta_ext_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/eta-ext/libeta-ext.map
eta_ext_libeta_ext_la_DEPENDENCIES = eta-ext/libeta.la eta-ext/libeta-ext.map
EXTRA_DIST += eta-ext/libeta-ext.map

# The same, static: one object, so that nothing but what the map lists can meet a program's names.
staticdir = $(libdir)
static_DATA = eta-ext/libeta-ext.a
CLEANFILES += eta-ext/libeta-ext.a eta-ext/libeta-ext.o eta-ext/libeta-ext.names
eta-ext/libeta-ext.a: eta-ext/libeta.la eta-ext/libeta-ext.map
	$(AM_V_GEN)$(SED) -n 's/^[[:space:]]*\(eta_[a-z0-9_]*\);.*/\1/p' \
		$(top_srcdir)/eta-ext/libeta-ext.map >eta-ext/libeta-ext.names
	$(AM_V_at)$(CC) -r -nostdlib -o eta-ext/libeta-ext.o \
		-Wl,--whole-archive eta-ext/.libs/libeta.a -Wl,--no-whole-archive
	$(AM_V_at)$(OBJCOPY) --keep-global-symbols=eta-ext/libeta-ext.names eta-ext/libeta-ext.o
	$(AM_V_at)rm -f $@ && $(AR) rcs $@ eta-ext/libeta-ext.o && rm -f eta-ext/libeta-ext.o

etaincludedir = $(includedir)/eta-ext
etainclude_HEADERS = eta-ext/clocks.h eta-ext/eta.h eta-ext/levels.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = eta-ext/eta-ext.pc
