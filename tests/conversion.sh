#!/bin/sh
# gcc -Wconversion of readers, commands and tracers: no value of a file, of the kernel or of a program is cut without a
# cast that says so. Needs build/obj: what the build makes is included. (What EZTrace's and libbpf's headers must have
# been told is not: such a file's errors are the build's to say.)
# SPDX-License-Identifier: BSD-3-Clause
set -eu

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2046 # options
set -- -std=gnu11 -D_GNU_SOURCE -I. -Isrc -Ibuild/obj -Ibuild/obj/src '-DPLUGIN_DIR="x"' '-DBIN_DIR="x"' \
	'-DSCI_PAGE_FILE="web/page.html"' $(pkg-config --cflags jansson babeltrace2 2>/dev/null || :)
git ls-files 'eta-ext/*.c' 'src/*.c' 'plugins/*.c' | grep -v /bpf/ |
	xargs -P "$(nproc)" -n 16 gcc "$@" -fsyntax-only -fdiagnostics-plain-output -Wconversion -Wno-sign-conversion \
		2>"$log" || :
! grep -E '\[-W(float-)?conversion\]$' "$log" | sort -u | grep .
