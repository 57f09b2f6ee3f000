/* Three places that read: one that waits for somebody else, one that does not, one in a library. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "callsites.h"

#define ROUNDS 50
#define PAUSE_US 2000

static int shared[2], own[2], library[2];

static void check(int ok)
{
	if (!ok)
		abort();
}

__attribute__((noinline)) static void hot(void)
{
	char byte;

	check(read(shared[0], &byte, 1) == 1); /* HOT */
}

__attribute__((noinline)) static void cold(void)
{
	char byte;

	check(read(own[0], &byte, 1) == 1); /* COLD */
}

static void *reader(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		hot();
	return arg;
}

/* Both readers sleep in their reads until a pause is over. */
static void *feeder(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		usleep(PAUSE_US);
		check(write(shared[1], "ab", 2) == 2);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[3];
	char bytes[ROUNDS] = { 0 };

	check(pipe(shared) == 0 && pipe(own) == 0 && pipe(library) == 0);
	check(write(own[1], bytes, ROUNDS) == ROUNDS);
	check(write(library[1], bytes, ROUNDS) == ROUNDS);
	for (int i = 0; i < 3; i++)
		check(pthread_create(&threads[i], NULL, i ? reader : feeder, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		cold();
		read_in_library(library[0]); /* FROM */
	}
	for (int i = 0; i < 3; i++)
		check(pthread_join(threads[i], NULL) == 0);
	return 0;
}
