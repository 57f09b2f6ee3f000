/* What the user tracer will not see of a program, reported before it starts. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PROGRAM_CHECK_H
#define SCI_PROGRAM_CHECK_H

#include <stdbool.h>

/*
 * Inspects NAME as execvp will find it; a script's interpreter in its place. One warning for each
 * thing that is missing. True: the tracer can be loaded into it, as far as the file shows (and
 * where nothing is known about it).
 */
bool program_check(const char *name);

/*
 * Is NAME a rank of an MPI job (as the launcher's variables say), a launcher of one, or linked to a
 * library of MPI?
 */
bool program_uses_mpi(const char *name);

#endif
