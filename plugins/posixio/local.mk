# The user tracer: one core, two libraries. Objects are compiled once per sink.
POSIXIO_SOURCES = \
	plugins/posixio/core.c \
	plugins/posixio/core.h \
	plugins/posixio/files.c \
	plugins/posixio/files.h \
	plugins/posixio/functions.h \
	plugins/posixio/ops.c \
	plugins/posixio/raw.c \
	plugins/posixio/wrap-fd.c \
	plugins/posixio/wrap-open.c \
	plugins/posixio/wrap-stdio.c \
	plugins/posixio/wrap.h

# Inside traced programs: no sanitizers, nothing visible but the wrappers.
POSIXIO_CFLAGS = $(SCI_CFLAGS) -fvisibility=hidden -ftls-model=initial-exec
POSIXIO_LDFLAGS = -module -avoid-version -shared -Wl,-z,now

plugin_LTLIBRARIES += plugins/libsci-posixio.la
plugins_libsci_posixio_la_SOURCES = $(POSIXIO_SOURCES) \
	plugins/posixio/sink-spool.c \
	plugins/posixio/sink-spool.h
plugins_libsci_posixio_la_CFLAGS = $(POSIXIO_CFLAGS)
plugins_libsci_posixio_la_LIBADD = eta-ext/libspool.la
plugins_libsci_posixio_la_LDFLAGS = $(POSIXIO_LDFLAGS)
