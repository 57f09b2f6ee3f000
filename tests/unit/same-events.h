/* Are the events of a trace those of another? For tests that write and read. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SAME_EVENTS_H
#define SCI_SAME_EVENTS_H

#include "eta-ext/base/eta.h"

/* Ends the test unless READ has the events of GIVEN, a trace in memory. */
void same_events(const struct eta_trace *given, struct eta_trace *read);

#endif
