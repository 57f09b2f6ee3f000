# MPI-IO as regions around the POSIX calls. Linked to no MPI: it passes on to the program's own, whichever that is.
plugin_LTLIBRARIES += plugins/libsci-mpi.la
plugins_libsci_mpi_la_SOURCES = \
	plugins/mpi/files.c \
	plugins/mpi/files.h \
	plugins/mpi/functions.h \
	plugins/mpi/mpi.c \
	plugins/mpi/next.c \
	plugins/mpi/next.h \
	plugins/posixio/outer.h
plugins_libsci_mpi_la_CFLAGS = $(SCI_CFLAGS) -fvisibility=hidden
plugins_libsci_mpi_la_LDFLAGS = $(POSIXIO_LDFLAGS)
