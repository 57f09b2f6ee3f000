#!/bin/sh
# Every input that fuzzing used or found is read without a crash, strictly and leniently.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

for folder in "$SCI_SRC"/tests/fuzz/corpus/*/; do
	format=$(basename "$folder")
	status 0 "$SCI_BUILD/tests/fuzz/replay" "$format" "$folder"*
	has "$scratch/out" "^$format: [0-9]+ inputs"
done
