/* How the flags of open(2) are called in OTF2: for the archive writer and the EZTrace sink. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OTF2_FLAGS_H
#define ETA_OTF2_FLAGS_H

#include <fcntl.h>
#include <stdint.h>

#include <otf2/otf2.h>

/* X(open flag, OTF2 status flag) */
#define OTF2_OPEN_STATUS_FLAGS(X)                                                                  \
	X(O_CLOEXEC, CLOSE_ON_EXEC)                                                                \
	X(O_APPEND, APPEND)                                                                        \
	X(O_NONBLOCK, NON_BLOCKING)                                                                \
	X(O_ASYNC, ASYNC)                                                                          \
	X(O_SYNC, SYNC)                                                                            \
	X(O_DSYNC, DATA_SYNC)                                                                      \
	X(O_DIRECT, AVOID_CACHING)                                                                 \
	X(O_NOATIME, NO_ACCESS_TIME)

/* X(open flag, OTF2 creation flag) */
#define OTF2_OPEN_CREATION_FLAGS(X)                                                                \
	X(O_CREAT, CREATE)                                                                         \
	X(O_EXCL, EXCLUSIVE)                                                                       \
	X(O_TRUNC, TRUNCATE)                                                                       \
	X(O_DIRECTORY, DIRECTORY)                                                                  \
	X(O_NOCTTY, NO_CONTROLLING_TERMINAL)                                                       \
	X(O_NOFOLLOW, NO_FOLLOW)                                                                   \
	X(O_PATH, PATH)                                                                            \
	X(O_TMPFILE, TEMPORARY_FILE)

static inline OTF2_IoAccessMode otf2_access_mode(uint32_t open_flags)
{
	switch (open_flags & O_ACCMODE) {
	case O_WRONLY:
		return OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	case O_RDWR:
		return OTF2_IO_ACCESS_MODE_READ_WRITE;
	default:
		return OTF2_IO_ACCESS_MODE_READ_ONLY;
	}
}

#define X(flag, name) (((open_flags & (flag)) == (flag)) ? OTF2_IO_STATUS_FLAG_##name : 0) |
static inline OTF2_IoStatusFlag otf2_status_flags(uint32_t open_flags)
{
	return OTF2_OPEN_STATUS_FLAGS(X) 0;
}
#undef X

#define X(flag, name) (((open_flags & (flag)) == (flag)) ? OTF2_IO_CREATION_FLAG_##name : 0) |
static inline OTF2_IoCreationFlag otf2_creation_flags(uint32_t open_flags)
{
	return OTF2_OPEN_CREATION_FLAGS(X) 0;
}
#undef X

#endif
