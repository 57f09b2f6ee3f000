# shellcheck shell=sh
# What the fuzzers and the replay of their corpora are built from; sourced at the top of the tree.
# (format/spool.c is the writer's: nothing here writes a recording)
# shellcheck disable=SC2034 # used by who sources it
fuzz_sources="$(find eta-ext -name '*.c' ! -path eta-ext/format/spool.c | sort | tr '\n' ' ')tests/fuzz/source.c
	tests/fuzz/vm.c src/vm/qcow2.c src/vm/qcow2-map.c src/vm/qemu-command.c src/vm/qemu-keys.c src/vm/qmp.c
	tests/fuzz/reports.c
	$(find src/analysis src/common src/export src/report -name '*.c' ! -path src/export/output.c | sort | tr '\n' ' ')"
fuzz_page=$PWD/web/page.html
# what the build has generated
fuzz_generated=src/export/perfetto.pb-c.c

fuzz_cflags()
{
	pkg-config --cflags babeltrace2 2>/dev/null || :
	pkg-config --cflags jansson zlib libprotobuf-c libdw
	echo "-DSCI_PAGE_FILE=\"$fuzz_page\""
}

fuzz_libs()
{
	pkg-config --libs babeltrace2 2>/dev/null || :
	pkg-config --libs zlib libprotobuf-c libdw
	echo -lotf2 -ljansson -lpthread -lm
}
