/* The files that MPI has open, by their handles: a handle has no room for what a tool knows. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <pthread.h>

/* Calls on more files than these are recorded without the file. */
#define MAX_FILES 256

static struct open_file files[MAX_FILES];
static unsigned n_files;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void open_files_add(struct open_file file)
{
	pthread_mutex_lock(&lock);
	if (n_files < MAX_FILES)
		files[n_files++] = file;
	pthread_mutex_unlock(&lock);
}

static bool find(uintptr_t handle, struct open_file *file, bool take)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_files && !found; i++) {
		if (files[i].handle != handle)
			continue;
		*file = files[i];
		found = true;
		if (take)
			files[i] = files[--n_files];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool open_files_find(uintptr_t handle, struct open_file *file)
{
	return find(handle, file, false);
}

bool open_files_take(uintptr_t handle, struct open_file *file)
{
	return find(handle, file, true);
}
