#!/bin/sh
# ./dev analyze: what takes too long for ./dev lint, clang-tidy (.clang-tidy) and gcc -fanalyzer.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

status=0
log=build/analyze.log
# as the build does
set -- -std=gnu11 -D_GNU_SOURCE -I. -Isrc -Ibuild/obj -Ibuild/obj/src '-DPLUGIN_DIR="x"' '-DSCI_PAGE_FILE="web/page.html"'
# without EZTrace's own headers and without BPF programs
files=$(git ls-files 'src/*.c' 'eta-ext/*.c' 'plugins/*.c' | grep -v '/bpf/\|posixio/eztrace\|eztrace-kernelio')

echo "== clang-tidy"
for file in $files; do
	clang-tidy --quiet "$file" -- "$@" 2>/dev/null || status=1
done

# A finding that is false is answered by a comment with "analyzer:" in its line or the one before. Leaks are left to
# LeakSanitizer: gcc 12 loses every pointer that reallocarray gives back to the structure it came from.
echo "== gcc -fanalyzer"
for file in $files; do
	took=0
	timeout 120 gcc "$@" -O1 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-too-complex \
		-fdiagnostics-plain-output -S -o /dev/null "$file" 2>"$log" || took=$?
	[ "$took" -ne 124 ] || echo "$file: not analysed in two minutes"
	# not FILE: what is found in a header, or where a function was inlined
	grep -E '^[^ ]+:[0-9]+:[0-9]+: warning: .*-Wanalyzer' "$log" | sort -u >"$log.found" || :
	while IFS=: read -r where line rest; do
		sed -n "$((line > 1 ? line - 1 : 1)),${line}p" "$where" | grep -q 'analyzer:' && continue
		echo "$where:$line:$rest"
		status=1
	done <"$log.found"
done

exit $status
