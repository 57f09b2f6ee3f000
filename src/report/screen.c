/* How much room a terminal has; COLUMNS and LINES override, as in other tools. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned number_in(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static struct winsize size_of(int fd)
{
	struct winsize size = { 0 };

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	return size;
}

unsigned screen_width(int fd)
{
	return number_in("COLUMNS", size_of(fd).ws_col);
}

unsigned screen_height(int fd)
{
	return number_in("LINES", size_of(fd).ws_row);
}

bool screen_has_blocks(int fd)
{
	const char *terminal = getenv("TERM");
	locale_t own;
	bool has;

	if (!isatty(fd) || !terminal || strcmp(terminal, "dumb") == 0)
		return false;
	/* the user's, without making it the program's */
	own = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	has = own && strcmp(nl_langinfo_l(CODESET, own), "UTF-8") == 0;
	if (own)
		freelocale(own);
	return has;
}
