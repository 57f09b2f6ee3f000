/* Names of backends, and lists of them as options give them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "kernelio.h"

static const char *const names[KERNELIO_N_BACKENDS] = {
#define X(id, name) [KERNELIO_BACKEND_##id] = name,
	KERNELIO_BACKENDS(X)
#undef X
};

static unsigned find(const char *name, size_t length)
{
	for (unsigned i = 1; i < KERNELIO_N_BACKENDS; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return i;
	return KERNELIO_BACKEND_NONE;
}

int kernelio_order_parse(const char *list, struct kernelio_order *order)
{
	order->n = 0;
	for (;;) {
		size_t length = strcspn(list, ",");
		unsigned backend = find(list, length);

		if (backend == KERNELIO_BACKEND_NONE ||
		    memchr(order->backends, (int)backend, order->n))
			return -EINVAL;
		order->backends[order->n++] = (uint8_t)backend;
		if (!list[length])
			return 0;
		list += length + 1;
	}
}

const char *kernelio_backend_name(unsigned backend)
{
	return backend && backend < KERNELIO_N_BACKENDS ? names[backend] : "none";
}

const char *kernelio_backend_names(void)
{
#define X(id, name) ", " name
	static const char text[] = KERNELIO_BACKENDS(X);
#undef X

	return text + 2;
}
