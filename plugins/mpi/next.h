/* The functions of MPI behind ours. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MPI_NEXT_H
#define SCI_MPI_NEXT_H

/*
 * The function NAME that the program would call without us: of the next library in its order
 * (another tool's, or MPI's), or, where MPI was loaded for a library alone (python's mpi4py), of
 * that MPI. NULL: there is none. Kept in *KNOWN.
 */
void *next_function(const char *name, void **known);

#endif
