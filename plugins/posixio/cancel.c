/* Cancellation of threads that may come at any instruction. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <dlfcn.h>
#include <pthread.h>

static __typeof__(pthread_setcanceltype) *setcanceltype;

HIDDEN_TLS bool cancel_anywhere;

void cancel_resolve(void)
{
	if (!setcanceltype)
		setcanceltype = (__typeof__(pthread_setcanceltype) *)dlsym(RTLD_NEXT,
									   "pthread_setcanceltype");
}

EXPORT int pthread_setcanceltype(int type, int *before)
{
	cancel_resolve();
	/* first: from here on calls in a signal handler restore the requested type */
	cancel_anywhere = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	if (self)
		self->cancel_anywhere = cancel_anywhere;
	return setcanceltype(type, before);
}

/* A deferred cancellation takes effect when the old type is restored. */
void cancel_hold(bool hold)
{
	setcanceltype(hold ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}
