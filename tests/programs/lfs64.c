/* A program that names the 64-bit functions itself, as sources from 32-bit times do. */
/* SPDX-License-Identifier: BSD-3-Clause */
#define _LARGEFILE64_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAR ((off64_t)3 << 30) /* past what 32 bits hold */

static void check(const char *what, long long got, long long want)
{
	if (got != want)
		errx(1, "%s: %lld, not %lld", what, got, want);
}

static void descriptors(void)
{
	char buffer[600];
	struct iovec vector[2] = { { buffer, 100 }, { buffer + 100, 200 } };
	char name[] = "madeXXXXXX";
	int fd = open64("large", O_CREAT | O_TRUNC | O_RDWR, 0644), other;
	off64_t at = 0;

	memset(buffer, 'a', sizeof(buffer));
	check("pwrite64", pwrite64(fd, buffer, 500, FAR), 500);
	check("lseek64", lseek64(fd, FAR + 10, SEEK_SET), FAR + 10);
	check("read", read(fd, buffer, 100), 100);
	check("pread64", pread64(fd, buffer, 600, FAR), 500);
	check("pwritev64", pwritev64(fd, vector, 2, FAR + 500), 300);
	check("preadv64", preadv64(fd, vector, 2, FAR + 700), 100);
	check("ftruncate64", ftruncate64(fd, FAR + 600), 0);
	check("posix_fadvise64", posix_fadvise64(fd, 0, FAR, POSIX_FADV_DONTNEED), 0);
	other = openat64(AT_FDCWD, "other", O_CREAT | O_TRUNC | O_RDWR, 0644);
	check("posix_fallocate64", posix_fallocate64(other, 0, 8192), 0);
	at = FAR;
	check("sendfile64", sendfile64(other, fd, &at, 400), 400);
	check("offset of sendfile64", at, FAR + 400);
	close(other);
	other = creat64("created", 0644);
	check("write", write(other, buffer, 77), 77);
	close(other);
	other = mkstemp64(name);
	check("write to a temporary file", write(other, buffer, 55), 55);
	close(other);
	check("truncate64", truncate64("created", 7), 0);
	close(fd);
}

static void streams(void)
{
	FILE *file = fopen64("stream", "w+");
	char line[64];
	fpos64_t place;

	check("fputs", fputs("one line\n", file) >= 0, 1);
	check("fgetpos64", fgetpos64(file, &place), 0);
	check("fwrite", (long long)fwrite(line, 1, 0, file), 0);
	check("fprintf", fprintf(file, "%s\n", "another"), 8);
	check("fseeko64", fseeko64(file, 0, SEEK_SET), 0);
	check("fgets", fgets(line, sizeof(line), file) != NULL, 1);
	check("ftello64", ftello64(file), 9);
	check("fsetpos64", fsetpos64(file, &place), 0);
	file = freopen64("stream2", "w", file);
	check("fputs", fputs("in the second\n", file) >= 0, 1);
	fclose(file);
}

int main(void)
{
	descriptors();
	streams();
	return 0;
}
