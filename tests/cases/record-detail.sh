#!/bin/sh
# The levels of detail of sci-record: what is left out by default, and what brings it in.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
need otf2-print
cd "$scratch"
program=$SCI_BUILD/tests/programs/functions
for i in 0 1 2 3 4 5 6 7 8 9; do
	echo "$i$i$i$i$i$i$i$i$i"
done >original

# record NAME PART OPTION...: the archive as text, in NAME
record()
{
	name=$1
	part=$2
	shift 2
	rm -rf dir dir2 sym3
	cp original text
	status 0 sci-record -q --no-kernel -o "$name.dir" "$@" -- "$program" "$part"
	otf2-print -Werror "$name.dir/unified.otf2" >"$name"
	otf2-print -Werror -G "$name.dir/unified.otf2" >>"$name"
}

# enters FILE REGION: how many calls
enters()
{
	grep -c "^ENTER.*Region: \"$2\"" "$1" || :
}

record plain characters
[ "$(enters plain getc)" -eq 0 ] || fail "getc is recorded by default"
# properties are in the anchor file, as text
grep -q 'SCI::CALLS_NOT_RECORDED' plain.dir/unified.otf2 || fail "characters are not counted"
record chars characters --chars
[ "$(enters chars getc)" -eq 1 ] || fail "--chars does not record getc"
! grep -q 'SCI::CALLS_NOT_RECORDED' chars.dir/unified.otf2 || fail "recorded and counted, too"

record names metadata
[ "$(enters names stat)" -eq 0 ] || fail "stat is recorded by default"
record metadata metadata --metadata
[ "$(enters metadata stat)" -eq 1 ] || fail "--metadata does not record stat"
[ "$(enters metadata readdir)" -eq 3 ] || fail "--metadata does not record readdir"

record files pipes
[ "$(enters files popen)" -eq 0 ] || fail "popen is recorded by default"
record all pipes --all-fds
[ "$(enters all popen)" -eq 1 ] || fail "--all-fds does not record popen"
[ "$(enters all pclose)" -eq 1 ] || fail "--all-fds does not record pclose"
has all 'IO_REGULAR_FILE.*"pipe:\[[0-9]*\]"'
