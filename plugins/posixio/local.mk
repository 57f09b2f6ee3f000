# The user tracer: one core, two libraries. Objects are compiled once per sink.
POSIXIO_SOURCES = \
	eta-ext/base/printable.h \
	eta-ext/base/printable-step.c \
	plugins/posixio/attributes.h \
	plugins/posixio/clock.c \
	plugins/posixio/clock.h \
	plugins/posixio/confine.c \
	plugins/posixio/confine.h \
	plugins/posixio/cancel.c \
	plugins/posixio/core.c \
	plugins/posixio/core.h \
	plugins/posixio/environment.h \
	plugins/posixio/files.c \
	plugins/posixio/files.h \
	plugins/posixio/filter.c \
	plugins/posixio/filter.h \
	plugins/posixio/functions.h \
	plugins/posixio/grown.c \
	plugins/posixio/grown.h \
	plugins/posixio/clone.c \
	plugins/posixio/clone.h \
	plugins/posixio/maps.c \
	plugins/posixio/maps.h \
	plugins/posixio/wrap/ops.c \
	plugins/posixio/wrap/op.h \
	plugins/posixio/paths.c \
	plugins/posixio/paths.h \
	plugins/posixio/raw.c \
	plugins/posixio/real.c \
	plugins/posixio/real.h \
	plugins/posixio/sink.h \
	plugins/posixio/thread-cache.c \
	plugins/posixio/thread-cache.h \
	plugins/posixio/sanitizer.c \
	plugins/posixio/sanitizer.h \
	plugins/posixio/state.c \
	plugins/posixio/wrap/stream.c \
	plugins/posixio/wrap/stream.h \
	plugins/posixio/text.c \
	plugins/posixio/text.h \
	plugins/posixio/thread.h \
	plugins/posixio/warn.c \
	plugins/posixio/wrap/aio.c \
	plugins/posixio/wrap/confine.c \
	plugins/posixio/wrap/fd.c \
	plugins/posixio/wrap/file.c \
	plugins/posixio/wrap/descriptors.c \
	plugins/posixio/wrap/map.c \
	plugins/posixio/wrap/meta.c \
	plugins/posixio/wrap/open.c \
	plugins/posixio/wrap/queue.c \
	plugins/posixio/wrap/stdio.c \
	plugins/posixio/wrap/text.c \
	plugins/posixio/wrap/wrap.h

# Inside traced programs: no sanitizers, nothing visible but the wrappers. And no _FORTIFY_SOURCE: a
# program of another C library (musl), which has no checked functions, would not start.
# Stacks of threads, coroutines and signal handlers are the program's, and may be small.
POSIXIO_CFLAGS = $(SCI_CFLAGS) -fPIC -U_FORTIFY_SOURCE -fvisibility=hidden -ftls-model=initial-exec \
	-Wframe-larger-than=1024

plugin_PROGRAMS += plugins/libsci-posixio.so
plugins_libsci_posixio_so_SOURCES = $(POSIXIO_SOURCES) \
	plugins/posixio/callsites/modules.c \
	plugins/posixio/callsites/modules.h \
	plugins/posixio/callsites/stacks.c \
	plugins/posixio/callsites/stacks.h \
	plugins/posixio/spool/only.c \
	plugins/posixio/spool/only.h \
	plugins/posixio/outer.h \
	plugins/posixio/wrap/outer.c \
	plugins/posixio/spool/calls.c \
	plugins/posixio/spool/names.c \
	plugins/posixio/spool/names.h \
	plugins/posixio/spool/rank.c \
	plugins/posixio/spool/rank.h \
	plugins/posixio/spool/sink.c \
	plugins/posixio/spool/sink.h
plugins_libsci_posixio_so_CFLAGS = $(POSIXIO_CFLAGS)
plugins_libsci_posixio_so_LDADD = eta-ext/libspool.a
plugins_libsci_posixio_so_LINK = $(SHARED_LINK)

if HAVE_LIBUNWIND
# Opened by the one above, when call stacks are wanted.
plugin_PROGRAMS += plugins/libsci-unwind.so
plugins_libsci_unwind_so_SOURCES = plugins/posixio/callsites/unwind.c
plugins_libsci_unwind_so_CFLAGS = $(SCI_CFLAGS) -fPIC -fvisibility=hidden -Wframe-larger-than=1024
plugins_libsci_unwind_so_LDADD = -lunwind
plugins_libsci_unwind_so_LINK = $(SHARED_LINK)
endif

if HAVE_EZTRACE
# `eztrace -t posixio` loads this one and then EZTrace's own of the same name, and aborts on two
# modules with one name. With the path of EZTrace's as soname, the dynamic linker takes ours for it.
plugin_PROGRAMS += plugins/libeztrace-posixio.so
plugins_libeztrace_posixio_so_SOURCES = $(POSIXIO_SOURCES) \
	eta-ext/format/addresses.c \
	eta-ext/format/addresses.h \
	eta-ext/format/otf2-memory.c \
	eta-ext/format/otf2-memory.h \
	eta-ext/format/own-call.c \
	eta-ext/format/own-call.h \
	eta-ext/format/own-map.c \
	eta-ext/format/own-map.h \
	eta-ext/format/spool.c \
	eta-ext/format/spool-budget.c \
	eta-ext/format/spool-budget.h \
	eta-ext/format/spool-held.c \
	eta-ext/format/spool-held.h \
	eta-ext/format/spool-last.c \
	eta-ext/format/spool-last.h \
	eta-ext/format/spool-reach.c \
	eta-ext/format/spool-reach.h \
	eta-ext/format/spool.h \
	plugins/posixio/eztrace/addresses.c \
	plugins/posixio/eztrace/children.c \
	plugins/posixio/eztrace/children.h \
	plugins/posixio/eztrace/defs.c \
	plugins/posixio/eztrace/defs.h \
	plugins/posixio/eztrace/end.c \
	plugins/posixio/eztrace/end.h \
	plugins/posixio/eztrace/events.c \
	plugins/posixio/eztrace/events.h \
	plugins/posixio/eztrace/next.h \
	plugins/posixio/eztrace/otf2-calls.c \
	plugins/posixio/eztrace/own-callers.c \
	plugins/posixio/eztrace/tables.h \
	plugins/posixio/eztrace/state.c \
	plugins/posixio/eztrace/threads.c \
	plugins/posixio/eztrace/threads.h \
	plugins/posixio/eztrace/write.c \
	plugins/posixio/callsites/modules.c \
	plugins/posixio/callsites/modules.h \
	plugins/posixio/callsites/stacks.c \
	plugins/posixio/callsites/stacks.h \
	plugins/posixio/eztrace/sink.c \
	plugins/posixio/eztrace/sink.h \
	plugins/posixio/outer.h \
	plugins/posixio/spool/calls.c \
	plugins/posixio/spool/names.c \
	plugins/posixio/spool/names.h \
	plugins/posixio/spool/rank.c \
	plugins/posixio/spool/rank.h \
	plugins/posixio/spool/sink.c \
	plugins/posixio/spool/sink.h
plugins_libeztrace_posixio_so_CPPFLAGS = $(AM_CPPFLAGS) -DSCI_SINK_EZTRACE
plugins_libeztrace_posixio_so_CFLAGS = $(POSIXIO_CFLAGS)
# to walk the stack: libgcc_eh, which is static and shows none of its functions to the program
plugins_libeztrace_posixio_so_LDADD = $(EZTRACE_LIBS) $(OTF2_LIBS) -lgcc_eh
plugins_libeztrace_posixio_so_LINK = $(CC) $(POSIXIO_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared \
	$(SCI_LDFLAGS) -Wl,-soname,$(EZTRACE_LIBDIR)/libeztrace-posixio.so -o $@
endif
