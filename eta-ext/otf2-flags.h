/* How the flags of open(2) are called in OTF2: for the archive writer and the EZTrace sink. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OTF2_FLAGS_H
#define ETA_OTF2_FLAGS_H

#include <fcntl.h>

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

#endif
