/* follow-spool SPOOL FOLDER: reads the spool while it is written, as sci-top does; at the end of
 * stdin all of it is a spool in FOLDER. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "src/top/window.h"

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int spool = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	int folder = argc == 3 ? open(argv[2], O_RDONLY | O_DIRECTORY) : -1;
	struct window *w = spool < 0 || folder < 0 ? NULL : window_new(spool, false);
	int rc = w ? 0 : -1;

	while (rc == 0 && poll(&input, 1, 1) == 0)
		rc = window_read(w, 1, 0);
	if (rc == 0)
		rc = window_read(w, 1, 0);
	if (rc == 0)
		rc = window_write(w, folder);
	window_free(w);
	return rc ? 1 : 0;
}
