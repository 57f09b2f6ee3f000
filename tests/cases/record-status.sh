#!/bin/sh
# sci-record as a user misuses it: statuses, messages, and what is left behind.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
kernel_turn
cd "$scratch"

# misuse: two lines, status 2
status 2 sci-record
has err 'which program'
[ "$(wc -l <err)" -eq 2 ] || fail "misuse takes two lines"
status 2 sci-record --no-user --no-kernel true
status 2 sci-record --no-such-option true
status 0 sci-record --help
has out 'EXAMPLES'
status 0 sci-record --env
has out "^export EZTRACE_LIBRARY_PATH=..*$"

# the program's own status goes through (starting the kernel's side takes longer than all else here: it is there
# where it matters)
status 0 sci-record -q -o ok -- true
status 3 sci-record -q --no-kernel -o three -- sh -c 'exit 3'
# shellcheck disable=SC2016 # $$ is that shell's
status 143 sci-record -q --no-kernel -o killed -- sh -c 'kill -TERM $$'
[ -f killed/unified.otf2 ] || fail "a killed program loses its trace"

# kill -9 in the middle of writing: what was done until then is there
# shellcheck disable=SC2016
status 137 sci-record -q -o kill9 -- \
	/usr/bin/python3 -c 'import os
f = os.open("data", os.O_CREAT | os.O_WRONLY)
for i in range(100):
    os.write(f, b"x" * 10)
os.kill(os.getpid(), 9)'
otf2-print kill9/unified.otf2 >text
[ "$(grep -c '^ENTER.*Region: "write"' text)" -eq 100 ] || fail "kill -9: 100 writes expected"

# a program that cannot be run leaves nothing
status 127 sci-record -o gone -- ./no-such-program
one_line err
[ ! -e gone ] || fail "gone is left behind"
: >not-executable
status 126 sci-record -o gone -- ./not-executable
one_line err
[ ! -e gone ] || fail "gone is left behind"

# an existing recording is kept by default
status 1 sci-record -o ok -- true
one_line err
has err 'ok: a recording is there already \(--force replaces it\)'
status 0 sci-record -q --no-kernel --force -o ok -- true
[ -f ok/unified.otf2 ] || fail "--force left no archive"
[ ! -e ok/user.spool ] || fail "the spools stay without --keep-spools"
status 0 sci-record -q --keep-spools -o keep -- true
[ -d keep/user.spool ] || fail "--keep-spools kept nothing"

# without -o: a folder named after the program
status 0 sci-record -q --no-kernel true
status 0 sci-record -q --no-kernel /bin/true
for dir in true_sci true_sci.2; do
	[ -f $dir/unified.otf2 ] || fail "no $dir"
done

# a folder that cannot be made
status 1 sci-record -o /proc/none -- true
one_line err

# what stdin and stdout carry is the program's
printf 'through\n' | sci-record -q --no-kernel -o cat -- cat >through
[ "$(cat through)" = through ] || fail "stdin and stdout do not pass"

# only one side
status 0 sci-record -q --no-kernel -o user -- cat "$SCI_SRC/LICENSE"
otf2-print user/unified.otf2 | grep -q 'Region: "vfs:' && fail "--no-kernel has kernel regions"
# the kernel tells faults on a program's pages by its inode: the user's side has the name of that
program=$(readlink -f "$(command -v cat)")
otf2-print -G user/unified.otf2 >definitions
grep -F "file://$program\"" definitions | grep -q "Name: \"inode\".*Value: $(stat -c %i "$program")\$" ||
	fail "the program's file is not known: $program"

# how a program does its I/O is seen without the kernel's side
status 0 sci-record -q --no-kernel -o opened -- /usr/bin/python3 -c 'import os
for i in range(20000):
    os.close(os.open("often", os.O_CREAT | os.O_WRONLY))'
sci-analyze opened/unified.otf2 >text
grep -q '/often is opened 20 k times' text || fail "no advice for what is opened often: $(cat text)"

# processes of one name are distinguished by what they were called with
status 0 sci-record -q --no-kernel -o namesakes -- sh -c "cat '$SCI_SRC/LICENSE'; cat '$SCI_SRC/NEWS'; exit 0"
sci-analyze namesakes/unified.otf2 --csv --fields=process,arguments --by=process | tr -d '\r' >csv
for name in LICENSE NEWS; do
	grep -q "^cat,.*/$name\$" csv || fail "no process called with $name: $(cat csv)"
done
sci-analyze user/unified.otf2 --csv --fields=process,arguments --by=process | tr -d '\r' >csv
grep -qx 'cat,' csv || fail "a single cat has arguments to differ by: $(cat csv)"

# without privileges the user's side is recorded, and the message says what is missing
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	# what nobody can reach: the build may be below a folder that is not for everybody
	chmod 755 "$scratch"
	mkdir nobody
	cp "$(command -v sci-record)" "$SCI_PLUGIN_DIR/libsci-posixio.so" "$SCI_SRC/LICENSE" nobody
	chown -R 65534 nobody
	SCI_PLUGIN_DIR=$scratch/nobody
	status 0 setpriv --reuid=65534 --clear-groups \
		nobody/sci-record -o nobody/run -- cat nobody/LICENSE
	has err 'missing.*(CAP_BPF|privilege|root)'
	[ -f nobody/run/unified.otf2 ] || fail "nobody has no archive"
	status 1 setpriv --reuid=65534 --clear-groups \
		nobody/sci-record --strict -o nobody/strict -- cat nobody/LICENSE
fi

# where a recording is to go is something else
: >"$scratch/a-file"
status 1 sci-record -q --no-kernel -o "$scratch/a-file" -- true
one_line "$scratch/err"
has "$scratch/err" 'a-file: exists and is no folder'
[ -f "$scratch/a-file" ] || fail "the file is gone"
