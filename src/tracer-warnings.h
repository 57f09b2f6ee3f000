/* Prints the messages of the tracer, which must not write to the stderr of traced processes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TRACER_WARNINGS_H
#define SCI_TRACER_WARNINGS_H

#include "eta-ext/base/eta.h"

/* Warns with each text that processes of a trace were given, once, and whose it is. */
void tracer_warnings_print(const struct eta_defs *defs);

#endif
