#!/bin/sh
# clang-tidy (.clang-tidy), gcc -fanalyzer and gcc -Wconversion: tests/analyze.sh [FILE...], without one all C but the BPF
# programs (three minutes of CPU time; of what includes EZTrace's headers, -Wconversion alone). Needs build/obj: what the
# build makes is included. -Wconversion: no value of a file, of the kernel or of a program is cut without a cast that says
# so; it is asked for in the same compilation as -fanalyzer, so that each file is read once.
# A finding that is false is answered at its place: NOLINT with why; for -fanalyzer a comment with "analyzer:" in its line
# or the one before. Leaks are left to LeakSanitizer: gcc 12 loses every pointer that reallocarray gives back to the
# structure it came from.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

if [ $# -eq 0 ]; then
	eztrace='posixio/eztrace\|eztrace-kernelio'
	without="/bpf/\|$eztrace"
	pkg-config --exists mpi-c || without="$without\|sci-analyze-mpi"
	status=0
	git ls-files 'src/*.c' 'eta-ext/*.c' 'plugins/*.c' | grep -v "$without" |
		xargs -P "$(nproc)" -n 8 sh "$0" || status=1
	# their errors are the build's to say
	git ls-files 'plugins/*.c' | grep "$eztrace" | xargs gcc -std=gnu11 -D_GNU_SOURCE -I. -Ibuild/obj \
		'-DBIN_DIR="x"' -fsyntax-only -fdiagnostics-plain-output -Wconversion -Wno-sign-conversion 2>&1 |
		grep -E '\[-W(float-)?conversion\]$' && status=1
	exit $status
fi

log=$(mktemp)
trap 'rm -f "$log" "$log.found"' EXIT
files=$*
status=0
# as the build does
# shellcheck disable=SC2046 # options
set -- -std=gnu11 -D_GNU_SOURCE -I. -Isrc -Ibuild/obj -Ibuild/obj/src '-DPLUGIN_DIR="x"' '-DBIN_DIR="x"' \
	'-DSCI_PAGE_FILE="web/page.html"' $(pkg-config --cflags jansson babeltrace2 2>/dev/null || :) \
	$(pkg-config --cflags mpi-c 2>/dev/null || :)

if command -v clang-tidy >/dev/null 2>&1; then
	# standard error has a line for what was left out
	# shellcheck disable=SC2086 # names without blanks
	clang-tidy --quiet $files -- "$@" 2>/dev/null || status=1
else
	echo "clang-tidy is not installed: what it finds was not looked for"
fi

for file in $files; do
	took=0
	timeout 300 gcc "$@" -O1 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-too-complex \
		-Wconversion -Wno-sign-conversion -fdiagnostics-plain-output -S -o /dev/null "$file" 2>"$log" || took=$?
	if [ "$took" -ne 0 ]; then
		echo "$file: not analysed by gcc -fanalyzer (status $took):"
		tail -n 3 "$log"
		status=1
	fi
	# not FILE: what is found in a header, or where a function was inlined
	grep -E '^[^ ]+:[0-9]+:[0-9]+: warning: .*(-Wanalyzer|\[-W(float-)?conversion\])' "$log" | sort -u >"$log.found" || :
	while IFS=: read -r where line rest; do
		sed -n "$((line > 1 ? line - 1 : 1)),${line}p" "$where" | grep -q 'analyzer:' && continue
		echo "$where:$line:$rest"
		status=1
	done <"$log.found"
done
exit $status
