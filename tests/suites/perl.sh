#!/bin/sh
# Perl's own tests of I/O, from Debian's source package, run by Debian's perl.
: "${SCI_SUITES:?run by ./dev harmless}"
set -- "${SCI_SOURCES:-/absent}"/perl-*
[ -d "$1/t/io" ] || { echo "no source of perl"; exit 77; }
cp -r "$1/t" "$1/lib" . || exit 1
mkdir -p ext dist cpan
cd t || exit 1
ln -sf /usr/bin/perl perl
for file in io/*.t op/stat.t op/stat_errors.t op/readline.t op/sysio.t op/fork.t op/exec.t op/die_exit.t op/alarm.t \
	op/sselect.t op/chdir.t op/glob.t op/mkdir.t op/lfs.t op/filetest.t op/inccode.t op/kill0.t op/magic.t; do
	name=$(echo "${file%.t}" | tr / -)
	case " ${SCI_ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
	# only the outcome: a test's descriptions hold times and process ids
	timeout 300 ${SCI_EACH:+"$SCI_EACH"} ./perl "$file" 2>&1 </dev/null | sed -n 's/^\(ok\|not ok\) \([0-9]*\).*\(# *[Ss][Kk][Ii][Pp]\).*/\1 \2 \3/p; t
		s/^\(ok\|not ok\) \([0-9]*\).*/\1 \2/p' >"../$name.tap"
done
