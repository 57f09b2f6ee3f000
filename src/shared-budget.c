/* What the tracers of a recording may take together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "shared-budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"

/* The file in FOLDER, empty but of its size; a descriptor or -errno. */
static int make_file(int folder)
{
	int fd = openat(folder, SPOOL_BUDGET_FILE,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	/* a hole could not be filled where the disk is full, and that would be a signal */
	rc = -posix_fallocate(fd, 0, SPOOL_BUDGET_BYTES);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

int shared_budget_make(const struct kernel_options *options, int folder, struct spool_budget **out)
{
	struct spool_budget budget;
	int fd = -1, rc = 0;
	void *mapped;

	*out = NULL;
	if (!kernel_options_budget(options, &budget))
		return 0;
	if (folder >= 0) {
		fd = make_file(folder);
		if (fd < 0 || setenv(SPOOL_BUDGET_VARIABLE, "1", 1) != 0)
			rc = fd < 0 ? fd : -errno;
	}
	mapped = rc ? MAP_FAILED
		    : mmap(NULL, SPOOL_BUDGET_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (rc == 0 && mapped == MAP_FAILED)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc) {
		eta_error("the size of the recording cannot be limited: %s", strerror(-rc));
		return rc;
	}
	*out = mapped;
	**out = budget;
	return 0;
}

void shared_budget_end(struct spool_budget *budget, int folder, uint64_t kernel)
{
	uint64_t refused;

	if (!budget)
		return;
	refused = __atomic_load_n(&budget->refused, __ATOMIC_RELAXED);
	if (refused > kernel)
		eta_warn("%llu library calls were not stored, since the recording had the size of "
			 "--max-size",
			 (unsigned long long)(refused - kernel));
	if (folder >= 0)
		unlinkat(folder, SPOOL_BUDGET_FILE, 0);
	munmap(budget, SPOOL_BUDGET_BYTES);
}
