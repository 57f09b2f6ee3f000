/* The one list of intercepted MPI-IO functions: wrappers, names and kinds come from it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MPI_FUNCTIONS_H
#define SCI_MPI_FUNCTIONS_H

/*
 * X(name without MPI_File_, KIND, SHAPE, POINTER)
 *
 * KIND is what it does (enum eta_op_kind); what only begins or ends a transfer transfers nothing
 * itself: OTHER. SHAPE are its parameters (mpi.c). POINTER: the place is that of the rank's own
 * file pointer (OWN), or not known here (NONE). Collective are open, close, set_size, preallocate,
 * sync, set_view, and what has "_all" or "_ordered" in its name.
 */
#define SCI_MPI_FUNCTIONS(X)                                                                       \
	X(open, OPEN, WRITTEN_OUT, NONE)                                                           \
	X(close, CLOSE, WRITTEN_OUT, NONE)                                                         \
	X(delete, OTHER, WRITTEN_OUT, NONE)                                                        \
	X(set_view, OTHER, WRITTEN_OUT, NONE)                                                      \
	X(sync, SYNC, WRITTEN_OUT, NONE)                                                           \
	X(set_size, META, LENGTH, NONE)                                                            \
	X(preallocate, META, LENGTH, NONE)                                                         \
	X(read_at, READ, AT, NONE)                                                                 \
	X(read_at_all, READ, AT, NONE)                                                             \
	X(write_at, WRITE, AT, NONE)                                                               \
	X(write_at_all, WRITE, AT, NONE)                                                           \
	X(read, READ, HERE, OWN)                                                                   \
	X(read_all, READ, HERE, OWN)                                                               \
	X(write, WRITE, HERE, OWN)                                                                 \
	X(write_all, WRITE, HERE, OWN)                                                             \
	X(read_shared, READ, HERE, NONE)                                                           \
	X(write_shared, WRITE, HERE, NONE)                                                         \
	X(read_ordered, READ, HERE, NONE)                                                          \
	X(write_ordered, WRITE, HERE, NONE)                                                        \
	X(iread_at, OTHER, IAT, NONE)                                                              \
	X(iread_at_all, OTHER, IAT, NONE)                                                          \
	X(iwrite_at, OTHER, IAT, NONE)                                                             \
	X(iwrite_at_all, OTHER, IAT, NONE)                                                         \
	X(iread, OTHER, IHERE, OWN)                                                                \
	X(iread_all, OTHER, IHERE, OWN)                                                            \
	X(iwrite, OTHER, IHERE, OWN)                                                               \
	X(iwrite_all, OTHER, IHERE, OWN)                                                           \
	X(iread_shared, OTHER, IHERE, NONE)                                                        \
	X(iwrite_shared, OTHER, IHERE, NONE)                                                       \
	X(read_at_all_begin, OTHER, BEGIN_AT, NONE)                                                \
	X(write_at_all_begin, OTHER, BEGIN_AT, NONE)                                               \
	X(read_all_begin, OTHER, BEGIN, OWN)                                                       \
	X(write_all_begin, OTHER, BEGIN, OWN)                                                      \
	X(read_ordered_begin, OTHER, BEGIN, NONE)                                                  \
	X(write_ordered_begin, OTHER, BEGIN, NONE)                                                 \
	X(read_at_all_end, OTHER, END, NONE)                                                       \
	X(write_at_all_end, OTHER, END, NONE)                                                      \
	X(read_all_end, OTHER, END, NONE)                                                          \
	X(write_all_end, OTHER, END, NONE)                                                         \
	X(read_ordered_end, OTHER, END, NONE)                                                      \
	X(write_ordered_end, OTHER, END, NONE)

#endif
