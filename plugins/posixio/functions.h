/* The one list of intercepted functions: wrappers, names, kinds and regions all come from it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_FUNCTIONS_H
#define POSIXIO_FUNCTIONS_H

/*
 * X(name, KIND, SHAPE, VARIANT_OF, type, DETAIL)
 *
 * KIND is what it does (enum eta_op_kind). SHAPE names the macro SHAPE_... that writes the wrapper:
 * functions of one shape have the same arguments. VARIANT_OF is the plain function that does the
 * same (the 64-bit, checked and unlocked names): for reports that fold variants. The type is the
 * one that differs between functions of a shape, as the prototype says: mostly the offset's, so
 * that a 32-bit off_t never reaches a function that takes 64 bits. DETAIL says when a call is
 * recorded: CALL always, CHARS with SCI_DETAIL=chars (else counted), METADATA with SCI_METADATA=1,
 * NEVER not at all (its wrapper keeps the table of descriptors right).
 * doc/howto-function.md tells how to add one.
 */
/* make, copy and close descriptors: wrap/open.c */
#define SCI_OPEN_FUNCTIONS(X)                                                                      \
	X(open, OPEN, OPEN, open, off_t, CALL)                                                     \
	X(open64, OPEN, OPEN, open, off64_t, CALL)                                                 \
	X(openat, OPEN, OPENAT, openat, off_t, CALL)                                               \
	X(openat64, OPEN, OPENAT, openat, off64_t, CALL)                                           \
	X(creat, OPEN, CREAT, creat, off_t, CALL)                                                  \
	X(creat64, OPEN, CREAT, creat, off64_t, CALL)                                              \
	X(__open_2, OPEN, OPEN_2, open, off_t, CALL)                                               \
	X(__open64_2, OPEN, OPEN_2, open, off64_t, CALL)                                           \
	X(__openat_2, OPEN, OPENAT_2, openat, off_t, CALL)                                         \
	X(__openat64_2, OPEN, OPENAT_2, openat, off64_t, CALL)                                     \
	X(mkstemp, OPEN, MKSTEMP, mkstemp, off_t, CALL)                                            \
	X(mkstemp64, OPEN, MKSTEMP, mkstemp, off64_t, CALL)                                        \
	X(mkostemp, OPEN, MKOSTEMP, mkostemp, off_t, CALL)                                         \
	X(mkostemp64, OPEN, MKOSTEMP, mkostemp, off64_t, CALL)                                     \
	X(mkstemps, OPEN, MKSTEMPS, mkstemps, off_t, CALL)                                         \
	X(mkstemps64, OPEN, MKSTEMPS, mkstemps, off64_t, CALL)                                     \
	X(mkostemps, OPEN, MKOSTEMPS, mkostemps, off_t, CALL)                                      \
	X(mkostemps64, OPEN, MKOSTEMPS, mkostemps, off64_t, CALL)                                  \
	X(dup, OPEN, DUP, dup, off_t, CALL)                                                        \
	X(dup2, OPEN, DUP2, dup2, off_t, CALL)                                                     \
	X(dup3, OPEN, DUP3, dup3, off_t, CALL)                                                     \
	X(fcntl, OTHER, FCNTL, fcntl, off_t, CALL)                                                 \
	X(fcntl64, OTHER, FCNTL, fcntl, off64_t, CALL)                                             \
	X(close, CLOSE, CLOSE, close, off_t, CALL)                                                 \
	X(close_range, CLOSE, CLOSE_RANGE, close_range, off_t, CALL)                               \
	X(closefrom, CLOSE, CLOSEFROM, closefrom, off_t, CALL)

/* transfer, seek and synchronise: wrap/fd.c */
#define SCI_FD_FUNCTIONS(X)                                                                        \
	X(read, READ, READ, read, off_t, CALL)                                                     \
	X(__read_chk, READ, READ_CHK, read, off_t, CALL)                                           \
	X(write, WRITE, WRITE, write, off_t, CALL)                                                 \
	X(pread, READ, PREAD, pread, off_t, CALL)                                                  \
	X(pread64, READ, PREAD, pread, off64_t, CALL)                                              \
	X(__pread_chk, READ, PREAD_CHK, pread, off_t, CALL)                                        \
	X(__pread64_chk, READ, PREAD_CHK, pread, off64_t, CALL)                                    \
	X(pwrite, WRITE, PWRITE, pwrite, off_t, CALL)                                              \
	X(pwrite64, WRITE, PWRITE, pwrite, off64_t, CALL)                                          \
	X(readv, READ, READV, readv, off_t, CALL)                                                  \
	X(writev, WRITE, WRITEV, writev, off_t, CALL)                                              \
	X(preadv, READ, VECTOR_AT, preadv, off_t, CALL)                                            \
	X(preadv64, READ, VECTOR_AT, preadv, off64_t, CALL)                                        \
	X(pwritev, WRITE, VECTOR_AT, pwritev, off_t, CALL)                                         \
	X(pwritev64, WRITE, VECTOR_AT, pwritev, off64_t, CALL)                                     \
	X(preadv2, READ, READV_FLAGS, preadv2, off_t, CALL)                                        \
	X(preadv64v2, READ, READV_FLAGS, preadv2, off64_t, CALL)                                   \
	X(pwritev2, WRITE, WRITEV_FLAGS, pwritev2, off_t, CALL)                                    \
	X(pwritev64v2, WRITE, WRITEV_FLAGS, pwritev2, off64_t, CALL)                               \
	X(lseek, SEEK, LSEEK, lseek, off_t, CALL)                                                  \
	X(lseek64, SEEK, LSEEK, lseek, off64_t, CALL)                                              \
	X(fsync, SYNC, FSYNC, fsync, off_t, CALL)                                                  \
	X(fdatasync, SYNC, FSYNC, fdatasync, off_t, CALL)

/* the rest on descriptors: wrap/file.c */
#define SCI_FILE_FUNCTIONS(X)                                                                      \
	X(flock, OTHER, FLOCK, flock, off_t, CALL)                                                 \
	X(lockf, OTHER, LOCKF, lockf, off_t, CALL)                                                 \
	X(lockf64, OTHER, LOCKF, lockf, off64_t, CALL)                                             \
	X(sync, SYNC, SYNC, sync, off_t, CALL)                                                     \
	X(syncfs, SYNC, FSYNC, syncfs, off_t, CALL)                                                \
	X(sync_file_range, SYNC, SYNC_RANGE, sync_file_range, off64_t, CALL)                       \
	X(truncate, META, TRUNCATE, truncate, off_t, CALL)                                         \
	X(truncate64, META, TRUNCATE, truncate, off64_t, CALL)                                     \
	X(ftruncate, META, FTRUNCATE, ftruncate, off_t, CALL)                                      \
	X(ftruncate64, META, FTRUNCATE, ftruncate, off64_t, CALL)                                  \
	X(fallocate, META, FALLOCATE, fallocate, off_t, CALL)                                      \
	X(fallocate64, META, FALLOCATE, fallocate, off64_t, CALL)                                  \
	X(posix_fallocate, META, POSIX_FALLOCATE, posix_fallocate, off_t, CALL)                    \
	X(posix_fallocate64, META, POSIX_FALLOCATE, posix_fallocate, off64_t, CALL)                \
	X(posix_fadvise, OTHER, POSIX_FADVISE, posix_fadvise, off_t, CALL)                         \
	X(posix_fadvise64, OTHER, POSIX_FADVISE, posix_fadvise, off64_t, CALL)                     \
	X(readahead, OTHER, READAHEAD, readahead, off64_t, CALL)                                   \
	X(copy_file_range, WRITE, COPY, copy_file_range, off64_t, CALL)                            \
	X(sendfile, WRITE, SENDFILE, sendfile, off_t, CALL)                                        \
	X(sendfile64, WRITE, SENDFILE, sendfile, off64_t, CALL)                                    \
	X(splice, WRITE, SPLICE, splice, off64_t, CALL)                                            \
	X(tee, WRITE, TEE, tee, off_t, CALL)                                                       \
	X(vmsplice, WRITE, VMSPLICE, vmsplice, off_t, CALL)                                        \
	X(syscall, OTHER, SYSCALL, syscall, off_t, CALL)

/* mapped files: wrap/map.c */
#define SCI_MAP_FUNCTIONS(X)                                                                       \
	X(mmap, OTHER, MMAP, mmap, off_t, CALL)                                                    \
	X(mmap64, OTHER, MMAP, mmap, off64_t, CALL)                                                \
	X(munmap, OTHER, MUNMAP, munmap, off_t, CALL)                                              \
	X(msync, SYNC, MSYNC, msync, off_t, CALL)                                                  \
	X(madvise, OTHER, MADVISE, madvise, off_t, CALL)

/* streams: wrap/stdio.c */
#define SCI_STDIO_FUNCTIONS(X)                                                                     \
	X(fopen, OPEN, FOPEN, fopen, off_t, CALL)                                                  \
	X(fopen64, OPEN, FOPEN, fopen, off64_t, CALL)                                              \
	X(tmpfile, OPEN, TMPFILE, tmpfile, off_t, CALL)                                            \
	X(tmpfile64, OPEN, TMPFILE, tmpfile, off64_t, CALL)                                        \
	X(fdopen, OTHER, FDOPEN, fdopen, off_t, CALL)                                              \
	X(freopen, OPEN, FREOPEN, freopen, off_t, CALL)                                            \
	X(freopen64, OPEN, FREOPEN, freopen, off64_t, CALL)                                        \
	X(fclose, CLOSE, FCLOSE, fclose, off_t, CALL)                                              \
	X(fcloseall, CLOSE, FCLOSEALL, fcloseall, off_t, CALL)                                     \
	X(popen, OPEN, POPEN, popen, off_t, CALL)                                                  \
	X(pclose, CLOSE, FCLOSE, pclose, off_t, CALL)                                              \
	X(fread, READ, FREAD, fread, off_t, CALL)                                                  \
	X(fread_unlocked, READ, FREAD, fread, off_t, CALL)                                         \
	X(__fread_chk, READ, FREAD_CHK, fread, off_t, CALL)                                        \
	X(__fread_unlocked_chk, READ, FREAD_CHK, fread, off_t, CALL)                               \
	X(fwrite, WRITE, FWRITE, fwrite, off_t, CALL)                                              \
	X(fwrite_unlocked, WRITE, FWRITE, fwrite, off_t, CALL)                                     \
	X(fflush, SYNC, FFLUSH, fflush, off_t, CALL)                                               \
	X(fflush_unlocked, SYNC, FFLUSH, fflush, off_t, CALL)                                      \
	X(fseek, SEEK, FSEEK, fseek, long, CALL)                                                   \
	X(fseeko, SEEK, FSEEK, fseek, off_t, CALL)                                                 \
	X(fseeko64, SEEK, FSEEK, fseek, off64_t, CALL)                                             \
	X(rewind, SEEK, REWIND, rewind, off_t, CALL)                                               \
	X(fgetpos, OTHER, FGETPOS, fgetpos, fpos_t, CALL)                                          \
	X(fgetpos64, OTHER, FGETPOS, fgetpos, fpos64_t, CALL)                                      \
	X(fsetpos, SEEK, FSETPOS, fsetpos, fpos_t, CALL)                                           \
	X(fsetpos64, SEEK, FSETPOS, fsetpos, fpos64_t, CALL)                                       \
	X(ftell, OTHER, FTELL, ftell, long, CALL)                                                  \
	X(ftello, OTHER, FTELL, ftell, off_t, CALL)                                                \
	X(ftello64, OTHER, FTELL, ftell, off64_t, CALL)                                            \
	X(setvbuf, OTHER, SETVBUF, setvbuf, off_t, CALL)                                           \
	X(setbuf, OTHER, SETBUF, setvbuf, off_t, CALL)

/* formatted, line and character functions of stdio: wrap/text.c */
#define SCI_TEXT_FUNCTIONS(X)                                                                      \
	X(fprintf, WRITE, FPRINTF, fprintf, off_t, CALL)                                           \
	X(vfprintf, WRITE, VFPRINTF, fprintf, off_t, CALL)                                         \
	X(printf, WRITE, PRINTF, fprintf, off_t, CALL)                                             \
	X(vprintf, WRITE, VPRINTF, fprintf, off_t, CALL)                                           \
	X(dprintf, WRITE, DPRINTF, dprintf, off_t, CALL)                                           \
	X(vdprintf, WRITE, VDPRINTF, dprintf, off_t, CALL)                                         \
	X(__fprintf_chk, WRITE, FPRINTF_CHK, fprintf, off_t, CALL)                                 \
	X(__vfprintf_chk, WRITE, VFPRINTF_CHK, fprintf, off_t, CALL)                               \
	X(__printf_chk, WRITE, PRINTF_CHK, fprintf, off_t, CALL)                                   \
	X(__vprintf_chk, WRITE, VPRINTF_CHK, fprintf, off_t, CALL)                                 \
	X(__dprintf_chk, WRITE, DPRINTF_CHK, dprintf, off_t, CALL)                                 \
	X(__vdprintf_chk, WRITE, VDPRINTF_CHK, dprintf, off_t, CALL)                               \
	X(puts, WRITE, PUTS, fputs, off_t, CALL)                                                   \
	X(fputs, WRITE, FPUTS, fputs, off_t, CALL)                                                 \
	X(fputs_unlocked, WRITE, FPUTS, fputs, off_t, CALL)                                        \
	X(fgets, READ, FGETS, fgets, off_t, CALL)                                                  \
	X(fgets_unlocked, READ, FGETS, fgets, off_t, CALL)                                         \
	X(__fgets_chk, READ, FGETS_CHK, fgets, off_t, CALL)                                        \
	X(__fgets_unlocked_chk, READ, FGETS_CHK, fgets, off_t, CALL)                               \
	X(getline, READ, GETLINE, getline, off_t, CALL)                                            \
	X(getdelim, READ, GETDELIM, getdelim, off_t, CALL)                                         \
	X(__getdelim, READ, GETDELIM, getdelim, off_t, CALL)                                       \
	X(fscanf, READ, FSCANF, fscanf, off_t, CALL)                                               \
	X(vfscanf, READ, VFSCANF, fscanf, off_t, CALL)                                             \
	X(scanf, READ, SCANF, fscanf, off_t, CALL)                                                 \
	X(vscanf, READ, VSCANF, fscanf, off_t, CALL)                                               \
	X(__isoc99_fscanf, READ, FSCANF, fscanf, off_t, CALL)                                      \
	X(__isoc23_fscanf, READ, FSCANF, fscanf, off_t, CALL)                                      \
	X(__isoc99_vfscanf, READ, VFSCANF, fscanf, off_t, CALL)                                    \
	X(__isoc23_vfscanf, READ, VFSCANF, fscanf, off_t, CALL)                                    \
	X(__isoc99_scanf, READ, SCANF, fscanf, off_t, CALL)                                        \
	X(__isoc23_scanf, READ, SCANF, fscanf, off_t, CALL)                                        \
	X(__isoc99_vscanf, READ, VSCANF, fscanf, off_t, CALL)                                      \
	X(__isoc23_vscanf, READ, VSCANF, fscanf, off_t, CALL)                                      \
	X(fputc, WRITE, FPUTC, fputc, off_t, CHARS)                                                \
	X(fputc_unlocked, WRITE, FPUTC, fputc, off_t, CHARS)                                       \
	X(putc, WRITE, FPUTC, fputc, off_t, CHARS)                                                 \
	X(putc_unlocked, WRITE, FPUTC, fputc, off_t, CHARS)                                        \
	X(_IO_putc, WRITE, FPUTC, fputc, off_t, CHARS)                                             \
	X(putchar, WRITE, PUTCHAR, fputc, off_t, CHARS)                                            \
	X(putchar_unlocked, WRITE, PUTCHAR, fputc, off_t, CHARS)                                   \
	X(putw, WRITE, PUTW, putw, off_t, CHARS)                                                   \
	X(fgetc, READ, FGETC, fgetc, off_t, CHARS)                                                 \
	X(fgetc_unlocked, READ, FGETC, fgetc, off_t, CHARS)                                        \
	X(getc, READ, FGETC, fgetc, off_t, CHARS)                                                  \
	X(getc_unlocked, READ, FGETC, fgetc, off_t, CHARS)                                         \
	X(_IO_getc, READ, FGETC, fgetc, off_t, CHARS)                                              \
	X(getchar, READ, GETCHAR, fgetc, off_t, CHARS)                                             \
	X(getchar_unlocked, READ, GETCHAR, fgetc, off_t, CHARS)                                    \
	X(getw, READ, GETW, getw, off_t, CHARS)                                                    \
	X(ungetc, OTHER, UNGETC, ungetc, off_t, CHARS)

/* POSIX aio: wrap/aio.c */
#define SCI_AIO_FUNCTIONS(X)                                                                       \
	X(aio_read, OTHER, AIO, aio_read, aiocb, CALL)                                             \
	X(aio_read64, OTHER, AIO, aio_read, aiocb64, CALL)                                         \
	X(aio_write, OTHER, AIO, aio_write, aiocb, CALL)                                           \
	X(aio_write64, OTHER, AIO, aio_write, aiocb64, CALL)                                       \
	X(aio_fsync, OTHER, AIO_FSYNC, aio_fsync, aiocb, CALL)                                     \
	X(aio_fsync64, OTHER, AIO_FSYNC, aio_fsync, aiocb64, CALL)                                 \
	X(aio_return, OTHER, AIO_RETURN, aio_return, aiocb, CALL)                                  \
	X(aio_return64, OTHER, AIO_RETURN, aio_return, aiocb64, CALL)                              \
	X(aio_suspend, OTHER, AIO_SUSPEND, aio_suspend, aiocb, CALL)                               \
	X(aio_suspend64, OTHER, AIO_SUSPEND, aio_suspend, aiocb64, CALL)                           \
	X(aio_cancel, OTHER, AIO_CANCEL, aio_cancel, aiocb, CALL)                                  \
	X(aio_cancel64, OTHER, AIO_CANCEL, aio_cancel, aiocb64, CALL)                              \
	X(lio_listio, OTHER, LIO_LISTIO, lio_listio, aiocb, CALL)                                  \
	X(lio_listio64, OTHER, LIO_LISTIO, lio_listio, aiocb64, CALL)

/* names and attributes, on request: wrap/meta.c */
#define SCI_METADATA_FUNCTIONS(X)                                                                  \
	X(stat, OTHER, STAT, stat, stat, METADATA)                                                 \
	X(stat64, OTHER, STAT, stat, stat64, METADATA)                                             \
	X(lstat, OTHER, STAT, lstat, stat, METADATA)                                               \
	X(lstat64, OTHER, STAT, lstat, stat64, METADATA)                                           \
	X(fstat, OTHER, FSTAT, fstat, stat, METADATA)                                              \
	X(fstat64, OTHER, FSTAT, fstat, stat64, METADATA)                                          \
	X(fstatat, OTHER, FSTATAT, fstatat, stat, METADATA)                                        \
	X(fstatat64, OTHER, FSTATAT, fstatat, stat64, METADATA)                                    \
	X(__xstat, OTHER, XSTAT, stat, stat, METADATA)                                             \
	X(__xstat64, OTHER, XSTAT, stat, stat64, METADATA)                                         \
	X(__lxstat, OTHER, XSTAT, lstat, stat, METADATA)                                           \
	X(__lxstat64, OTHER, XSTAT, lstat, stat64, METADATA)                                       \
	X(__fxstat, OTHER, FXSTAT, fstat, stat, METADATA)                                          \
	X(__fxstat64, OTHER, FXSTAT, fstat, stat64, METADATA)                                      \
	X(statx, OTHER, STATX, statx, off_t, METADATA)                                             \
	X(access, OTHER, PATH_MODE, access, int, METADATA)                                         \
	X(rename, META, PATHS, rename, off_t, METADATA)                                            \
	X(renameat, META, PATHS_AT, renameat, off_t, METADATA)                                     \
	X(renameat2, META, PATHS_AT_FLAGS, renameat2, unsigned, METADATA)                          \
	X(unlink, META, PATH, unlink, off_t, METADATA)                                             \
	X(unlinkat, META, PATH_AT_MODE, unlinkat, int, METADATA)                                   \
	X(remove, META, PATH, remove, off_t, METADATA)                                             \
	X(rmdir, META, PATH, rmdir, off_t, METADATA)                                               \
	X(mkdir, META, PATH_MODE, mkdir, mode_t, METADATA)                                         \
	X(mkdirat, META, PATH_AT_MODE, mkdirat, mode_t, METADATA)                                  \
	X(link, META, PATHS, link, off_t, METADATA)                                                \
	X(linkat, META, PATHS_AT_FLAGS, linkat, int, METADATA)                                     \
	X(symlink, META, SYMLINK, symlink, off_t, METADATA)                                        \
	X(symlinkat, META, SYMLINKAT, symlinkat, off_t, METADATA)                                  \
	X(readlink, OTHER, READLINK, readlink, off_t, METADATA)                                    \
	X(chmod, META, PATH_MODE, chmod, mode_t, METADATA)                                         \
	X(fchmod, META, FCHMOD, fchmod, off_t, METADATA)                                           \
	X(fchmodat, META, FCHMODAT, fchmodat, off_t, METADATA)                                     \
	X(utime, META, UTIME, utime, off_t, METADATA)                                              \
	X(utimes, META, UTIMES, utimes, off_t, METADATA)                                           \
	X(utimensat, META, UTIMENSAT, utimensat, off_t, METADATA)                                  \
	X(futimens, META, FUTIMENS, futimens, off_t, METADATA)                                     \
	X(opendir, OPEN, OPENDIR, opendir, off_t, METADATA)                                        \
	X(readdir, OTHER, READDIR, readdir, dirent, METADATA)                                      \
	X(readdir64, OTHER, READDIR, readdir, dirent64, METADATA)                                  \
	X(closedir, CLOSE, CLOSEDIR, closedir, off_t, METADATA)

/* descriptors of other kinds, whose calls are recorded, not their making: wrap/descriptors.c */
#define SCI_MADE_FUNCTIONS(X)                                                                      \
	X(socket, OTHER, SOCKET, socket, off_t, NEVER)                                             \
	X(socketpair, OTHER, SOCKETPAIR, socketpair, off_t, NEVER)                                 \
	X(accept, OTHER, ACCEPT, accept, off_t, NEVER)                                             \
	X(accept4, OTHER, ACCEPT4, accept4, off_t, NEVER)                                          \
	X(pipe, OTHER, PIPE, pipe, off_t, NEVER)                                                   \
	X(pipe2, OTHER, PIPE2, pipe2, off_t, NEVER)                                                \
	X(eventfd, OTHER, MADE_TWO, eventfd, unsigned, NEVER)                                      \
	X(epoll_create, OTHER, MADE_ONE, epoll_create, int, NEVER)                                 \
	X(epoll_create1, OTHER, MADE_ONE, epoll_create1, int, NEVER)                               \
	X(inotify_init, OTHER, MADE_NONE, inotify_init, off_t, NEVER)                              \
	X(inotify_init1, OTHER, MADE_ONE, inotify_init1, int, NEVER)                               \
	X(timerfd_create, OTHER, MADE_TWO, timerfd_create, clockid_t, NEVER)                       \
	X(signalfd, OTHER, SIGNALFD, signalfd, off_t, NEVER)                                       \
	X(memfd_create, OTHER, MEMFD, memfd_create, off_t, NEVER)

/* programs that lock themselves in: wrap/confine.c */
#define SCI_CONFINE_FUNCTIONS(X) X(prctl, OTHER, PRCTL, prctl, off_t, NEVER)

/* libaio and liburing: wrap/queue.c. Last: such a library may come and go (real.c). */
#define SCI_QUEUE_FUNCTIONS(X)                                                                     \
	X(io_submit, OTHER, IO_SUBMIT, io_submit, off_t, CALL)                                     \
	X(io_getevents, OTHER, IO_GETEVENTS, io_getevents, off_t, CALL)                            \
	X(io_pgetevents, OTHER, IO_PGETEVENTS, io_pgetevents, off_t, CALL)                         \
	X(io_uring_submit, OTHER, URING, io_uring_submit, off_t, CALL)                             \
	X(io_uring_submit_and_get_events, OTHER, URING, io_uring_submit_and_get_events, off_t,     \
	  CALL)                                                                                    \
	X(io_uring_get_events, OTHER, URING, io_uring_get_events, off_t, CALL)                     \
	X(io_uring_enter, OTHER, URING_ENTER, io_uring_enter, off_t, CALL)                         \
	X(io_uring_enter2, OTHER, URING_ENTER2, io_uring_enter, off_t, CALL)                       \
	X(io_uring_submit_and_wait, OTHER, URING_WAIT, io_uring_submit_and_wait, off_t, CALL)      \
	X(io_uring_submit_and_wait_timeout, OTHER, URING_WAIT_TIMEOUT,                             \
	  io_uring_submit_and_wait_timeout, off_t, CALL)                                           \
	X(io_uring_wait_cqes, OTHER, URING_WAIT_TIMEOUT, io_uring_wait_cqes, off_t, CALL)          \
	X(io_uring_wait_cqe_timeout, OTHER, URING_CQE_TIMEOUT, io_uring_wait_cqe_timeout, off_t,   \
	  CALL)                                                                                    \
	X(__io_uring_get_cqe, OTHER, URING_GET, __io_uring_get_cqe, off_t, CALL)

#define SCI_FUNCTIONS(X)                                                                           \
	SCI_OPEN_FUNCTIONS(X)                                                                      \
	SCI_FD_FUNCTIONS(X)                                                                        \
	SCI_FILE_FUNCTIONS(X)                                                                      \
	SCI_MAP_FUNCTIONS(X)                                                                       \
	SCI_STDIO_FUNCTIONS(X)                                                                     \
	SCI_TEXT_FUNCTIONS(X)                                                                      \
	SCI_AIO_FUNCTIONS(X)                                                                       \
	SCI_METADATA_FUNCTIONS(X)                                                                  \
	SCI_MADE_FUNCTIONS(X)                                                                      \
	SCI_CONFINE_FUNCTIONS(X)                                                                   \
	SCI_QUEUE_FUNCTIONS(X)

/* X(ID, region): waits inside of calls: recorded as calls are, but no functions. */
#define SCI_WAITS(X) X(STREAM_LOCK, "user:stream lock")

enum function {
#define X(name, kind, shape, variant, type, detail) FN_##name,
	SCI_FUNCTIONS(X)
#undef X
		N_FUNCTIONS,
	FN_LAST = N_FUNCTIONS - 1, /* waits are numbered on from here */
#define X(id, region) WAIT_##id,
	SCI_WAITS(X)
#undef X
		N_REGIONS,
	/* from here on functions of libraries that may not be there */
	FN_FIRST_QUEUE = FN_io_submit,
};

#endif
