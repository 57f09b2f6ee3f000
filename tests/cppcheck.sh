#!/bin/sh
# cppcheck of all C but the BPF programs (they are no programs of the C library). A finding is repaired; a false one is
# answered at its place ("cppcheck-suppress ID ; why").
# SPDX-License-Identifier: BSD-3-Clause
set -eu

# shellcheck disable=SC2046 # file names without blanks
exec cppcheck -j "$(nproc)" --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	--std=c11 -D_GNU_SOURCE -I. -Isrc --suppress=missingInclude \
	--include=tests/cppcheck.h \
	"$@" $(git ls-files 'src/*.c' 'eta-ext/*.c' 'plugins/*.c' 'examples/*.c' | grep -v /bpf/)
