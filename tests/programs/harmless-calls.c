/*
 * Calls each intercepted function (the list is functions.h) with good and bad arguments of every
 * kind, two bad ones at a time, and prints what came: run it with and without a tracer, and
 * compare.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harmless-calls.h"
#include "plugins/posixio/functions.h"

#pragma GCC diagnostic ignored "-Wnonnull" /* that is what is tried */

struct row {
	const char *name, *signature;
	long number; /* of a system call, -1: a function */
};

static const struct row rows[] = {
#define X(name, kind, shape, variant, type, detail) { #name, SIGNATURE_##shape(name), -1 },
	SCI_FUNCTIONS(X)
#undef X
#define X(name, signature) { "syscall " #name, signature, SYS_##name },
		X(read, "ldbz") X(write, "ldbz") X(readv, "ldvn") X(writev, "ldvn") X(
			pread64, "ldbzO") X(pwrite64, "ldbzO") X(preadv, "ldvnO") X(pwritev,
										    "ldvnO")
			X(preadv2, "ldvnOOi") X(pwritev2, "ldvnOOi") X(vmsplice, "ldvzK") X(
				fsync, "id") X(fdatasync, "id") X(sync_file_range, "idOOi")
				X(ftruncate, "idO") X(fallocate, "idiOO") X(openat, "dDPom") X(
					close, "id") X(close_range, "iuui") X(dup, "dd")
					X(dup3, "ddjo") X(openat2, "dDPbz") X(memfd_create, "dPi")
						X(lseek, "ldOi") X(io_submit, "lGnB")
							X(io_getevents, "lGnnbe")
								X(io_uring_setup, "dub")
									X(io_uring_enter, "lduuiz")
#ifdef SYS_open
										X(open, "dPom")
#endif
#undef X
};

#define PAGE 4096
#define FILE_BYTES 4096
#define MAX_VALUES 12
#define MAX_ARGS 6

static char *buffer;  /* two pages, behind which there is nothing */
static char *nowhere; /* unmapped */
static char *report;  /* lines of a child, shared with its parent */
static size_t *report_at;
#define REPORT_BYTES ((size_t)32 << 20)

/* all in this one process: EZTrace traces no other */
static bool alone;
static FILE *results; /* what this program says; stdout is there to be called on */
static int data = -1, dir = -1, pipe_in = -1, pipe_out = -1;
static sigjmp_buf back;
static volatile sig_atomic_t calling, caught;

static struct iovec *vectors; /* two, behind which there is nothing */
static struct aiocb request;
static void *requests[2];
static int64_t place;
static struct timespec zero_time[2];
static struct sigevent quiet = { .sigev_notify = SIGEV_NONE };
static char *line;
static size_t line_room;
static fpos_t position;
static struct flock lock;
static va_list list;
static FILE *streams[4];
static int stream_fds[4];
static char template[64], template_edge[64];

static void must(bool ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}
#define MUST(expression) must(expression, #expression)

/*
 * Far below the end of the address space: where a buffer and its size together go beyond that end,
 * the kernel writes nothing of it (EFAULT), else what is before the page that is missing. Where the
 * kernel places mappings at random, that differs from run to run: 32 GiB of 1 TiB are too near.
 */
static char *guarded(size_t pages)
{
	static uintptr_t place_of_next = (uintptr_t)64 << 30;
	const size_t bytes = (pages + 1) * PAGE;
	char *at = mmap((void *)place_of_next, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	MUST(at == (char *)place_of_next);
	place_of_next += bytes;
	MUST(mprotect(at + pages * PAGE, PAGE, PROT_NONE) == 0);
	return at;
}

static char *at_edge(const void *what, size_t bytes)
{
	return memcpy(guarded(1) + PAGE - bytes, what, bytes);
}

/* Everything as it is before each call. */
static void reset(const char *signature)
{
	static const char content[] = "line 1\nline 2\n7 8 9\n";
	FILE *stream;

	memset(buffer, 'b', (size_t)2 * PAGE);
	if (data >= 0)
		close(data);
	MUST((data = open("file", O_RDWR | O_CREAT, 0600)) >= 0);
	MUST(ftruncate(data, 0) == 0 && pwrite(data, content, sizeof(content) - 1, 0) > 0);
	MUST(ftruncate(data, FILE_BYTES) == 0);
	if (strpbrk(signature, "Q")) {
		unlink("new");
		unlink("absent");
		mkdir("dir", 0700);
	}
	vectors[0] = (struct iovec){ buffer, 5 };
	vectors[1] = (struct iovec){ buffer + 100, 7 };
	memset(&request, 0, sizeof(request));
	request.aio_fildes = data;
	request.aio_buf = buffer;
	request.aio_nbytes = 16;
	request.aio_sigevent = quiet;
	request.aio_lio_opcode = LIO_READ;
	requests[0] = &request;
	requests[1] = NULL;
	place = 3;
	line = NULL;
	line_room = 0;
	strcpy(template, "madeXXXXXX");
	strcpy(template_edge, "plain");
	lock = (struct flock){ .l_type = F_WRLCK };
	if (!strchr(signature, 'F'))
		return;
	for (int i = 0; i < 4; i++) {
		stream = fopen("file", i == 1 ? "r" : i == 3 ? "a+" : "r+");
		MUST(stream != NULL);
		streams[i] = stream;
		stream_fds[i] = fileno(stream);
		if (i == 2)
			close(stream_fds[i]); /* as by a daemon */
		memset(&position, 0, sizeof(position));
	}
}

/* The values of an argument of KIND, the good one first; how many. */
static int values(char kind, long out[MAX_VALUES])
{
	static char *long_path, *open_path, *path_edge, *vector_edge, *buffer_edge, *pages;
	int n = 0;
#define V(value) out[n++] = (long)(value)

	if (!long_path) {
		long_path = calloc(1, 5001);
		MUST(long_path != NULL);
		memset(long_path, 'p', 5000);
		open_path = at_edge("file", 4);
		path_edge = at_edge("file", 5);
		buffer_edge = at_edge("12345678", 8);
		vector_edge = at_edge(vectors, sizeof(*vectors));
		pages = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	switch (kind) {
	case 'P': /* a path that is there */
		V("file"), V(NULL), V(-1), V(nowhere), V(""), V("absent/x"), V("dir"), V(path_edge);
		V(open_path), V(long_path);
		break;
	case 'Q': /* one that is not */
		V("new"), V(NULL), V(-1), V(nowhere), V(""), V("file"), V(open_path), V(long_path);
		break;
	case 'N': /* room for a path, that may lie over the path itself */
		V(buffer), V(NULL), V(-1), V(nowhere), V(buffer_edge), V(path_edge);
		break;
	case 'X':
		V(template), V("x"), V(template_edge);
		break;
	case 'o':
		V(O_RDWR), V(-1), V(O_TMPFILE | O_RDONLY), V(O_CREAT | O_DIRECTORY), V(O_PATH);
		V(O_CREAT | O_EXCL | O_WRONLY), V(O_CLOEXEC);
		break;
	case 'm':
		V(0600), V(0), V(-1);
		break;
	case 'd':
		V(data), V(-1), V(INT32_MIN), V(1 << 20), V(999), V(dir), V(pipe_in), V(pipe_out);
		break;
	case 'j': /* a number for a copy */
		V(950), V(data), V(-1), V(1 << 20), V(INT32_MAX);
		break;
	case 'D':
		V(AT_FDCWD), V(dir), V(-1), V(999), V(data);
		break;
	case 'e': /* times and masks */
		V(zero_time), V(NULL), V(-1), V(nowhere);
		break;
	case 'u':
		V(900), V(1 << 20), V(-1), V(0x80000000u);
		break;
	case 'i':
		V(0), V(1), V(2), V(3), V(-1), V(0x1000), V(INT32_MIN);
		break;
	case 'l': /* locks that do not wait */
		V(LOCK_EX | LOCK_NB), V(LOCK_SH | LOCK_NB), V(LOCK_UN), V(0), V(-1);
		break;
	case 'K': /* splices that do not wait */
		V(SPLICE_F_NONBLOCK), V(SPLICE_F_NONBLOCK | SPLICE_F_MOVE), V(-1), V(0x1002);
		break;
	case 'H': /* asks, and changes nothing */
		V(PR_GET_DUMPABLE), V(PR_GET_NAME), V(PR_GET_TSC), V(9999), V(-1);
		break;
	case 'y':
		V(MADV_NORMAL), V(MADV_RANDOM), V(-1), V(9999);
		break;
	case 'c':
		V(F_GETFL), V(F_SETFL), V(F_SETLK), V(F_GETLK), V(F_DUPFD), V(F_DUPFD_CLOEXEC);
		V(F_SETFD), V(F_GETPIPE_SZ), V(-1), V(9999);
		break;
	case 'a':
		V(0), V(&lock), V(-1), V(nowhere), V(O_APPEND), V(100);
		break;
	case 'b':
		V(buffer), V(NULL), V(-1), V(nowhere), V(buffer_edge);
		break;
	case 'z':
		V(16), V(0), V(1), V(8192), V(SIZE_MAX), V(PTRDIFF_MAX), V((size_t)INT32_MAX + 17);
		break;
	case 'r': /* room, as the compiler knows it */
		V(8192), V(0), V(SIZE_MAX);
		break;
	case 'M':
		V(PAGE), V(0), V(1), V(SIZE_MAX), V(PTRDIFF_MAX);
		break;
	case 'O':
		V(0), V(5), V(-1), V(INT64_MIN), V(INT64_MAX), V(FILE_BYTES);
		break;
	case 'v':
		V(vectors), V(NULL), V(-1), V(nowhere), V(vector_edge), V(nowhere - 8);
		break;
	case 'n':
		V(2), V(0), V(1), V(-1), V(1025), V(INT32_MAX), V(INT32_MIN);
		break;
	case 'x': /* a place that is read and written */
		V(&place), V(NULL), V(-1), V(nowhere);
		break;
	case 'w':
		V(NULL), V(nowhere), V(-1);
		break;
	case 'k':
		V(pages), V(nowhere), V(-1), V(pages + 1), V(NULL);
		break;
	case 'h':
		V(PROT_READ), V(PROT_NONE), V(-1);
		break;
	case 'f':
		V(MAP_PRIVATE), V(MAP_SHARED), V(MAP_PRIVATE | MAP_ANONYMOUS), V(0), V(-1);
		break;
	case 'T': /* of fopen */
		V("r+"), V("r"), V("z"), V(""), V(NULL);
		break;
	case 't':
		V("text\n"), V(""), V("%%"), V(NULL), V(-1);
		break;
	case 'g':
		V("%8s"), V(""), V("x"), V(NULL);
		break;
	case 'F':
		V(streams[0]), V(streams[1]), V(streams[2]), V(streams[3]);
		/* a lock of the C library's may stay with what crashed */
		if (!alone)
			V(NULL), V(-1);
		break;
	case 'q':
		V(&position), V(NULL), V(-1);
		break;
	case 'V':
		V(&list);
		break;
	case 'L':
		V(&line), V(NULL), V(-1);
		break;
	case 'Z':
		V(&line_room), V(NULL);
		break;
	case 'A':
		V(&request), V(NULL), V(-1), V(nowhere);
		break;
	case 'B':
		V(requests), V(requests + 1), V(NULL), V(-1);
		break;
	case 'E':
		V(&quiet), V(NULL);
		break;
	case 'S':
		V(buffer), V(NULL), V(-1), V(nowhere);
		break;
	case 'R':
		V(opendir(".")), V(NULL), V(-1);
		break;
	case 'C':
		V(buffer), V(NULL), V(-1), V(nowhere);
		break;
	case 'G': /* no context of libaio's */
		V(0), V(-1), V(nowhere);
		break;
	default:
		errx(1, "no values for arguments of kind %c", kind);
	}
	return n;
}

static void on_signal(int sig)
{
	if (!calling)
		_exit(3); /* this program itself is wrong */
	caught = sig;
	siglongjmp(back, 1);
}

static void say(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(report + *report_at, REPORT_BYTES - *report_at, format, args);
	va_end(args);
	if (n > 0 && *report_at + (size_t)n < REPORT_BYTES)
		*report_at += (size_t)n;
}

static unsigned long hash(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	unsigned long sum = 5381;

	while (n--)
		sum = sum * 33 + *at++;
	return sum & 0xffff;
}

typedef long function(long, ...);

static long call(function *f, long number, const long a[MAX_ARGS])
{
	if (number >= 0)
		return f(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return f(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void tell(char type, long ret, int error)
{
	bool failed = type == 'v'		   ? false
		      : type == 'l'		   ? ret == -1
		      : type == 'i' || type == 'd' ? (int)ret == -1
						   : !ret;

	if (type == 'v')
		say("done");
	else if (type == 'p' || type == 's')
		say("%s", !ret ? "NULL" : ret == -1 ? "-1" : "pointer");
	else if (type == 'd')
		say("%s", (int)ret > 2 ? "descriptor" : (int)ret < 0 ? "-1" : "0");
	else
		say("%ld", type == 'i' ? (long)(int)ret : ret);
	say(" errno %d", failed || error != 7777 ? error : 0);
}

/* What a call has done to the file and to the buffer. */
static void tell_traces(char type, const char *kinds)
{
	static char content[2 * FILE_BYTES];
	struct stat st = { 0 };
	int fd = open("file", O_RDONLY);
	ssize_t n = fd >= 0 ? pread(fd, content, sizeof(content), 0) : -1;

	if (fd >= 0 && fstat(fd, &st) == 0)
		say(" file %ld:%lx", (long)st.st_size, hash(content, n > 0 ? (size_t)n : 0));
	if (type == 'l' && !strchr(kinds, 'G'))
		say(" buffer %lx", hash(buffer, (size_t)2 * PAGE));
	say(" at %ld place %ld", (long)lseek(data, 0, SEEK_CUR), (long)place);
	if (fd >= 0)
		close(fd);
}

static void one_case(const struct row *row, function *f, const int pick[MAX_ARGS])
{
	const char *kinds = row->signature + 1 + (row->signature[1] == '!');
	long args[MAX_ARGS] = { 0 }, set[MAX_VALUES];
	volatile long ret = 0;
	int n = (int)strlen(kinds), error;

	reset(kinds);
	for (int i = 0; i < n; i++) {
		values(kinds[i], set);
		args[i] = set[pick[i]];
	}
	say("%s", row->name);
	for (int i = 0; i < n; i++)
		say(" %c%d", kinds[i], pick[i]);
	say(" = ");
	caught = 0;
	errno = 7777;
	calling = true;
	if (sigsetjmp(back, 1) == 0)
		ret = call(f, row->number, args);
	calling = false;
	error = errno;
	if (caught)
		say("signal %d", (int)caught);
	else
		tell(row->signature[0], ret, error);
	if (kinds[0] == 'A' && !caught && ret == 0 && args[n - 1] == (long)&request)
		while (aio_error(&request) == EINPROGRESS)
			usleep(100);
	if (strchr("dip", row->signature[0]) || !strchr(kinds, 'd') || args[0] == data)
		tell_traces(row->signature[0], kinds);
	say("\n");
	if (row->signature[0] == 'd' && (int)ret > 2 && !caught)
		close((int)ret);
	if (row->signature[0] == 's' && ret && !caught && !strchr(kinds, 'd'))
		close(fileno((FILE *)ret));
	if (strchr(kinds, 'F'))
		for (int i = 0; i < 4; i++)
			close(stream_fds[i]);
	if (strchr(kinds, 'C') && !caught && ret == 0) {
		close(((int *)(void *)buffer)[0]);
		close(((int *)(void *)buffer)[1]);
	}
	if (strchr(kinds, 'R') && strcmp(row->name, "closedir") != 0)
		closedir((DIR *)set[0]);
}

/* All that a function may be given, or only PICK. */
static void all_cases(const struct row *row, function *f, const int pick[MAX_ARGS], bool all)
{
	const char *kinds = row->signature + 1 + (row->signature[1] == '!');
	const int n = (int)strlen(kinds);
	int picks[MAX_ARGS] = { 0 };
	long set[MAX_VALUES];
	int ends[2];

	/* of its own: fcntl changes them for all that share them */
	MUST(pipe2(ends, O_NONBLOCK) == 0);
	pipe_out = ends[0];
	pipe_in = ends[1];
	mkdir("dir", 0700); /* a call before may have removed it */
	MUST((dir = open("dir", O_RDONLY | O_DIRECTORY)) >= 0);
	alarm(20);
	one_case(row, f, pick);
	for (int i = 0; all && i < n; i++)
		for (int v = 1; v < values(kinds[i], set); v++) {
			picks[i] = v;
			one_case(row, f, picks);
			for (int j = i + 1; j < n; j++) {
				int m = values(kinds[j], set);

				for (picks[j] = 1; picks[j] < m; picks[j]++)
					one_case(row, f, picks);
				picks[j] = 0;
			}
			picks[i] = 0;
		}
	alarm(0);
	close(pipe_out);
	close(pipe_in);
	close(dir);
}

/* OWN: in a process of its own. */
static void run(const struct row *row, function *f, const int pick[MAX_ARGS], bool all, bool own)
{
	int status = 0;
	pid_t pid;

	*report_at = 0;
	pid = own ? fork() : 0;
	MUST(pid >= 0);
	if (pid == 0)
		all_cases(row, f, pick, all);
	if (pid == 0 && own)
		_exit(0);
	MUST(!own || waitpid(pid, &status, 0) == pid);
	fwrite(report, 1, *report_at, results);
	if (status)
		fprintf(results, "%s: ended by %x\n", row->name, (unsigned)status);
	fflush(results);
}

static void prepare(void)
{
	const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGPIPE, SIGFPE };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_ONSTACK };
	const size_t stack_bytes = (size_t)256 << 10;
	stack_t stack = { .ss_sp = malloc(stack_bytes), .ss_size = stack_bytes };

	MUST(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		MUST(sigaction(signals[i], &action, NULL) == 0);
	buffer = guarded(2);
	vectors = (struct iovec *)(void *)(guarded(1) + PAGE) - 2;
	vectors[0] = (struct iovec){ buffer, 5 };
	nowhere = guarded(1) + PAGE;
	report = mmap(NULL, REPORT_BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	MUST(report != MAP_FAILED);
	report_at = (size_t *)(void *)(report + REPORT_BYTES);
	results = fopen("results", "w");
	MUST(results && freopen("stdin-file", "w+", stdin) && freopen("stdout-file", "w+", stdout));
}

int main(int argc, char **argv)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW), *queues[2];

	queues[0] = dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL);
	queues[1] = dlopen("liburing.so.2", RTLD_NOW | RTLD_GLOBAL);
	alone = argc > 1 && strcmp(argv[1], "alone") == 0;
	prepare();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		const char *name = row->number < 0 ? row->name : "syscall";
		const int pick[MAX_ARGS] = { 0 };
		function *f;

		if (!row->signature || (argc > 1 && !alone && strcmp(row->name, argv[1]) != 0))
			continue;
		if (!(libc && dlsym(libc, name)) && !(queues[0] && dlsym(queues[0], name)) &&
		    !(queues[1] && dlsym(queues[1], name))) {
			fprintf(results, "%s: not in these libraries\n", name);
			continue;
		}
		f = (function *)dlsym(RTLD_DEFAULT, name);
		MUST(f);
		if (row->signature[1] != '!') {
			/* what is unmapped twice may be another's by then */
			run(row, f, pick, true, !alone || strchr(row->signature, 'k'));
			continue;
		}
		/* a lock of the C library's may stay with what crashed: each in its own process */
		if (alone)
			continue;
		run(row, f, pick, false, true);
		for (int a = 0; a < (int)strlen(row->signature + 2); a++) {
			int picks[MAX_ARGS] = { 0 };
			long set[MAX_VALUES];

			for (int v = 1; v < values(row->signature[2 + a], set); v++) {
				picks[a] = v;
				run(row, f, picks, false, true);
			}
		}
	}
	/* not through exit: streams were given buffers that are none */
	fflush(stdout);
	_exit(0);
}
