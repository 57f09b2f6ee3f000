# The commands. Shared by all: libcli.
noinst_LTLIBRARIES += src/libcli.la
src_libcli_la_SOURCES = src/cli.c src/cli.h src/launch.c src/launch.h
COMMAND_LIBS = src/libcli.la eta-ext/libeta.la
