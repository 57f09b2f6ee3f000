/* cmocka with what it needs before it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_UNIT_H
#define SCI_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
