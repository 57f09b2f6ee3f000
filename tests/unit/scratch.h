/* Folders that a test makes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_UNIT_SCRATCH_H
#define SCI_UNIT_SCRATCH_H

#include <ftw.h>
#include <stdio.h>

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* The folder with all that is in it. 0, or what remove returned of the first that stays. */
static inline int scratch_remove(const char *folder)
{
	return nftw(folder, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
