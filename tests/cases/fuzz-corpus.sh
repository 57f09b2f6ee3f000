#!/bin/sh
# Every input that fuzzing used or found is read without a crash, strictly and leniently; what makes several traces one
# is exported and analysed, too.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need xz
# libotf2 asks for what a damaged number says: more than there is may be refused
export ASAN_OPTIONS="allocator_may_return_null=1:max_allocation_size_mb=512"
# what fuzzing found: an input for each new place in the code
tar -C "$scratch" -xJf "$SCI_SRC/tests/fuzz/found.tar.xz"
for folder in "$SCI_SRC"/tests/fuzz/corpus/*/; do
	format=$(basename "$folder")
	set -- "$folder"*
	[ ! -d "$scratch/found/$format" ] || set -- "$@" "$scratch/found/$format"/*
	formats=$format
	case $format in merge | spools) formats="$format $format-reports" ;; esac
	for format in $formats; do
		status 0 "$SCI_BUILD/tests/fuzz/replay" "$format" "$@"
		has "$scratch/out" "^$format: [0-9]+ inputs"
	done
done
