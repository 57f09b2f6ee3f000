#!/bin/sh
# Damaged archives: one clear line that names the place, status 1; --lenient keeps the good part.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

dump=$SCI_BUILD/tests/programs/dump-trace
"$SCI_BUILD/tests/programs/write-random" "$scratch/good.otf2" 4 2000 1
"$dump" "$scratch/good.otf2" >"$scratch/good.txt"

# fresh: $scratch/x is the good archive again
fresh()
{
	rm -rf "$scratch/x" "$scratch"/x.*
	cp "$scratch/good.otf2" "$scratch/x.otf2"
	cp "$scratch/good.def" "$scratch/x.def"
	cp -r "$scratch/good" "$scratch/x"
}

# refused PATTERN [FILE]: status 1, one line that names the archive and says PATTERN
refused()
{
	archive=${2:-$scratch/x.otf2}
	status 1 "$dump" "$archive"
	one_line "$scratch/err"
	has "$scratch/err" "$archive: "
	has "$scratch/err" "$1"
}

# kept MIN: --lenient gives MIN events or more, and counts what is bad
kept()
{
	status 0 "$dump" --lenient "$scratch/x.otf2"
	[ ! -s "$scratch/err" ] || fail "lenient reading complains: $(cat "$scratch/err")"
	has "$scratch/out" '^counts .* bad=[1-9]'
	n=$(sed -n 's/^counts .* events=\([0-9]*\) .*/\1/p' "$scratch/out")
	[ "$n" -ge "$1" ] || fail "only $n events kept, not $1"
	[ "$n" -lt 10000 ] || fail "all events kept"
	# what is kept is what was there
	grep '^[0-9]' "$scratch/out" >"$scratch/kept.txt"
	sort "$scratch/good.txt" >"$scratch/a"
	sort "$scratch/kept.txt" >"$scratch/b"
	[ -z "$(comm -13 "$scratch/a" "$scratch/b")" ] || fail "lenient reading invents events"
}

fresh
rm "$scratch/x/4.evt"
refused 'x/4.evt cannot be read: No such file'
kept 8000

fresh
: >"$scratch/x/4.evt"
refused 'x/4.evt: cannot read location ".*--lenient leaves it out'
kept 8000

fresh
truncate -s 10000 "$scratch/x/4.evt"
refused 'x/4.evt: damaged behind event [0-9]+'
kept 8000

# cut within a file of several chunks: libotf2 would go on in what it has of the chunk before; all events before the cut
# are kept
"$SCI_BUILD/tests/programs/write-random" "$scratch/long.otf2" 4 160000 1
"$dump" "$scratch/long.otf2" | grep '^4 ' >"$scratch/long.txt"
bytes=$(stat -c %s "$scratch/long/4.evt")
[ "$bytes" -gt $((2 << 20)) ] || fail "not long: $bytes bytes"
before=0
for cut in 1048570 1048580 1048650 1300001 1300006 2097500 $((bytes - 2)); do
	rm -rf "$scratch/x" "$scratch"/x.*
	cp "$scratch/long.otf2" "$scratch/x.otf2"
	cp "$scratch/long.def" "$scratch/x.def"
	cp -r "$scratch/long" "$scratch/x"
	truncate -s "$cut" "$scratch/x/4.evt"
	refused 'x/4.evt: damaged behind event [0-9]+: '
	status 0 "$dump" --lenient "$scratch/x.otf2"
	has "$scratch/out" '^counts .* bad=[1-9]'
	grep '^4 ' "$scratch/out" >"$scratch/kept.txt"
	kept=$(wc -l <"$scratch/kept.txt")
	head -n "$kept" "$scratch/long.txt" | cmp -s - "$scratch/kept.txt" || fail "cut at $cut: not its beginning"
	[ "$kept" -ge "$before" ] || fail "cut at $cut: $kept events, $before before"
	[ "$((kept * 100 / $(wc -l <"$scratch/long.txt")))" -ge "$((cut * 98 / bytes))" ] || fail "cut at $cut: only $kept events"
	before=$kept
done

fresh
rm "$scratch/x.def"
refused 'x.def cannot be read: No such file'

fresh
truncate -s 100 "$scratch/x.def"
refused 'x.def: damaged after definition .* \(record again, or merge again what it was made of\)'
mkdir "$scratch/kernel.spool"
refused 'x.def: damaged after definition .* \(sci-merge makes it again, of the spools beside it\)'
rmdir "$scratch/kernel.spool"

fresh
rm -r "$scratch/x"
refused 'folder .*/x cannot be read'

fresh
truncate -s 20 "$scratch/x.otf2"
refused 'damaged anchor file: .* \(record again'

fresh
: >"$scratch/x.otf2"
refused 'is empty'

# named by a wrong part
fresh
refused 'named by its anchor file' "$scratch/x.def"
refused 'named by its anchor file' "$scratch/x/4.evt"
refused 'directory' "$scratch/x"
