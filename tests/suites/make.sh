#!/bin/sh
# A build of a thousand processes at a time, with command lines as long as a kernel's.
: "${SCI_SUITES:?run by ./dev harmless}"
# shellcheck disable=SC2016 # make's variables
{
	printf 'LONG := %s\n' "$(seq -s ' ' -f '-DSOME_OPTION_%g=1' 100)"
	printf 'all: lib.a\n'
	printf 'lib.a: %s\n\tar rcD $@ $^\n' "$(seq -s ' ' -f 'f%g.o' 1000)"
	printf '%%.o: %%.c\n\t@gcc -x c -c -O0 $(LONG) -o $@ $<; n=$$(cat $@ | wc -c); [ $$n -gt 0 ]\n'
	printf 'f%%.c:\n\t@echo "int f$*(void) { return $*; }" >$@\n.SECONDARY:\n'
} >Makefile
make -sj1000 >make.log 2>&1
{
	echo "make -j1000: $?"
	echo "objects: $(sha256sum <lib.a)"
	echo "members: $(ar t lib.a | wc -l)"
} >>verdicts
