/* Opens files of the spool for traced processes that cannot do so by path. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SPOOL_SERVER_H
#define SCI_SPOOL_SERVER_H

struct spool_server;

/*
 * Makes the socket for the spool that DIR is a descriptor of, which is copied, and names it in this
 * process' environment, for the program. NULL: not possible, reported; then such processes are
 * lost.
 */
struct spool_server *spool_server_new(int dir);

/* Begins to answer, in a thread with the rights that the caller has now. 0 or -errno, reported. */
int spool_server_start(struct spool_server *server);

/* Ends it. Safe with NULL and with one that was not started. */
void spool_server_free(struct spool_server *server);

#endif
