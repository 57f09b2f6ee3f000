/* OTF2 writer: what failed, also where libotf2 does not notice that a file came out short. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/format/otf2-memory.h"
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int report(struct archive_writer *writer, int error, const char *what, const char *said)
{
	/* If several threads find the disk full, one message is enough. */
	if (!__atomic_exchange_n(&writer->reported, true, __ATOMIC_RELAXED))
		eta_error("%s: cannot write %s: %s", writer->anchor, what, said);
	return error == ENOSPC || error == EDQUOT ? -error : -EIO;
}

int write_otf2_failed(struct archive_writer *writer, OTF2_ErrorCode code, const char *what)
{
	int error = errno;

	return report(writer, error, what, archive_error_take(code));
}

int write_otf2_file_failed(struct archive_writer *writer, int error, const char *what)
{
	return report(writer, error, what, strerror(error));
}

/* What one thread may write at once: libotf2's file buffer, and its chunks of one file. */
#define WRITTEN_AT_ONCE ((off_t)(4 + OTF2_MEMORY_CHUNKS) << 20)

int write_otf2_check_room(struct archive_writer *writer)
{
	off_t bytes = WRITTEN_AT_ONCE * writer->threads;
	struct rlimit limit = { 0 };
	int fd = open(writer->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), rc = 0;

	/* a file system that has no such files, or no room in advance, may fail later */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		return 0;
	/* more than a file may be is a signal */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)bytes)
		bytes = (off_t)limit.rlim_cur;
	if (fd < 0 ||
	    (bytes > 0 && fallocate(fd, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != EINTR))
		rc = write_otf2_file_failed(writer, errno, "more of it");
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * libotf2 3.0.2 hides the failure of the buffered write that closing a file of events ends in: on a
 * full disk the archive came out short with every call successful. So look at the file: its last
 * bytes, and the last event's number in the head of its last chunk.
 */
enum { HEAD_BYTES = 18, TAIL_BYTES = 2 };

int write_otf2_check_file(struct archive_writer *writer, const char *suffix, const uint64_t *events)
{
	static const unsigned char end[TAIL_BYTES] = { 2, 1 }; /* end of chunk, end of file */
	unsigned char head[HEAD_BYTES], tail[TAIL_BYTES];
	char path[PATH_MAX];
	struct stat st;
	uint64_t last = 0;
	bool whole = false;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s%s", writer->folder, writer->name, suffix) <
	    (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < HEAD_BYTES + TAIL_BYTES)
		goto out;
	whole = pread(fd, tail, TAIL_BYTES, st.st_size - TAIL_BYTES) == TAIL_BYTES &&
		memcmp(tail, end, TAIL_BYTES) == 0;
	if (whole && events) {
		off_t chunk = (st.st_size - 1) / WRITE_CHUNK_BYTES * WRITE_CHUNK_BYTES;

		whole = pread(fd, head, HEAD_BYTES, chunk) == HEAD_BYTES;
		/* type, byte order (ours), first event, last event */
		memcpy(&last, head + 10, sizeof(last));
		whole = whole && last == *events;
	}
out:
	if (fd >= 0)
		close(fd);
	if (whole)
		return 0;
	/* What libotf2 met on the way, if it said anything, else this. */
	errno = ENOSPC;
	return write_otf2_failed(writer, OTF2_ERROR_ENOSPC, suffix + (*suffix == '/'));
}
