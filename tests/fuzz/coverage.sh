#!/bin/sh
# Which lines of the readers the corpora reach: tests/fuzz/coverage.sh [READER...]. Needs gcov, xz and a configured
# build/obj (or SCI_BUILD). One line per file that reads or merges: percent, lines, name; the least first. The inputs of
# tests/fuzz/corpus are read with calls that fail, too.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
build=$(cd "${SCI_BUILD:-build/obj}" && pwd)
. tests/fuzz/sources.sh
flags="--coverage -fsanitize=address,undefined -fno-sanitize-recover=undefined"
# what libotf2 and babeltrace2 keep is not ours
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=0
rm -rf build/fuzz/coverage
mkdir -p build/fuzz/coverage
cd build/fuzz/coverage
# paths from the top become names, two files may be called the same
for source in $fuzz_sources tests/fuzz/inputs.c tests/fuzz/replay.c tests/fuzz/fail.c; do
	object=$(echo "${source%.c}" | tr / _).o
	# shellcheck disable=SC2046,SC2086 # options
	${CC:-gcc} $flags -O0 -std=gnu11 -D_GNU_SOURCE -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -I"$top" -I"$build" $(fuzz_cflags) -c "$top/$source" -o "$object"
done
# shellcheck disable=SC2046,SC2086 # options
${CC:-gcc} -O0 $(fuzz_cflags) -c "$build/$fuzz_generated" -o generated.o
shared="generated.o tests_fuzz_inputs.o tests_fuzz_reports.o tests_fuzz_source.o tests_fuzz_vm.o"
# shellcheck disable=SC2046,SC2086 # options
${CC:-gcc} $flags eta-ext_*.o src_*.o $shared tests_fuzz_replay.o -o replay $(fuzz_libs)
# once more, with calls that fail
for name in malloc calloc realloc reallocarray strdup strndup open read pread pwrite mmap _exit; do
	echo "$name fail_$name"
done >names
for object in eta-ext_*.o src_*.o; do
	objcopy --redefine-syms=names "$object"
done
# shellcheck disable=SC2046,SC2086 # options
${CC:-gcc} $flags eta-ext_*.o src_*.o $shared tests_fuzz_fail.o -o fail $(fuzz_libs)
tar -xJf "$top/tests/fuzz/found.tar.xz"
# shellcheck disable=SC2046 # names without blanks
[ $# -gt 0 ] || set -- $(ls "$top/tests/fuzz/corpus")
for reader in "$@"; do
	[ -d "$top/tests/fuzz/corpus/$reader" ] || {
		echo "coverage: no corpus '$reader' in tests/fuzz/corpus" >&2
		exit 2
	}
	# shellcheck disable=SC2046 # the same
	./replay "$reader" $(find "$top/tests/fuzz/corpus/$reader" "found/$reader" -type f 2>/dev/null | sort) >&2
	./fail "$reader" "$top/tests/fuzz/corpus/$reader"/*
	case $reader in merge | spools)
		./replay "$reader-reports" "$top/tests/fuzz/corpus/$reader"/* >&2
		# a report takes much longer than the reading
		./fail "$reader-reports" "$top/tests/fuzz/corpus/$reader"/nested
		;;
	esac
done
# Lines of gcov: File 'NAME', then Lines executed:PERCENT% of NUMBER. A header is there once for each file that has it.
LC_ALL=C gcov -n ./*.gcda 2>gcov.log | awk -v top="$top/" '
	/^File / { name = substr($2, 2, length($2) - 2); next }
	/^Lines executed:/ && index(name, top) == 1 && name ~ /\.c$/ && name !~ /tests\/fuzz|otf2\/write|ext\/format|ext\/base|src\/(analysis|common|report\/[a-z0-9-]*\.c)/ {
		split($2, part, /[:%]/)
		printf "%6.1f %% of %4d lines  %s\n", part[2], $4, substr(name, length(top) + 1)
	}
	{ name = "" }' | sort -n | awk '
	$1 >= 85 { good++ }
	{ lines += $4; reached += $1 / 100 * $4 }
	{ print }
	END { printf "%6.1f %% of %d lines; %d of %d files have 85 %% or more\n", lines ? 100 * reached / lines : 0, lines, good, NR }'
