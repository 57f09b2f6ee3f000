/* The one list of intercepted functions: wrappers, names, kinds and regions all come from it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_FUNCTIONS_H
#define POSIXIO_FUNCTIONS_H

/*
 * X(name, KIND, SHAPE, VARIANT_OF, offset type)
 *
 * KIND is what it does (enum eta_op_kind). SHAPE names the macro SHAPE_... that writes the wrapper:
 * functions of one shape have the same arguments. VARIANT_OF is the plain function that does the
 * same (the 64-bit, checked and unlocked names): for reports that fold variants. The offset type is
 * what the prototype says, so that a 32-bit off_t never reaches a function that takes 64 bits.
 * doc/howto-function.md tells how to add one.
 */
#define SCI_OPEN_FUNCTIONS(X)                                                                      \
	X(open, OPEN, OPEN, open, off_t)                                                           \
	X(open64, OPEN, OPEN, open, off64_t)                                                       \
	X(openat, OPEN, OPENAT, openat, off_t)                                                     \
	X(openat64, OPEN, OPENAT, openat, off64_t)                                                 \
	X(creat, OPEN, CREAT, creat, off_t)                                                        \
	X(creat64, OPEN, CREAT, creat, off64_t)                                                    \
	X(__open_2, OPEN, OPEN_2, open, off_t)                                                     \
	X(__open64_2, OPEN, OPEN_2, open, off64_t)                                                 \
	X(__openat_2, OPEN, OPENAT_2, openat, off_t)                                               \
	X(__openat64_2, OPEN, OPENAT_2, openat, off64_t)                                           \
	X(dup, OPEN, DUP, dup, off_t)                                                              \
	X(dup2, OPEN, DUP2, dup2, off_t)                                                           \
	X(dup3, OPEN, DUP3, dup3, off_t)                                                           \
	X(close, CLOSE, CLOSE, close, off_t)

#define SCI_FD_FUNCTIONS(X)                                                                        \
	X(read, READ, READ, read, off_t)                                                           \
	X(__read_chk, READ, READ_CHK, read, off_t)                                                 \
	X(write, WRITE, WRITE, write, off_t)                                                       \
	X(pread, READ, PREAD, pread, off_t)                                                        \
	X(pread64, READ, PREAD, pread, off64_t)                                                    \
	X(__pread_chk, READ, PREAD_CHK, pread, off_t)                                              \
	X(__pread64_chk, READ, PREAD_CHK, pread, off64_t)                                          \
	X(pwrite, WRITE, PWRITE, pwrite, off_t)                                                    \
	X(pwrite64, WRITE, PWRITE, pwrite, off64_t)                                                \
	X(readv, READ, VECTOR, readv, off_t)                                                       \
	X(writev, WRITE, VECTOR, writev, off_t)                                                    \
	X(preadv, READ, VECTOR_AT, preadv, off_t)                                                  \
	X(preadv64, READ, VECTOR_AT, preadv, off64_t)                                              \
	X(pwritev, WRITE, VECTOR_AT, pwritev, off_t)                                               \
	X(pwritev64, WRITE, VECTOR_AT, pwritev, off64_t)                                           \
	X(preadv2, READ, VECTOR_AT_FLAGS, preadv2, off_t)                                          \
	X(preadv64v2, READ, VECTOR_AT_FLAGS, preadv2, off64_t)                                     \
	X(pwritev2, WRITE, VECTOR_AT_FLAGS, pwritev2, off_t)                                       \
	X(pwritev64v2, WRITE, VECTOR_AT_FLAGS, pwritev2, off64_t)                                  \
	X(lseek, SEEK, LSEEK, lseek, off_t)                                                        \
	X(lseek64, SEEK, LSEEK, lseek, off64_t)                                                    \
	X(fsync, SYNC, FSYNC, fsync, off_t)                                                        \
	X(fdatasync, SYNC, FSYNC, fdatasync, off_t)

#define SCI_STDIO_FUNCTIONS(X)                                                                     \
	X(fopen, OPEN, FOPEN, fopen, off_t)                                                        \
	X(fopen64, OPEN, FOPEN, fopen, off64_t)                                                    \
	X(fdopen, OTHER, FDOPEN, fdopen, off_t)                                                    \
	X(freopen, OPEN, FREOPEN, freopen, off_t)                                                  \
	X(freopen64, OPEN, FREOPEN, freopen, off64_t)                                              \
	X(fclose, CLOSE, FCLOSE, fclose, off_t)                                                    \
	X(fread, READ, FREAD, fread, off_t)                                                        \
	X(fread_unlocked, READ, FREAD, fread, off_t)                                               \
	X(__fread_chk, READ, FREAD_CHK, fread, off_t)                                              \
	X(__fread_unlocked_chk, READ, FREAD_CHK, fread, off_t)                                     \
	X(fwrite, WRITE, FWRITE, fwrite, off_t)                                                    \
	X(fwrite_unlocked, WRITE, FWRITE, fwrite, off_t)                                           \
	X(fflush, SYNC, FFLUSH, fflush, off_t)                                                     \
	X(fflush_unlocked, SYNC, FFLUSH, fflush, off_t)                                            \
	X(fseek, SEEK, FSEEK, fseek, long)                                                         \
	X(fseeko, SEEK, FSEEK, fseek, off_t)                                                       \
	X(fseeko64, SEEK, FSEEK, fseek, off64_t)                                                   \
	X(rewind, SEEK, REWIND, rewind, off_t)                                                     \
	X(ftell, OTHER, FTELL, ftell, long)                                                        \
	X(ftello, OTHER, FTELL, ftell, off_t)                                                      \
	X(ftello64, OTHER, FTELL, ftell, off64_t)

#define SCI_FUNCTIONS(X) SCI_OPEN_FUNCTIONS(X) SCI_FD_FUNCTIONS(X) SCI_STDIO_FUNCTIONS(X)

enum function {
#define X(name, kind, shape, variant, offset_type) FN_##name,
	SCI_FUNCTIONS(X)
#undef X
		N_FUNCTIONS,
};

#endif
