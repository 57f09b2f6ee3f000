#!/bin/sh
# The tools of OTF2 take our archives without a warning; their bytes do not depend on the threads.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need otf2-print
programs=$SCI_BUILD/tests/programs

for seed in 1 2 3; do
	"$programs/write-random" "$scratch/r$seed.otf2" $seed 700 1
	status 0 otf2-print -Werror "$scratch/r$seed.otf2"
	[ ! -s "$scratch/err" ] || fail "otf2-print complains: $(cat "$scratch/err")"
	# Each event is one line with its location and time; the device's location is silent or not.
	n=$(grep -cE '^(ENTER|LEAVE|IO_[A-Z_]+) +[0-9]+ +[0-9]+ ' "$scratch/out")
	[ "$n" -eq 3500 ] || fail "otf2-print shows $n events, not 3500"
done

# no event, no location
"$programs/write-random" "$scratch/none.otf2" 1 0 1
status 0 otf2-print -Werror "$scratch/none.otf2"

# the clock: first event, exact length, a wall clock
status 0 otf2-print -G "$scratch/r1.otf2"
has "$scratch/out" 'CLOCK_PROPERTIES +Ticks per Seconds: 1000000000, Global Offset: [0-9]+, Length: [0-9]+, Date: 2023-'
first=$("$programs/dump-trace" "$scratch/r1.otf2" | awk '/^[0-9]/ { print $2 }' | sort -n | head -n 1)
last=$("$programs/dump-trace" "$scratch/r1.otf2" | awk '/^[0-9]/ { print $2 }' | sort -n | tail -n 1)
has "$scratch/out" "Global Offset: $first, Length: $((last - first)),"
has "$scratch/out" 'GROUP .*"level:vfs".*REGIONS'
has "$scratch/out" 'SYSTEM_TREE_NODE .*"sda".*Class: "block device"'

# written again, by two and by three threads: the same but for the archive's random identifier
mkdir "$scratch/again"
for threads in 2 3; do
	"$programs/write-random" "$scratch/again/r1.otf2" 1 700 $threads
	cmp "$scratch/r1.def" "$scratch/again/r1.def" || fail "definitions depend on the threads"
	diff -r -x times.index "$scratch/r1" "$scratch/again/r1" || fail "events depend on the threads"
done
leftover=$(find "$scratch" -name '.r*')
[ -z "$leftover" ] || fail "left behind: $leftover"

# A disk that takes no more: a limit on the size of files does the same without being root.
mkdir "$scratch/full"
got=0
(
	trap '' XFSZ
	ulimit -f 20
	"$programs/write-random" "$scratch/full/r.otf2" 1 5000 2 2>"$scratch/full.err"
) || got=$?
[ "$got" -eq 1 ] || fail "a full disk: status $got"
one_line "$scratch/full.err"
has "$scratch/full.err" 'full/r.otf2: cannot write [0-9]+.evt: File (is )?too large'
[ -z "$(ls -A "$scratch/full")" ] || fail "half an archive is left"

# Longer than a millisecond: below, the tool rounds its own samples wrongly and says so.
if command -v otf2-snapshots >/dev/null 2>&1; then
	"$programs/write-random" "$scratch/long.otf2" 1 20000 2
	status 0 otf2-snapshots -n 4 "$scratch/long.otf2"
	[ ! -s "$scratch/err" ] || fail "otf2-snapshots complains: $(cat "$scratch/err")"
fi

# ViTE draws a merged archive; one called as pipit wants it is read as any other.
mkdir "$scratch/run"
"$programs/make-spool" "$scratch/run" 3 100
status 0 sci-merge -q "$scratch/run" -o "$scratch/run/traces.otf2"
status 0 otf2-print -Werror "$scratch/run/traces.otf2"
if command -v vite >/dev/null 2>&1; then
	status 0 env QT_QPA_PLATFORM=offscreen timeout 60 vite -e "$scratch/x.svg" "$scratch/run/traces.otf2"
	cat "$scratch/out" "$scratch/err" >"$scratch/vite.log"
	has "$scratch/vite.log" '^0 errors and 0 warnings were found'
	[ "$(grep -c '<rect' "$scratch/x.svg")" -gt 100 ] || fail "vite drew nothing"
fi
