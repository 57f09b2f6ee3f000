#!/bin/sh
# Fuzzes one source, merge (archives), spools and ctfs (merged), merge-reports and spools-reports (what the commands make of
# those), qemu-command, qmp or qcow2: tests/fuzz/run.sh FORMAT [SECONDS] [libFuzzer's options]. Needs clang with
# libFuzzer (libclang-rt-14-dev) and a configured build/obj (or SCI_BUILD). New inputs go to build/fuzz/FORMAT, crashers beside it.
set -eu
cd "$(dirname "$0")/../.."
format=${1:?which format? sci-import --list-formats}
seconds=${2:-60}
shift
[ $# -eq 0 ] || shift
mkdir -p "build/fuzz/$format" build/fuzz/objects
program=build/fuzz/source
newest=$(find eta-ext src tests/fuzz -name '*.[ch]' -newer $program 2>/dev/null | head -n 1)
if [ ! -x $program ] || [ -n "$newest" ]; then
	. tests/fuzz/sources.sh
	# shellcheck disable=SC2046,SC2086 # lists of files, of options
	${FUZZ_CC:-clang} -g -O1 -std=gnu11 -D_GNU_SOURCE -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -I. -I"${SCI_BUILD:-build/obj}" tests/fuzz/libfuzzer.c $fuzz_sources \
		"${SCI_BUILD:-build/obj}/$fuzz_generated" \
		$(fuzz_cflags) ${FUZZ_CFLAGS:-} -o $program.new $(fuzz_libs) ${FUZZ_LIBS:-}
	mv $program.new $program
fi
# libotf2 asks for as much as a damaged number says before it looks whether the file has that: it may be refused,
# as by a system with less. What it and babeltrace2 keep is not ours.
leaks=1
timeout=10
case $format in
otf2 | merge | merge-reports) leaks=0 ;;
ctf | ctfs)
	leaks=0
	timeout=60 # where babeltrace2 gets no further it is given up after 3, each time
	;;
esac
ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=$leaks}
export ASAN_OPTIONS
# where others left off
if [ -z "$(ls "build/fuzz/$format")" ]; then
	xz -dc tests/fuzz/found.tar.xz | tar -C build/fuzz --strip-components=1 -x "found/$format" 2>/dev/null || :
fi
# what is made of a trace begins with the inputs that make one
corpus=tests/fuzz/corpus/${format%-reports}
[ -d "$corpus" ] || corpus=
# shellcheck disable=SC2086 # may be empty
SCI_FUZZ_FORMAT=$format exec $program -max_total_time="$seconds" -timeout=$timeout -rss_limit_mb=1024 \
	-artifact_prefix="build/fuzz/$format-" -print_final_stats=1 "$@" "build/fuzz/$format" $corpus
