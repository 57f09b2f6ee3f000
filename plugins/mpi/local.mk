# MPI-IO as regions around the POSIX calls. Linked to no MPI: it passes on to the program's own, whichever that is.
plugin_PROGRAMS += plugins/libsci-mpi.so
plugins_libsci_mpi_so_SOURCES = \
	plugins/mpi/files.c \
	plugins/mpi/files.h \
	plugins/mpi/functions.h \
	plugins/mpi/mpi.c \
	plugins/mpi/next.c \
	plugins/mpi/next.h \
	plugins/posixio/outer.h
plugins_libsci_mpi_so_CFLAGS = $(SCI_CFLAGS) -fPIC -fvisibility=hidden
plugins_libsci_mpi_so_LINK = $(SHARED_LINK)
