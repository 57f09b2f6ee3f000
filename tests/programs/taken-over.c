/* Closes files where no library call shows it, and gets their numbers back as something else. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "raw": by an instruction of the program's own */
static long raw_close(int fd)
{
#ifdef __x86_64__
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_close), "D"((long)fd)
			 : "rcx", "r11", "memory");
	return ret;
#else
	(void)fd;
	return -1;
#endif
}

static int named(const char *name)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	if (fd < 0 || write(fd, name, strlen(name)) < 0)
		err(1, "%s", name);
	return fd;
}

/* 77: not possible here; 5 bytes are written to each descriptor of another kind */
int main(int argc, char **argv)
{
	const char text[8] = "12345";
	int fds[2], first, second;

	if (argc == 2 && strcmp(argv[1], "raw") == 0) {
		first = named("one");
		if (raw_close(first) != 0)
			return 77;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0 || fds[0] != first)
			errx(1, "another number");
		if (write(first, text, 5) != 5)
			err(1, "socket");
		second = named("two");
		raw_close(second);
		if (memfd_create("made", 0) != second || write(second, text, 5) != 5)
			err(1, "memory");
		return 0;
	}
	first = named("one");
	second = named("two");
	if (syscall(SYS_close_range, (long)first, (long)second, 0L) != 0)
		return 77;
	/* by the number: no wrapper looks at what comes back */
	if (syscall(SYS_pipe2, fds, 0L) != 0 || fds[0] != first || fds[1] != second)
		errx(1, "other numbers");
	if (write(second, text, 5) != 5 || read(first, fds, 5) != 5)
		err(1, "pipe");
	return 0;
}
