/* Programs that look at their memory, lock it, unmap it, or count on a hole in it; libraries at run
 * time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmless.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void *pages(size_t n)
{
	void *at = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(at != MAP_FAILED);
	return at;
}

/* I/O of many threads and files, between the calls on a hole: whatever is mapped for it is
 * elsewhere. */
static void *some_io(void *arg)
{
	for (int i = 0; i < 300; i++) {
		char name[20];
		int fd;

		snprintf(name, sizeof(name), "file%d", i % 40);
		MUST((fd = open(name, O_RDWR | O_CREAT, 0644)) >= 0);
		MUST(write(fd, name, 5) == 5 && close(fd) == 0);
	}
	return arg;
}

static void holes(void)
{
	enum { N = 2000 }; /* pages: less than a thread's stack, more than most else */
	int there = 0;
	char *at = pages(4 * N), *hole = at + N * PAGE;
	unsigned char seen[4];
	pthread_t thread;

	TELL(munmap(hole, N * PAGE));
	MUST(pthread_create(&thread, NULL, some_io, NULL) == 0 && pthread_join(thread, NULL) == 0);
	some_io(NULL);
	for (int i = 0; i < N; i++)
		there += msync(hole + i * PAGE, PAGE, MS_SYNC) == 0;
	TELL(there);
	TELL(mincore(hole, 4 * PAGE, seen));
	TELL(madvise(hole, 4 * PAGE, MADV_NORMAL));
	TELL(mprotect(hole, PAGE, PROT_READ));
	TELL(mmap(hole, N * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		  0) == hole);
	TELL(mincore(at, 3 * PAGE, seen));
	/* grows in place where nothing was put behind it */
	TELL(munmap(at + 2 * N * PAGE, 2 * N * PAGE));
	some_io(NULL);
	TELL(mremap(hole, N * PAGE, 2 * N * PAGE, 0) == hole);
}

/* The heap grows without gaps, and is given back. */
static void heap(void)
{
	char *before = sbrk(0);

	TELL((char *)sbrk(100 * PAGE) - before);
	some_io(NULL);
	TELL((char *)sbrk(100 * PAGE) - before);
	TELL((char *)sbrk(-200 * PAGE) - before);
	TELL((char *)sbrk(0) - before);
	TELL(brk(before));
}

static void mapped_files(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *at, *other;

	MUST(ftruncate(fd, 10 * PAGE) == 0);
	at = mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
	MUST(at != MAP_FAILED && other != MAP_FAILED);
	memset(at, 'm', 10 * PAGE);
	memset(other, 'p', 10);
	TELL(pwrite(fd, "written", 7, PAGE));
	TELL(memcmp(at + PAGE, "written", 7));
	TELL(msync(at, 10 * PAGE, MS_SYNC));
	TELL(madvise(at, 10 * PAGE, MADV_DONTNEED));
	TELL(read(fd, at + 2 * PAGE, PAGE));
	TELL(write(fd, at + 3 * PAGE, PAGE));
	TELL(munmap(at, 5 * PAGE));
	TELL(read(fd, at, PAGE));
	TELL(munmap(at, 10 * PAGE));
	TELL(munmap(at, 10 * PAGE));
	TELL(munmap(at + 1, PAGE));
	TELL(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	TELL(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 1) == MAP_FAILED ? -1 : 0);
	TELL(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, 99, 0) == MAP_FAILED ? -1 : 0);
	TELL(mmap(NULL, 1UL << 60, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	TELL(truncate("mapped", 100));
	close(fd);
}

/* Each limit and lock in a child, which then works, or fails in the way it would. */
static void in_child(const char *what, int resource, rlim_t value, int lock)
{
	struct rlimit limit = { value, value };
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		pthread_t thread;
		int error;

		alarm(20);
		TELL(setrlimit(resource, &limit));
		if (lock)
			TELL(mlockall(lock));
		error = pthread_create(&thread, NULL, some_io, NULL);
		printf("thread: %s\n", error ? strerrorname_np(error) : "yes");
		if (!error)
			pthread_join(thread, NULL);
		some_io(NULL);
		TELL(malloc(100 << 20) != NULL);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("%s: status 0x%x\n", what, (unsigned)status);
}

static void limits(void)
{
	in_child("data 32 MiB", RLIMIT_DATA, 32 << 20, 0);
	in_child("data 4 MiB", RLIMIT_DATA, 4 << 20, 0);
	in_child("memlock", RLIMIT_MEMLOCK, 1 << 20, 0);
	in_child("mlockall", RLIMIT_CORE, 0, MCL_CURRENT | MCL_FUTURE);
	in_child("fsize 0", RLIMIT_CORE, 0, 0);
	in_child("stack 64 KiB", RLIMIT_STACK, 64 << 10, 0);
	in_child("processes", RLIMIT_NPROC, 1000000, 0);
	in_child("cpu", RLIMIT_CPU, 15, 0);
	in_child("memory maps", RLIMIT_NICE, 0, 0);
}

/* ---- libraries that are opened late ---- */

static int count_libraries(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(int *)data += strstr(info->dlpi_name, "harmless-library") != NULL;
	return 0;
}

static void libraries(void)
{
	const char *path = getenv("HARMLESS_LIBRARY");
	int found = 0;

	for (int round = 0; path && round < 3; round++) {
		void *library = dlopen(path, RTLD_NOW | (round == 1 ? RTLD_DEEPBIND : 0));
		int (*call)(const char *);

		MUST(library && (call = dlsym(library, "library_writes")));
		TELL(call("of-library"));
		dl_iterate_phdr(count_libraries, &found);
		TELL(found);
		TELL(dlclose(library));
	}
	for (int round = 0; path && round < 2; round++) {
		void *library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
		int (*call)(const char *) = library ? dlsym(library, "library_writes") : NULL;

		TELL(call ? call("of-namespace") : -2);
		if (library)
			TELL(dlclose(library));
	}
	errno = 0; /* EZTrace leaves something there before main begins */
	TELL(dlopen("absent.so", RTLD_NOW) ? 0 : -2);
	TELL(dlsym(RTLD_DEFAULT, "write") != NULL);
	TELL(dlsym(RTLD_NEXT, "no_such_function") != NULL);
	TELL(strcmp(dlerror() ? "error" : "", "error"));
	TELL(dlerror() == NULL);
}

static const struct part parts[] = {
	{ "holes", holes },   { "heap", heap },		  { "mapped-files", mapped_files },
	{ "limits", limits }, { "libraries", libraries }, { NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}
