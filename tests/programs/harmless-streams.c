/* Streams of every kind, used in ways that few do. */
/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE
#include "harmless.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

/* what is wrong here is meant to be */
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"

/* ---- streams that are no files ---- */

static char cooked[4096];
static size_t cooked_size, cooked_at;

static ssize_t cookie_read(void *cookie, char *to, size_t size)
{
	FILE *other = fopen("within", "a"); /* stdio within stdio */

	fprintf(other, "read %zu\n", size);
	fclose(other);
	if (size > cooked_size - cooked_at)
		size = cooked_size - cooked_at;
	memcpy(to, (char *)cookie + cooked_at, size);
	cooked_at += size;
	return (ssize_t)size;
}

static ssize_t cookie_write(void *cookie, const char *from, size_t size)
{
	memcpy((char *)cookie + cooked_at, from, size);
	cooked_at += size;
	if (cooked_at > cooked_size)
		cooked_size = cooked_at;
	return (ssize_t)size;
}

static int cookie_seek(void *cookie, off64_t *to, int whence)
{
	(void)cookie;
	cooked_at = (size_t)(*to += whence == SEEK_SET	 ? 0
				    : whence == SEEK_CUR ? (off64_t)cooked_at
							 : (off64_t)cooked_size);
	return 0;
}

static int cookie_close(void *cookie)
{
	(void)cookie;
	errno = EIO;
	return -1;
}

static void cookies(void)
{
	cookie_io_functions_t all = { cookie_read, cookie_write, cookie_seek, cookie_close };
	char line[100];
	FILE *file = fopencookie(cooked, "w+", all);

	TELL(fileno(file));
	TELL(fprintf(file, "%s %d\nsecond\n", "first", 1));
	TELL(fseek(file, 0, SEEK_SET));
	TELL(fgets(line, sizeof(line), file) ? 0 : -1);
	TELL(ftell(file));
	TELL(fclose(file));
	file = fopencookie(cooked, "r", (cookie_io_functions_t){ 0 });
	TELL(getc(file) == EOF);
	TELL(fputs("x", file));
	TELL(fclose(file));
}

static void in_memory(void)
{
	char room[16], *text = NULL;
	wchar_t *wide = NULL;
	size_t size = 0, wide_size = 0;
	FILE *file = fmemopen(room, sizeof(room), "w+");

	TELL(fprintf(file, "0123456789abcdefghij"));
	TELL(fflush(file));
	TELL(fseek(file, -3, SEEK_END));
	TELL(fread(room, 1, 2, file));
	TELL(fclose(file));
	file = open_memstream(&text, &size);
	for (int i = 0; i < 1000; i++)
		fprintf(file, "%d ", i);
	TELL(fflush(file));
	TELL(size);
	TELL(fseeko(file, 5, SEEK_SET));
	TELL(fputs("X", file) >= 0);
	TELL(fclose(file));
	printf("%.8s\n", text);
	free(text);
	file = open_wmemstream(&wide, &wide_size);
	TELL(fputws(L"wide \u00e4\u20ac", file) >= 0);
	TELL(fclose(file));
	TELL(wide_size);
	free(wide);
}

static void reopened(void)
{
	FILE *file = fopen("reopened", "w");
	int before = fileno(file);

	TELL(fputs("one\n", file) >= 0);
	TELL((file = freopen(NULL, "r", file)) ? 0 : -1);
	TELL(file ? fgetc(file) : -2);
	TELL((file = freopen("reopened", "a+", file)) ? fileno(file) - before : -1);
	TELL(fputs("two\n", file) >= 0);
	TELL(fseek(file, 0, SEEK_SET));
	TELL(fgetc(file));
	TELL((freopen("absent/file", "r", file)) ? 0 : -1);
	file = fopen("reopened", "r");
	close(fileno(file));
	TELL(fgetc(file));
	TELL(fclose(file));
	TELL(fopen("reopened", "q") ? 0 : -1);
	TELL(fopen("reopened", "rb+e,ccs=UTF-8") ? 0 : -1);
	TELL(fdopen(99, "r") ? 0 : -1);
	TELL(fdopen(open("reopened", O_RDONLY), "w") ? 0 : -1);
	TELL(fopen("reopened", "wx") ? 0 : -1);
}

static void buffers(void)
{
	static char own[100];
	char line[50], *big = NULL;
	size_t room = 0;
	FILE *file = fopen("buffers", "w+");

	TELL(setvbuf(file, own, _IOFBF, sizeof(own)));
	for (int i = 0; i < 100; i++)
		fprintf(file, "%d,", i);
	TELL(fputs("\n", file) >= 0);
	rewind(file);
	TELL(ungetc('Z', file));
	TELL(ungetc('Y', file));
	TELL(fscanf(file, "%49[^,]", line));
	puts(line);
	TELL(getline(&big, &room, file));
	TELL(getline(&big, &room, file));
	TELL(feof(file));
	TELL(setvbuf(file, NULL, _IONBF, 0));
	TELL(fwrite("end", 1, 3, file));
	TELL(__fpending(file));
	__fpurge(file);
	TELL(fseek(file, -1, SEEK_SET));
	TELL(fseek(file, 1L << 40, SEEK_SET));
	TELL(ftello(file) == 1L << 40);
	TELL(fread(line, 0, 5, file) + fread(line, 5, 0, file) + fwrite(line, 0, 9, file));
	TELL(fclose(file));
	free(big);
	file = fopen("/dev/full", "w");
	TELL(fputs("text", file) >= 0);
	TELL(fflush(file));
	TELL(fputs("text", file) >= 0);
	TELL(fclose(file));
	file = fopen("/dev/full", "w");
	setbuf(file, NULL);
	TELL(fputs("text", file));
	TELL(putc('x', file));
	TELL(fprintf(file, "%d", 5));
	fclose(file);
	file = fopen("buffers", "r");
	TELL(fputs("no", file));
	TELL(fprintf(file, "%s", "no"));
	TELL(fwrite("no", 1, 2, file));
	TELL(putw(5, file));
	TELL(getw(file));
	fclose(file);
}

static void wide(void)
{
	wchar_t line[100];
	FILE *file;

	setlocale(LC_ALL, "C.UTF-8");
	file = fopen("wide", "w+");
	TELL(fwide(file, 1) > 0);
	TELL(fputws(L"\u00e4\u00f6\u00fc \u20ac\n", file) >= 0);
	TELL(fwprintf(file, L"%d %ls\n", 5, L"\u4e2d"));
	TELL(fprintf(file, "narrow"));
	TELL(fputs("narrow", file));
	TELL(fseek(file, 0, SEEK_SET));
	TELL(fgetws(line, 100, file) ? (long)wcslen(line) : -1);
	TELL(fgetwc(file));
	TELL(ungetwc(L'\u00df', file) == L'\u00df');
	TELL(fwscanf(file, L"%99ls", line));
	TELL(fclose(file));
	file = fopen("wide", "r");
	TELL(fseek(file, 1, SEEK_SET));
	TELL((long)fgetwc(file) == (long)WEOF ? -1 : 0);
	fclose(file);
}

/* ---- formats ---- */

static int through_v(FILE *file, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vfprintf(file, format, list);
	va_end(list);
	return n;
}

static void formats(void)
{
	FILE *file = fopen("formats", "w+");
	long a = 0, b = 0;
	char word[20] = "";
	int n = 0;
	/* more arguments than registers, and of every class */
	TELL(fprintf(file, "%d %ld %s %c %f %Lf %e %x %p %d %d %d %g %g %g %g %g %g %g %n\n", 1, 2L,
		     "three", '4', 5.5, 6.5L, 7e7, 8, (void *)9, 10, 11, 12, 1.1, 2.2, 3.3, 4.4,
		     5.5, 6.6, 7.7, &n));
	TELL(n);
	TELL(fprintf(file, "%3$s %1$s %2$s\n", "1", "2", "3"));
	TELL(fprintf(file, "%*.*f|%-10s|%+d\n", 10, 3, 3.14159, "left", 5));
	TELL(through_v(file, "%Lf %s\n", 1.25L, "v"));
	TELL(fprintf(file, "%m\n"));
	TELL(fprintf(file, "%2147483648d", 1));
	rewind(file);
	TELL(fscanf(file, "%ld %ld %19s", &a, &b, word));
	printf("%ld %ld %s\n", a, b, word);
	TELL(fscanf(file, "%d", (int *)word));
	TELL(fscanf(file, "%m[a-z0-9 .]", &(char *){ NULL }));
	fclose(file);
	fflush(stdout);
	TELL(dprintf(1, "%s %f\n", "dprintf", 2.5));
	TELL(dprintf(-1, "x"));
	TELL(dprintf(99, "x"));
}

/* ---- programs behind streams ---- */

static void pipes(void)
{
	char line[100];
	FILE *first = popen("cat >of-cat; exit 3", "w"),
	     *second = popen("echo out; kill -9 $$", "r");

	TELL(fputs("to cat\n", first) >= 0);
	TELL(fgets(line, sizeof(line), second) ? 0 : -1);
	TELL(pclose(second));
	TELL(pclose(first));
	TELL(popen("true", "rw") ? 0 : -1);
	/* by fclose, which waits, too */
	first = popen("sleep 0.02; echo late >of-late", "w");
	TELL(fclose(first));
	TELL(waitpid(-1, NULL, 0));
}

static void *locks_and_prints(void *arg)
{
	FILE *file = arg;

	for (int i = 0; i < 200; i++) {
		flockfile(file);
		fputs("a", file);
		putc_unlocked('b', file);
		fprintf(file, "%s", "c\n");
		funlockfile(file);
	}
	return arg;
}

static void locked(void)
{
	FILE *file = fopen("locked", "w");
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, locks_and_prints, file);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	TELL(fflush(NULL));
	TELL(ftrylockfile(file));
	TELL(fprintf(file, "mine\n"));
	funlockfile(file);
	TELL(fclose(file));
}

/* Standard streams exchanged by assignment, closed twice, used by many names. */
static void standard(void)
{
	FILE *mine = fopen("mine", "w"), *before;
	int copy;

	fflush(stdout);
	before = stdout;
	stdout = mine;
	printf("to mine\n");
	puts("too");
	putchar('c');
	fflush(stdout);
	stdout = before;
	fclose(mine);
	copy = dup(1);
	MUST(freopen("redirected", "w", stdout));
	printf("redirected\n");
	MUST(system("echo by system") == 0);
	fflush(stdout);
	MUST(dup2(copy, 1) == 1);
	puts("back");
	fprintf(stderr, "unbuffered %d\n", 1);
	TELL(fclose(stdin));
	TELL(fileno(fopen("mine", "r")));
	TELL(fcloseall());
	dprintf(copy, "closed all\n");
}

static const struct part parts[] = {
	{ "cookies", cookies }, { "in-memory", in_memory }, { "reopened", reopened },
	{ "buffers", buffers }, { "wide", wide },	    { "formats", formats },
	{ "pipes", pipes },	{ "locked", locked },	    { "standard", standard },
	{ NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}
