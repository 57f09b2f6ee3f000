/* Spool files for processes that cannot open them by path: the recorder opens them, and passes the
 * descriptor. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_REACH_H
#define ETA_SPOOL_REACH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A traced process may have dropped its rights, changed its root, its mounts, or have locked itself
 * out of the file system. The recorder has a socket in the abstract namespace, which needs no path:
 * its name and a secret stand in the program's environment. One request, one answer, and both ends
 * close the connection.
 */
#define SPOOL_REACH_VARIABLE "SCI_SPOOL_SOCKET"

/* SCI_SPOOL_SOCKET=NAME.PID.UID.TOKEN: of the recorder, and 32 hexadecimal digits */
#define SPOOL_REACH_NAME_BYTES 32 /* of the socket's name, without the zero before it */
#define SPOOL_REACH_TOKEN_BYTES 16
#define SPOOL_REACH_VARIABLE_BYTES 128 /* of the value, with its end */

/* The longest name of a spool file. */
#define SPOOL_REACH_FILE_BYTES 72

struct spool_reach_request {
	uint8_t token[SPOOL_REACH_TOKEN_BYTES];
	uint32_t is_new; /* else it is there, and the caller's own */
	char file[SPOOL_REACH_FILE_BYTES];
};

/* The answer: 0 and a descriptor, or -errno. */
struct spool_reach_answer {
	int32_t rc;
};

/* ---- in the traced process (spool-reach.c) ---- */

/* TEXT: the variable's value, NULL or "" where there is no recorder. */
void spool_reach_set(const char *text);

/* Opens the file PATH of the spool, as its last part says. A descriptor, or -errno. */
int spool_reach(const char *path, bool is_new);

#endif
