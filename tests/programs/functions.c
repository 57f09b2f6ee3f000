/* Calls each function of the list that calls.c leaves out once, with a known result. */
/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE

/* glibc's header makes these names stand for the __isoc99_ ones */
#define fscanf redirected_fscanf
#define vfscanf redirected_vfscanf
#define scanf redirected_scanf
#define vscanf redirected_vscanf
#include <stdio.h>
#undef fscanf
#undef vfscanf
#undef scanf
#undef vscanf

#include <aio.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

int fscanf(FILE *stream, const char *format, ...);
int vfscanf(FILE *stream, const char *format, va_list args);
int scanf(const char *format, ...);
int vscanf(const char *format, va_list args);
int __isoc99_fscanf(FILE *stream, const char *format, ...);
int __isoc99_vfscanf(FILE *stream, const char *format, va_list args);
int __isoc99_scanf(const char *format, ...);
int __isoc99_vscanf(const char *format, va_list args);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list args);
int __printf_chk(int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list args);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
char *__fgets_chk(char *line, size_t room, int size, FILE *stream);
char *__fgets_unlocked_chk(char *line, size_t room, int size, FILE *stream);
int _IO_putc(int c, FILE *stream);
int _IO_getc(FILE *stream);

#undef fputs_unlocked
#undef fgets_unlocked
#undef putc
#undef getc
#undef putc_unlocked
#undef getc_unlocked
#undef fputc_unlocked
#undef fgetc_unlocked
#undef putchar
#undef getchar
#undef putchar_unlocked
#undef getchar_unlocked

static char buffer[8192];

static void must(int ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}
#define MUST(expression) must(expression, #expression)

/* through a variable, so that no inline form of the header takes the call's place */
#define CALL(name)                                                                                 \
	({                                                                                         \
		__typeof__(name) *volatile called = name;                                          \
		called;                                                                            \
	})

static void makes(void)
{
	char template[32];
	int fd;

#define MADE(call, suffix)                                                                         \
	do {                                                                                       \
		strcpy(template, "madeXXXXXX" suffix);                                             \
		MUST((fd = call) >= 0);                                                            \
		MUST(close(fd) == 0);                                                              \
	} while (0)
	MADE(mkstemp(template), "");
	MADE(mkstemp64(template), "");
	MADE(mkostemp(template, O_APPEND), "");
	MADE(mkostemp64(template, O_APPEND), "");
	MADE(mkstemps(template, 2), ".c");
	MADE(mkstemps64(template, 2), ".c");
	MADE(mkostemps(template, 2, O_APPEND), ".c");
	MADE(mkostemps64(template, 2, O_APPEND), ".c");
	MUST(fclose(tmpfile()) == 0);
	MUST(fclose(tmpfile64()) == 0);
}

/* what duplicates, and what closes many */
static void closes(void)
{
	int fd;

	MUST((fd = open("data", O_RDWR)) == 3);
	MUST(write(fd, buffer, 10) == 10);
	MUST(fcntl(fd, F_DUPFD, 50) == 50);
	MUST(fcntl64(fd, F_DUPFD_CLOEXEC, 51) == 51);
	MUST(write(51, buffer, 5) == 5);
	MUST(fcntl(fd, F_GETFL) >= 0); /* tells nothing of the file */
	MUST(close_range(50, 60, 0) == 0);
	closefrom(3);
	MUST(read(fd, buffer, 1) == -1 && errno == EBADF);
	MUST(fcloseall() == 0);
}

static void sizes(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 6 };
	int fd;

	MUST((fd = open("data", O_RDWR)) >= 0);
	MUST(fcntl(fd, F_SETLK, &lock) == 0);
	MUST(flock(fd, LOCK_EX) == 0);
	MUST(lockf(fd, F_LOCK, 7) == 0);
	MUST(lockf64(fd, F_ULOCK, 7) == 0);
	MUST(truncate("data", 50) == 0);
	MUST(truncate64("data", 51) == 0);
	MUST(truncate("absent", 1) == -1 && errno == ENOENT);
	MUST(ftruncate(fd, 52) == 0);
	MUST(ftruncate64(fd, 53) == 0);
	MUST(fallocate(fd, 0, 10, 90) == 0);
	MUST(fallocate64(fd, 0, 11, 90) == 0);
	MUST(posix_fallocate(fd, 12, 90) == 0);
	MUST(posix_fallocate64(fd, 13, 90) == 0);
	MUST(posix_fallocate(fd, 0, 0) == EINVAL);
	MUST(posix_fadvise(fd, 14, 15, POSIX_FADV_DONTNEED) == 0);
	MUST(posix_fadvise64(fd, 16, 17, POSIX_FADV_NORMAL) == 0);
	MUST(readahead(fd, 18, 19) == 0);
	MUST(sync_file_range(fd, 20, 21, SYNC_FILE_RANGE_WRITE) == 0);
	MUST(syncfs(fd) == 0);
	sync();
	MUST(close(fd) == 0);
	/* of a directory nothing is recorded until it is synchronised */
	MUST((fd = open(".", O_RDONLY | O_DIRECTORY)) >= 0);
	MUST(flock(fd, LOCK_SH) == 0);
	MUST(fsync(fd) == 0);
	MUST(fdatasync(fd) == 0);
	MUST(syncfs(fd) == 0);
	MUST(syscall(SYS_fsync, fd) == 0);
	MUST(close(fd) == 0);
	MUST(syscall(SYS_readahead, fd, 0, 1) == -1 && errno == EBADF);
}

static void copies(void)
{
	off64_t in_at = 5, out_at = 7;
	off_t at = 9;
	struct iovec vector = { buffer, 40 };
	int in, out, pipes[2];

	MUST((in = open("text", O_RDONLY)) >= 0);
	MUST((out = open("copied", O_RDWR | O_CREAT, 0644)) >= 0);
	MUST(pipe(pipes) == 0);
	MUST(copy_file_range(in, NULL, out, NULL, 30, 0) == 30);
	MUST(copy_file_range(in, &in_at, out, &out_at, 20, 0) == 20);
	MUST(sendfile(out, in, &at, 10) == 10); /* at 30 */
	MUST(sendfile64(pipes[1], in, NULL, 4) == 4);
	MUST(read(in, buffer, 1) == 1);			    /* at 34 */
	MUST(splice(pipes[0], NULL, out, NULL, 4, 0) == 4); /* at 40 */
	MUST(vmsplice(pipes[1], &vector, 1, 0) == 40);
	MUST(splice(pipes[0], NULL, out, &out_at, 40, 0) == 40); /* at 27 */
	MUST(close(in) == 0 && close(out) == 0);
	MUST(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

static void maps(void)
{
	char *at, *other;
	int fd;

	MUST((fd = open("mapped", O_RDWR | O_CREAT, 0644)) >= 0 && ftruncate(fd, 16384) == 0);
	MUST((at = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED);
	MUST((other = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 8192)) != MAP_FAILED);
	MUST(close(fd) == 0);
	at[4096] = 1;
	MUST(msync(at + 4096, 4096, MS_SYNC) == 0);
	MUST(madvise(other, 4096, MADV_RANDOM) == 0);
	MUST(munmap(other, 4096) == 0);
	MUST(munmap(at, 8192) == 0); /* the rest stays */
	MUST(msync(at + 8192, 8192, MS_ASYNC) == 0);
	MUST(munmap(at + 8192, 8192) == 0);
	MUST((at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	MUST(munmap(at, 4096) == 0);
}

/* O_APPEND, and flags that change while the file is open */
static void flags(void)
{
	int fd, twin;

	MUST((fd = open("text", O_RDWR | O_APPEND)) >= 0);
	MUST((twin = dup(fd)) >= 0); /* shares them */
	MUST(read(fd, buffer, 10) == 10);
	MUST(write(fd, "abc", 3) == 3);	  /* at 100 */
	MUST(pwrite(fd, "d", 1, 5) == 1); /* where the file ends, whatever is said */
	MUST(write(fd, "e", 1) == 1);	  /* at 104 */
	MUST(lseek(fd, 0, SEEK_CUR) == 105);
	MUST(fcntl(fd, F_SETFL, 0) == 0);
	MUST(lseek(fd, 1, SEEK_SET) == 1);
	MUST(write(fd, "f", 1) == 1);	/* at 1 */
	MUST(write(twin, "g", 1) == 1); /* at 2 */
	MUST(fcntl(twin, F_SETFL, O_APPEND) == 0);
	MUST(write(fd, "h", 1) == 1); /* at 105 */
	MUST(close(twin) == 0);
	MUST(close(fd) == 0);
	MUST((fd = open("text", O_RDONLY)) >= 0);
	if (fcntl(fd, F_SETFL, O_DIRECT) == 0) /* some file systems cannot */
		MUST(read(fd, buffer, 8192) != 0);
	MUST(close(fd) == 0);
}

#define V_FORM(name, first, real)                                                                  \
	static int name(first, const char *format, ...)                                            \
	{                                                                                          \
		va_list list;                                                                      \
		int n;                                                                             \
                                                                                                   \
		va_start(list, format);                                                            \
		n = real;                                                                          \
		va_end(list);                                                                      \
		return n;                                                                          \
	}
V_FORM(call_vfprintf, FILE *stream, vfprintf(stream, format, list))
V_FORM(call_vfprintf_chk, FILE *stream, __vfprintf_chk(stream, 1, format, list))
V_FORM(call_vprintf, __attribute__((unused)) int unused, CALL(vprintf)(format, list))
V_FORM(call_vprintf_chk, int flag, __vprintf_chk(flag, format, list))
V_FORM(call_vdprintf, int fd, vdprintf(fd, format, list))
V_FORM(call_vdprintf_chk, int fd, __vdprintf_chk(fd, 1, format, list))
V_FORM(call_vfscanf, FILE *stream, vfscanf(stream, format, list))
V_FORM(call_isoc99_vfscanf, FILE *stream, __isoc99_vfscanf(stream, format, list))
V_FORM(call_vscanf, __attribute__((unused)) int unused, vscanf(format, list))
V_FORM(call_isoc99_vscanf, __attribute__((unused)) int unused, __isoc99_vscanf(format, list))

/* standard output is a file of this part's */
static void prints(void)
{
	FILE *stream;
	int fd;

	MUST(freopen("out", "w", stdout) != NULL);
	MUST(printf("%d", 1) == 1);
	MUST(call_vprintf(0, "%d", 12) == 2);
	MUST(__printf_chk(1, "%d", 123) == 3);
	MUST(call_vprintf_chk(1, "%d", 1234) == 4);
	MUST(puts("four") >= 0);
	MUST((stream = fopen("printed", "w")) != NULL);
	MUST(fprintf(stream, "%d", 1) == 1);
	MUST(call_vfprintf(stream, "%d", 12) == 2);
	MUST(__fprintf_chk(stream, 1, "%d", 123) == 3);
	MUST(call_vfprintf_chk(stream, "%d", 1234) == 4);
	MUST(fputs("fives", stream) >= 0);
	MUST(fputs_unlocked("sixsix", stream) >= 0);
	fd = fileno(stream);
	MUST(fflush(stream) == 0);
	MUST(dprintf(fd, "%d", 1) == 1);
	MUST(call_vdprintf(fd, "%d", 12) == 2);
	MUST(__dprintf_chk(fd, 1, "%d", 123) == 3);
	MUST(call_vdprintf_chk(fd, "%d", 1234) == 4);
	MUST(fclose(stream) == 0);
	MUST(fclose(stdout) == 0);
	/* where a stream that appends writes is known to nobody before the flush */
	MUST((stream = fopen("printed", "a")) != NULL);
	MUST(fprintf(stream, "end") == 3);
	MUST(fclose(stream) == 0);
}

/* "text" has ten lines of ten bytes: "000000000\n", ... */
static void scans(void)
{
	char *line = NULL;
	size_t room = 0;
	FILE *stream;
	int n = 0;

	MUST((stream = fopen("text", "r")) != NULL);
	MUST(fgets(buffer, 100, stream) == buffer);
	MUST(CALL(fgets_unlocked)(buffer, 100, stream) == buffer);
	MUST(__fgets_chk(buffer, sizeof(buffer), 6, stream) == buffer);
	MUST(__fgets_unlocked_chk(buffer, sizeof(buffer), 100, stream) == buffer);
	MUST(CALL(getline)(&line, &room, stream) == 10);
	MUST(getdelim(&line, &room, '4', stream) == 1);
	MUST(__getdelim(&line, &room, '\n', stream) == 9);
	MUST(fscanf(stream, "%1d", &n) == 1 && n == 5);
	MUST(call_vfscanf(stream, "%2d", &n) == 1 && n == 55);
	MUST(__isoc99_fscanf(stream, "%3d", &n) == 1 && n == 555);
	MUST(call_isoc99_vfscanf(stream, "%d", &n) == 1 && n == 555);
	/* between the recorded ones one that is not: the position is right all the same */
	MUST(getc(stream) == '\n');
	MUST(fgets(buffer, 100, stream) == buffer); /* at 60 */
	free(line);
	MUST(fclose(stream) == 0);
	MUST(freopen("text", "r", stdin) != NULL);
	MUST(scanf("%1d", &n) == 1 && n == 0);
	MUST(call_vscanf(0, "%1d", &n) == 1);
	MUST(__isoc99_scanf("%1d", &n) == 1);
	MUST(call_isoc99_vscanf(0, "%1d", &n) == 1);
	MUST(fclose(stdin) == 0);
}

static void characters(void)
{
	FILE *stream;

	MUST(freopen("out", "w", stdout) != NULL && freopen("text", "r", stdin) != NULL);
	MUST(CALL(putchar)('a') == 'a' && CALL(putchar_unlocked)('b') == 'b');
	MUST(CALL(getchar)() == '0' && CALL(getchar_unlocked)() == '0');
	MUST((stream = fopen("chars", "w+")) != NULL);
	MUST(CALL(fputc)('a', stream) == 'a' && CALL(fputc_unlocked)('b', stream) == 'b');
	MUST(CALL(putc)('c', stream) == 'c' && CALL(putc_unlocked)('d', stream) == 'd');
	MUST(_IO_putc('e', stream) == 'e' && putw(1, stream) == 0);
	rewind(stream);
	MUST(CALL(fgetc)(stream) == 'a' && CALL(fgetc_unlocked)(stream) == 'b');
	MUST(CALL(getc)(stream) == 'c' && CALL(getc_unlocked)(stream) == 'd');
	MUST(_IO_getc(stream) == 'e' && ungetc('e', stream) == 'e' && CALL(fgetc)(stream) == 'e');
	MUST(getw(stream) == 1);
	MUST(fwrite(buffer, 1, 5, stream) == 5); /* at 9 */
	MUST(fclose(stream) == 0 && fclose(stdout) == 0 && fclose(stdin) == 0);
}

static void positions(void)
{
	fpos64_t place64;
	FILE *stream;
	fpos_t place;

	MUST((stream = fopen("text", "r+")) != NULL);
	MUST(setvbuf(stream, NULL, _IOFBF, 64) == 0);
	MUST(fread(buffer, 1, 7, stream) == 7);
	MUST(fgetpos(stream, &place) == 0 && fgetpos64(stream, &place64) == 0);
	MUST(fseek(stream, -3, SEEK_END) == 0);
	MUST(fread(buffer, 1, 10, stream) == 3);
	MUST(fread(buffer, 1, 10, stream) == 0);
	MUST(fsetpos(stream, &place) == 0);
	MUST(fread(buffer, 1, 1, stream) == 1); /* at 7 */
	MUST(fsetpos64(stream, &place64) == 0);
	MUST(fseek(stream, 2, SEEK_CUR) == 0);
	MUST(fwrite(buffer, 1, 2, stream) == 2); /* at 9 */
	setbuf(stream, NULL);
	MUST(fflush(NULL) == 0);
	MUST(fclose(stream) == 0);
}

static void asynchronous(void)
{
	struct aiocb one = { .aio_nbytes = 100, .aio_buf = buffer, .aio_offset = 0 };
	struct aiocb64 two = { .aio_nbytes = 50, .aio_buf = buffer, .aio_offset = 60 };
	struct aiocb *list[1] = { &one };
	struct aiocb64 *list64[1] = { &two };
	int fd;

	MUST((fd = open("text", O_RDWR)) >= 0);
	one.aio_fildes = two.aio_fildes = fd;
	MUST(aio_read(&one) == 0);
	MUST(aio_suspend((const struct aiocb *const *)list, 1, NULL) == 0);
	MUST(aio_return(&one) == 100);
	MUST(aio_read64(&two) == 0);
	MUST(aio_suspend64((const struct aiocb64 *const *)list64, 1, NULL) == 0);
	MUST(aio_return64(&two) == 40);
	MUST(aio_write(&one) == 0);
	while (aio_error(&one) == EINPROGRESS)
		;
	MUST(aio_return(&one) == 100);
	MUST(aio_write64(&two) == 0);
	while (aio_error64(&two) == EINPROGRESS)
		;
	MUST(aio_return64(&two) == 50);
	one.aio_lio_opcode = LIO_READ;
	two.aio_lio_opcode = LIO_WRITE;
	MUST(lio_listio(LIO_WAIT, list, 1, NULL) == 0 && aio_return(&one) == 100);
	MUST(lio_listio64(LIO_WAIT, list64, 1, NULL) == 0 && aio_return64(&two) == 50);
	MUST(aio_fsync(O_SYNC, &one) == 0);
	while (aio_error(&one) == EINPROGRESS)
		;
	MUST(aio_return(&one) == 0);
	MUST(aio_fsync64(O_DSYNC, &two) == 0);
	while (aio_error64(&two) == EINPROGRESS)
		;
	MUST(aio_return64(&two) == 0);
	MUST(aio_cancel(fd, NULL) == AIO_ALLDONE && aio_cancel64(fd, NULL) == AIO_ALLDONE);
	MUST(close(fd) == 0);
}

static void raw(void)
{
	struct iovec vector = { buffer, 6 };
	long fd;

	MUST((fd = syscall(SYS_openat, AT_FDCWD, "text", O_RDWR, 0)) >= 0);
	MUST(syscall(SYS_read, fd, buffer, 10) == 10);
	MUST(syscall(SYS_write, fd, buffer, 3) == 3); /* at 10 */
	MUST(syscall(SYS_pread64, fd, buffer, 4, 50) == 4);
	MUST(syscall(SYS_pwrite64, fd, buffer, 5, 60) == 5);
	MUST(syscall(SYS_readv, fd, &vector, 1) == 6); /* at 13 */
	MUST(syscall(SYS_fsync, fd) == 0);
	MUST(syscall(SYS_lseek, fd, 1, SEEK_SET) == 1);
	MUST(read((int)fd, buffer, 2) == 2); /* at 1 */
	MUST(syscall(SYS_getpid) == getpid());
	MUST(syscall(SYS_close, fd) == 0);
	MUST(syscall(SYS_close, fd) == -1 && errno == EBADF);
}

static void metadata(void)
{
	const struct timespec now[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	struct stat64 st64;
	struct statx stx;
	struct stat st;
	DIR *dir;
	int fd;

	MUST(stat("text", &st) == 0 && stat64("text", &st64) == 0);
	MUST(lstat("text", &st) == 0 && lstat64("text", &st64) == 0);
	MUST(fstatat(AT_FDCWD, "text", &st, 0) == 0 && fstatat64(AT_FDCWD, "text", &st64, 0) == 0);
	MUST(statx(AT_FDCWD, "text", 0, STATX_SIZE, &stx) == 0);
	MUST(access("absent", R_OK) == -1 && errno == ENOENT);
	MUST((fd = open("text", O_RDWR)) >= 0);
	MUST(fstat(fd, &st) == 0 && fstat64(fd, &st64) == 0);
	MUST(fchmod(fd, 0600) == 0 && futimens(fd, now) == 0 && close(fd) == 0);
	MUST(chmod("text", 0644) == 0 && fchmodat(AT_FDCWD, "text", 0644, 0) == 0);
	MUST(utime("text", NULL) == 0 && utimes("text", NULL) == 0);
	MUST(utimensat(AT_FDCWD, "text", now, 0) == 0);
	MUST(mkdir("dir", 0755) == 0 && mkdirat(AT_FDCWD, "dir2", 0755) == 0);
	MUST(link("text", "dir/link") == 0 && linkat(AT_FDCWD, "text", AT_FDCWD, "link2", 0) == 0);
	MUST(symlink("text", "sym") == 0 && symlinkat("text", AT_FDCWD, "sym2") == 0);
	MUST(readlink("sym", buffer, sizeof(buffer)) == 4);
	MUST(rename("sym", "sym3") == 0 && renameat(AT_FDCWD, "sym3", AT_FDCWD, "sym") == 0);
	MUST(renameat2(AT_FDCWD, "sym", AT_FDCWD, "sym3", 0) == 0);
	MUST((dir = opendir("dir")) != NULL);
	MUST(readdir(dir) && readdir64(dir) && readdir(dir) && !readdir(dir));
	MUST(closedir(dir) == 0);
	MUST(unlink("dir/link") == 0 && unlinkat(AT_FDCWD, "link2", 0) == 0);
	MUST(remove("sym2") == 0 && rmdir("dir") == 0);
}

/* left out by default */
static void pipes(void)
{
	FILE *stream;
	int fd[2];

	MUST(pipe(fd) == 0);
	MUST(write(fd[1], buffer, 7) == 7 && read(fd[0], buffer, 7) == 7);
	MUST(tee(fd[0], fd[1], 1, SPLICE_F_NONBLOCK) == -1); /* a pipe into itself */
	MUST(close(fd[0]) == 0 && close(fd[1]) == 0);
	MUST((stream = popen("echo popped", "r")) != NULL);
	MUST(fgets(buffer, sizeof(buffer), stream) && strcmp(buffer, "popped\n") == 0);
	MUST(pclose(stream) == 0);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "makes", makes },
	{ "closes", closes },
	{ "sizes", sizes },
	{ "copies", copies },
	{ "maps", maps },
	{ "flags", flags },
	{ "prints", prints },
	{ "scans", scans },
	{ "characters", characters },
	{ "positions", positions },
	{ "asynchronous", asynchronous },
	{ "raw", raw },
	{ "metadata", metadata },
	{ "pipes", pipes },
};

/* functions PART: files are made in the current directory, which has "data" and "text" (100 B). */
int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (argc == 2 && strcmp(argv[1], parts[i].name) == 0)
			parts[i].run();
	return 0;
}
