#!/bin/sh
# sci-record says what of a program it will not see: one line, with the program and the remedy.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"
need_tracer
need cc objcopy
kernel_turn # a static program is traced in the kernel alone
cd "$scratch"

# warned PATTERN PROGRAM [ARG]...: exactly one line of warning, which has PATTERN
warned()
{
	pattern=$1
	shift
	rm -rf run
	status 0 sci-record -q --no-kernel -o run -- "$@"
	one_line err
	has err "$pattern"
}

cat >copy.c <<'EOF'
#include <unistd.h>
int main(void)
{
	char b[64];
	while (read(0, b, sizeof(b)) > 0)
		;
	return 0;
}
EOF
cc -o dynamic copy.c
status 0 sci-record -q --no-kernel -o run -- ./dynamic </dev/null
[ ! -s err ] || fail "an ordinary program is warned of: $(cat err)"

# a Go program, as far as a file can tell: the section that Go's linker leaves in each of them
printf 'Go build ID' >id
objcopy --add-section .note.go.buildid=id dynamic go
warned 'go: a Go program makes its system calls itself' ./go </dev/null

# real ones
if command -v fzf >/dev/null; then
	echo word | warned 'fzf: a Go program makes its system calls itself' fzf -f word
	[ "$(cat out)" = word ] || fail "fzf under sci-record: $(cat out)"
fi
if command -v busybox >/dev/null && file -L "$(command -v busybox)" | grep -q 'statically linked'; then
	echo word >list
	status 0 sci-record -q -o busybox.run -- busybox cat list
	has err '^sci-record: warning: .*/busybox: a static program cannot load the tracer'
	[ "$(cat out)" = word ] || fail "busybox under sci-record: $(cat out)"
fi

# static: the kernel's side alone, where there is one; so a script's interpreter, and through PATH
if cc -static -o static copy.c 2>/dev/null; then
	status 0 sci-record -q -o static.run -- ./static </dev/null
	has err '^sci-record: warning: ./static: a static program cannot load the tracer.*link it dynamically'
	status 1 sci-record -q --no-kernel -o none -- ./static </dev/null
	has err 'neither level of ./static was traced'
	[ ! -e none ] || fail "a recording of nothing stays"
	printf '#!%s/static\nnothing\n' "$scratch" >script
	printf '#!/usr/bin/env -S static\nnothing\n' >by-env
	chmod 755 script by-env
	status 1 sci-record -q --no-kernel -o script.run -- ./script </dev/null
	has err "^sci-record: warning: $scratch/static: a static program"
	PATH=$PATH:$scratch
	status 1 sci-record -q --no-kernel -o path.run -- static </dev/null
	has err "^sci-record: warning: $scratch/static: a static program"
	status 0 sci-record -q --no-kernel -o env.run -- ./by-env </dev/null
	has err "^sci-record: warning: $scratch/static: a static program"
fi

# another C library: the program runs as ever, also as the child of one that is traced
if command -v musl-gcc >/dev/null; then
	musl-gcc -o musl copy.c
	status 0 sci-record -q -o musl.run -- ./musl </dev/null
	one_line err
	has err '^sci-record: warning: ./musl: built for another C library \(.*ld-musl.*\), in which the tracer is idle'
	status 0 sci-record -q --no-kernel -o child.run -- sh -c './musl <copy.c >>out; echo x >made; :'
	[ ! -s err ] || fail "a child of another C library: $(cat err)"
	[ -s made ] || fail "the shell did not go on"
fi

# 32 bits, and no C library at all: made by the assembler alone
if [ "$(uname -m)" = x86_64 ] && ld -V | grep -q elf_i386; then
	# shellcheck disable=SC2016
	printf '.globl _start\n_start: movl $1, %%eax\nxorl %%ebx, %%ebx\nint $0x80\n' |
		as --32 -o word.o
	ld -m elf_i386 -o word word.o
	if ./word; then
		status 0 sci-record -q -o word.run -- ./word
		one_line err
		has err '^sci-record: warning: ./word: a program of another word size cannot load the tracer.*64 bits'
	fi
fi

# file capabilities are rights of one's own, but not where one has them all already
if [ "$(id -u)" -eq 0 ] && command -v setcap >/dev/null && cp dynamic capable &&
	setcap cap_net_raw+ep capable 2>/dev/null; then
	status 0 sci-record -q --no-kernel -o all.run -- ./capable </dev/null
	[ ! -s err ] || fail "capabilities that root has already: $(cat err)"
	chmod 777 .
	if setpriv --reuid=65534 --clear-groups test -r "$SCI_PLUGIN_DIR/libsci-posixio.so"; then
		sci_record=$(command -v sci-record)
		status 1 setpriv --reuid=65534 --clear-groups "$sci_record" -q --no-kernel -o few.run \
			-- ./capable </dev/null
		has err 'warning: ./capable: runs with rights of its own \(file capabilities\)'
		has err 'neither level of ./capable was traced'
	fi
fi

# rights of its own; not reported where there are none to gain
cp dynamic setuid
cp dynamic setgid
if [ "$(id -u)" -eq 0 ] && ! findmnt -no OPTIONS -T . | grep -q nosuid; then
	chown 65534 setuid
	chgrp 65534 setgid
	chmod 4755 setuid
	chmod 2755 setgid
	status 1 sci-record -q --no-kernel -o setuid.run -- ./setuid </dev/null
	has err '^sci-record: warning: ./setuid: runs with rights of its own \(setuid\).*run sci-record as'
	status 1 sci-record -q --no-kernel -o setgid.run -- ./setgid </dev/null
	has err '^sci-record: warning: ./setgid: runs with rights of its own \(setgid\)'
	chown 0 setuid
	chmod 4755 setuid
	status 0 sci-record -q --no-kernel -o root.run -- ./setuid </dev/null
	[ ! -s err ] || fail "setuid to the same user: $(cat err)"
fi

# files that are no programs, or cut ones: as before, whoever starts them says it
for bytes in 0 3 64 100 700; do
	head -c "$bytes" dynamic >cut-off
	chmod 755 cut-off
	got=0
	sci-record -q --no-kernel -o cut.run -- ./cut-off </dev/null >out 2>err || got=$?
	case $got in
	134 | 139) fail "a program cut to $bytes bytes: status $got" ;;
	esac
	rm -rf cut.run
done

# what outlives the program: named, and what it did until then is there
# shellcheck disable=SC2016
status 0 sci-record --keep-spools --no-kernel -o daemon -- sh -c '
	(exec /usr/bin/python3 -c "
import os, time
f = os.open(\"daemon.out\", os.O_CREAT | os.O_WRONLY)
os.write(f, b\"x\" * 7)
print(os.getpid(), flush=True)
while os.path.exists(\"run-on\"): time.sleep(0.01)" >pid 2>/dev/null) &
	: >run-on
	while [ ! -s pid ]; do :; done' </dev/null
pid=$(cat pid)
rm run-on
has err "^sci-record: warning: 1 process of the program still runs \\(python3 $pid\\): the trace has"
otf2-print daemon/unified.otf2 | grep -q 'IO_OPERATION_BEGIN.*daemon.out.*Bytes Request: 7,' ||
	fail "what the daemon wrote is missing"

# system calls without the C library, in a program that uses it too
cat >raw.c <<'EOF'
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
static long raw(long n, long a, long b, long c)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}
int main(int argc, char **argv)
{
	int fd = open("raw.out", O_CREAT | O_WRONLY, 0644);
	for (int i = 0; i < 40; i++)
		if (argc > 1 ? write(fd, argv[0], 1) != 1 : raw(SYS_write, fd, (long)argv[0], 1) != 1)
			return 1;
	return close(fd);
}
EOF
if [ "$(uname -m)" = x86_64 ]; then
	cc -o raw raw.c
	need_kernel
	rm -rf run
	status 0 sci-record -q -o run -- ./raw
	one_line err
	has err '^sci-record: warning: 40 of 40 system calls on files were made outside of library calls'
	rm -rf run
	status 0 sci-record -q -o run -- ./raw by-libc
	[ ! -s err ] || fail "calls of the C library are warned of: $(cat err)"
fi
