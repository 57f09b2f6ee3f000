/* Reading and writing all that is asked for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WHOLE_IO_H
#define ETA_WHOLE_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* BYTES of the file FD from offset AT on into TO. 0, -ENODATA: the file ends before; -errno. */
static inline int read_whole(int fd, void *to, size_t bytes, uint64_t at)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

/* BYTES from FROM into the file FD at offset AT. 0 or -errno. */
static inline int write_whole(int fd, const void *from, size_t bytes, uint64_t at)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(at + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EIO;
		done += n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

#endif
