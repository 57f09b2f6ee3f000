#!/bin/sh
# The tests of I/O functions that GNU's portability library has, from Debian's source of coreutils; built once.
: "${SCI_SUITES:?run by ./dev harmless}"
set -- "${SCI_SOURCES:-/absent}"/coreutils-*
[ -f "$1/configure" ] || { echo "no source of coreutils"; exit 77; }
[ -f "$1/built" ] || { echo "coreutils is not built"; exit 77; }
cd "$1/gnulib-tests" || exit 1
for file in test-*; do
	case " ${SCI_ONLY:-$file} " in *" $file "*) ;; *) continue ;; esac
	case $file in
	*.sh) set -- sh "./$file" ;;
	*.*) continue ;;
	*)
		set -- "./$file"
		if [ ! -f "$file" ] || [ ! -x "$file" ]; then continue; fi
		;;
	esac
	case $file in
	*rand* | test-u8* | *sleep* | test-thread_* | test-explicit_bzero | *stdalign* | *bitrotate* | *sha* | *md5*) continue ;;
	esac
	srcdir=. MAKE=make timeout 100 ${SCI_EACH:+"$SCI_EACH"} "$@" </dev/null >/dev/null 2>&1
	echo "$file: $?" >>"$OLDPWD/verdicts"
done
