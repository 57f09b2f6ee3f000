/* The one list of intercepted functions: wrappers, names, kinds and regions all come from it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_FUNCTIONS_H
#define POSIXIO_FUNCTIONS_H

/*
 * X(name, KIND, SHAPE, VARIANT_OF, type, DETAIL)
 *
 * KIND is what it does (enum eta_op_kind). SHAPE is OWN where the wrapper is a function, written
 * out in the group's file; three functions or more that differ in their name alone, or in one type,
 * have a macro SHAPE_... that writes their wrappers. VARIANT_OF is the plain function that does the
 * same (the 64-bit, checked and unlocked names): for reports that fold variants. The type is the
 * one that differs between functions of a shape, as the prototype says: mostly the offset's, so
 * that a 32-bit off_t never reaches a function that takes 64 bits. DETAIL says when a call is
 * recorded: CALL always, CHARS with SCI_DETAIL=chars (else counted), METADATA with SCI_METADATA=1,
 * NEVER not at all (its wrapper keeps the table of descriptors right).
 * doc/howto-function.md says how to add one.
 */
/* make, copy and close descriptors: wrap/open.c */
#define SCI_OPEN_FUNCTIONS(X)                                                                      \
	X(open, OPEN, OWN, open, off_t, CALL)                                                      \
	X(open64, OPEN, OWN, open, off64_t, CALL)                                                  \
	X(openat, OPEN, OWN, openat, off_t, CALL)                                                  \
	X(openat64, OPEN, OWN, openat, off64_t, CALL)                                              \
	X(creat, OPEN, OWN, creat, off_t, CALL)                                                    \
	X(creat64, OPEN, OWN, creat, off64_t, CALL)                                                \
	X(__open_2, OPEN, OWN, open, off_t, CALL)                                                  \
	X(__open64_2, OPEN, OWN, open, off64_t, CALL)                                              \
	X(__openat_2, OPEN, OWN, openat, off_t, CALL)                                              \
	X(__openat64_2, OPEN, OWN, openat, off64_t, CALL)                                          \
	X(mkstemp, OPEN, OWN, mkstemp, off_t, CALL)                                                \
	X(mkstemp64, OPEN, OWN, mkstemp, off64_t, CALL)                                            \
	X(mkostemp, OPEN, OWN, mkostemp, off_t, CALL)                                              \
	X(mkostemp64, OPEN, OWN, mkostemp, off64_t, CALL)                                          \
	X(mkstemps, OPEN, OWN, mkstemps, off_t, CALL)                                              \
	X(mkstemps64, OPEN, OWN, mkstemps, off64_t, CALL)                                          \
	X(mkostemps, OPEN, OWN, mkostemps, off_t, CALL)                                            \
	X(mkostemps64, OPEN, OWN, mkostemps, off64_t, CALL)                                        \
	X(dup, OPEN, OWN, dup, off_t, CALL)                                                        \
	X(dup2, OPEN, OWN, dup2, off_t, CALL)                                                      \
	X(dup3, OPEN, OWN, dup3, off_t, CALL)                                                      \
	X(fcntl, OTHER, OWN, fcntl, off_t, CALL)                                                   \
	X(fcntl64, OTHER, OWN, fcntl, off64_t, CALL)                                               \
	X(close, CLOSE, OWN, close, off_t, CALL)                                                   \
	X(close_range, CLOSE, OWN, close_range, off_t, CALL)                                       \
	X(closefrom, CLOSE, OWN, closefrom, off_t, CALL)

/* transfer, seek and synchronise: wrap/fd.c */
#define SCI_FD_FUNCTIONS(X)                                                                        \
	X(read, READ, OWN, read, off_t, CALL)                                                      \
	X(__read_chk, READ, OWN, read, off_t, CALL)                                                \
	X(write, WRITE, OWN, write, off_t, CALL)                                                   \
	X(pread, READ, OWN, pread, off_t, CALL)                                                    \
	X(pread64, READ, OWN, pread, off64_t, CALL)                                                \
	X(__pread_chk, READ, OWN, pread, off_t, CALL)                                              \
	X(__pread64_chk, READ, OWN, pread, off64_t, CALL)                                          \
	X(pwrite, WRITE, OWN, pwrite, off_t, CALL)                                                 \
	X(pwrite64, WRITE, OWN, pwrite, off64_t, CALL)                                             \
	X(readv, READ, OWN, readv, off_t, CALL)                                                    \
	X(writev, WRITE, OWN, writev, off_t, CALL)                                                 \
	X(preadv, READ, VECTOR_AT, preadv, off_t, CALL)                                            \
	X(preadv64, READ, VECTOR_AT, preadv, off64_t, CALL)                                        \
	X(pwritev, WRITE, VECTOR_AT, pwritev, off_t, CALL)                                         \
	X(pwritev64, WRITE, VECTOR_AT, pwritev, off64_t, CALL)                                     \
	X(preadv2, READ, OWN, preadv2, off_t, CALL)                                                \
	X(preadv64v2, READ, OWN, preadv2, off64_t, CALL)                                           \
	X(pwritev2, WRITE, OWN, pwritev2, off_t, CALL)                                             \
	X(pwritev64v2, WRITE, OWN, pwritev2, off64_t, CALL)                                        \
	X(lseek, SEEK, OWN, lseek, off_t, CALL)                                                    \
	X(lseek64, SEEK, OWN, lseek, off64_t, CALL)                                                \
	X(fsync, SYNC, OWN, fsync, off_t, CALL)                                                    \
	X(fdatasync, SYNC, OWN, fdatasync, off_t, CALL)

/* the rest on descriptors: wrap/file.c */
#define SCI_FILE_FUNCTIONS(X)                                                                      \
	X(flock, OTHER, OWN, flock, off_t, CALL)                                                   \
	X(lockf, OTHER, OWN, lockf, off_t, CALL)                                                   \
	X(lockf64, OTHER, OWN, lockf, off64_t, CALL)                                               \
	X(sync, SYNC, OWN, sync, off_t, CALL)                                                      \
	X(syncfs, SYNC, OWN, syncfs, off_t, CALL)                                                  \
	X(sync_file_range, SYNC, OWN, sync_file_range, off64_t, CALL)                              \
	X(truncate, META, OWN, truncate, off_t, CALL)                                              \
	X(truncate64, META, OWN, truncate, off64_t, CALL)                                          \
	X(ftruncate, META, OWN, ftruncate, off_t, CALL)                                            \
	X(ftruncate64, META, OWN, ftruncate, off64_t, CALL)                                        \
	X(fallocate, META, OWN, fallocate, off_t, CALL)                                            \
	X(fallocate64, META, OWN, fallocate, off64_t, CALL)                                        \
	X(posix_fallocate, META, OWN, posix_fallocate, off_t, CALL)                                \
	X(posix_fallocate64, META, OWN, posix_fallocate, off64_t, CALL)                            \
	X(posix_fadvise, OTHER, OWN, posix_fadvise, off_t, CALL)                                   \
	X(posix_fadvise64, OTHER, OWN, posix_fadvise, off64_t, CALL)                               \
	X(readahead, OTHER, OWN, readahead, off64_t, CALL)                                         \
	X(copy_file_range, WRITE, OWN, copy_file_range, off64_t, CALL)                             \
	X(sendfile, WRITE, OWN, sendfile, off_t, CALL)                                             \
	X(sendfile64, WRITE, OWN, sendfile, off64_t, CALL)                                         \
	X(splice, WRITE, OWN, splice, off64_t, CALL)                                               \
	X(tee, WRITE, OWN, tee, off_t, CALL)                                                       \
	X(vmsplice, WRITE, OWN, vmsplice, off_t, CALL)                                             \
	X(syscall, OTHER, OWN, syscall, off_t, CALL)

/* mapped files: wrap/map.c */
#define SCI_MAP_FUNCTIONS(X)                                                                       \
	X(mmap, OTHER, OWN, mmap, off_t, CALL)                                                     \
	X(mmap64, OTHER, OWN, mmap, off64_t, CALL)                                                 \
	X(munmap, OTHER, OWN, munmap, off_t, CALL)                                                 \
	X(msync, SYNC, OWN, msync, off_t, CALL)                                                    \
	X(madvise, OTHER, OWN, madvise, off_t, CALL)

/* streams: wrap/stdio.c */
#define SCI_STDIO_FUNCTIONS(X)                                                                     \
	X(fopen, OPEN, OWN, fopen, off_t, CALL)                                                    \
	X(fopen64, OPEN, OWN, fopen, off64_t, CALL)                                                \
	X(tmpfile, OPEN, OWN, tmpfile, off_t, CALL)                                                \
	X(tmpfile64, OPEN, OWN, tmpfile, off64_t, CALL)                                            \
	X(fdopen, OTHER, OWN, fdopen, off_t, CALL)                                                 \
	X(freopen, OPEN, OWN, freopen, off_t, CALL)                                                \
	X(freopen64, OPEN, OWN, freopen, off64_t, CALL)                                            \
	X(fclose, CLOSE, OWN, fclose, off_t, CALL)                                                 \
	X(fcloseall, CLOSE, OWN, fcloseall, off_t, CALL)                                           \
	X(popen, OPEN, OWN, popen, off_t, CALL)                                                    \
	X(pclose, CLOSE, OWN, pclose, off_t, CALL)                                                 \
	X(fread, READ, OWN, fread, off_t, CALL)                                                    \
	X(fread_unlocked, READ, OWN, fread, off_t, CALL)                                           \
	X(__fread_chk, READ, OWN, fread, off_t, CALL)                                              \
	X(__fread_unlocked_chk, READ, OWN, fread, off_t, CALL)                                     \
	X(fwrite, WRITE, OWN, fwrite, off_t, CALL)                                                 \
	X(fwrite_unlocked, WRITE, OWN, fwrite, off_t, CALL)                                        \
	X(fflush, SYNC, OWN, fflush, off_t, CALL)                                                  \
	X(fflush_unlocked, SYNC, OWN, fflush, off_t, CALL)                                         \
	X(fseek, SEEK, FSEEK, fseek, long, CALL)                                                   \
	X(fseeko, SEEK, FSEEK, fseek, off_t, CALL)                                                 \
	X(fseeko64, SEEK, FSEEK, fseek, off64_t, CALL)                                             \
	X(rewind, SEEK, OWN, rewind, off_t, CALL)                                                  \
	X(fgetpos, OTHER, OWN, fgetpos, fpos_t, CALL)                                              \
	X(fgetpos64, OTHER, OWN, fgetpos, fpos64_t, CALL)                                          \
	X(fsetpos, SEEK, OWN, fsetpos, fpos_t, CALL)                                               \
	X(fsetpos64, SEEK, OWN, fsetpos, fpos64_t, CALL)                                           \
	X(ftell, OTHER, FTELL, ftell, long, CALL)                                                  \
	X(ftello, OTHER, FTELL, ftell, off_t, CALL)                                                \
	X(ftello64, OTHER, FTELL, ftell, off64_t, CALL)                                            \
	X(setvbuf, OTHER, OWN, setvbuf, off_t, CALL)                                               \
	X(setbuf, OTHER, OWN, setvbuf, off_t, CALL)

/* formatted, line and character functions of stdio: wrap/text.c */
#define SCI_TEXT_FUNCTIONS(X)                                                                      \
	X(fprintf, WRITE, OWN, fprintf, off_t, CALL)                                               \
	X(vfprintf, WRITE, OWN, fprintf, off_t, CALL)                                              \
	X(printf, WRITE, OWN, fprintf, off_t, CALL)                                                \
	X(vprintf, WRITE, OWN, fprintf, off_t, CALL)                                               \
	X(dprintf, WRITE, OWN, dprintf, off_t, CALL)                                               \
	X(vdprintf, WRITE, OWN, dprintf, off_t, CALL)                                              \
	X(__fprintf_chk, WRITE, OWN, fprintf, off_t, CALL)                                         \
	X(__vfprintf_chk, WRITE, OWN, fprintf, off_t, CALL)                                        \
	X(__printf_chk, WRITE, OWN, fprintf, off_t, CALL)                                          \
	X(__vprintf_chk, WRITE, OWN, fprintf, off_t, CALL)                                         \
	X(__dprintf_chk, WRITE, OWN, dprintf, off_t, CALL)                                         \
	X(__vdprintf_chk, WRITE, OWN, dprintf, off_t, CALL)                                        \
	X(puts, WRITE, OWN, fputs, off_t, CALL)                                                    \
	X(fputs, WRITE, OWN, fputs, off_t, CALL)                                                   \
	X(fputs_unlocked, WRITE, OWN, fputs, off_t, CALL)                                          \
	X(fgets, READ, OWN, fgets, off_t, CALL)                                                    \
	X(fgets_unlocked, READ, OWN, fgets, off_t, CALL)                                           \
	X(__fgets_chk, READ, OWN, fgets, off_t, CALL)                                              \
	X(__fgets_unlocked_chk, READ, OWN, fgets, off_t, CALL)                                     \
	X(getline, READ, OWN, getline, off_t, CALL)                                                \
	X(getdelim, READ, OWN, getdelim, off_t, CALL)                                              \
	X(__getdelim, READ, OWN, getdelim, off_t, CALL)                                            \
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
	X(putchar, WRITE, OWN, fputc, off_t, CHARS)                                                \
	X(putchar_unlocked, WRITE, OWN, fputc, off_t, CHARS)                                       \
	X(putw, WRITE, OWN, putw, off_t, CHARS)                                                    \
	X(fgetc, READ, FGETC, fgetc, off_t, CHARS)                                                 \
	X(fgetc_unlocked, READ, FGETC, fgetc, off_t, CHARS)                                        \
	X(getc, READ, FGETC, fgetc, off_t, CHARS)                                                  \
	X(getc_unlocked, READ, FGETC, fgetc, off_t, CHARS)                                         \
	X(_IO_getc, READ, FGETC, fgetc, off_t, CHARS)                                              \
	X(getchar, READ, OWN, fgetc, off_t, CHARS)                                                 \
	X(getchar_unlocked, READ, OWN, fgetc, off_t, CHARS)                                        \
	X(getw, READ, OWN, getw, off_t, CHARS)                                                     \
	X(ungetc, OTHER, OWN, ungetc, off_t, CHARS)

/* POSIX aio: wrap/aio.c */
#define SCI_AIO_FUNCTIONS(X)                                                                       \
	X(aio_read, OTHER, AIO, aio_read, aiocb, CALL)                                             \
	X(aio_read64, OTHER, AIO, aio_read, aiocb64, CALL)                                         \
	X(aio_write, OTHER, AIO, aio_write, aiocb, CALL)                                           \
	X(aio_write64, OTHER, AIO, aio_write, aiocb64, CALL)                                       \
	X(aio_fsync, OTHER, OWN, aio_fsync, aiocb, CALL)                                           \
	X(aio_fsync64, OTHER, OWN, aio_fsync, aiocb64, CALL)                                       \
	X(aio_return, OTHER, OWN, aio_return, aiocb, CALL)                                         \
	X(aio_return64, OTHER, OWN, aio_return, aiocb64, CALL)                                     \
	X(aio_suspend, OTHER, OWN, aio_suspend, aiocb, CALL)                                       \
	X(aio_suspend64, OTHER, OWN, aio_suspend, aiocb64, CALL)                                   \
	X(aio_cancel, OTHER, OWN, aio_cancel, aiocb, CALL)                                         \
	X(aio_cancel64, OTHER, OWN, aio_cancel, aiocb64, CALL)                                     \
	X(lio_listio, OTHER, OWN, lio_listio, aiocb, CALL)                                         \
	X(lio_listio64, OTHER, OWN, lio_listio, aiocb64, CALL)

/* names and attributes, on request: wrap/meta.c */
#define SCI_METADATA_FUNCTIONS(X)                                                                  \
	X(stat, OTHER, STAT, stat, stat, METADATA)                                                 \
	X(stat64, OTHER, STAT, stat, stat64, METADATA)                                             \
	X(lstat, OTHER, STAT, lstat, stat, METADATA)                                               \
	X(lstat64, OTHER, STAT, lstat, stat64, METADATA)                                           \
	X(fstat, OTHER, OWN, fstat, stat, METADATA)                                                \
	X(fstat64, OTHER, OWN, fstat, stat64, METADATA)                                            \
	X(fstatat, OTHER, OWN, fstatat, stat, METADATA)                                            \
	X(fstatat64, OTHER, OWN, fstatat, stat64, METADATA)                                        \
	X(__xstat, OTHER, XSTAT, stat, stat, METADATA)                                             \
	X(__xstat64, OTHER, XSTAT, stat, stat64, METADATA)                                         \
	X(__lxstat, OTHER, XSTAT, lstat, stat, METADATA)                                           \
	X(__lxstat64, OTHER, XSTAT, lstat, stat64, METADATA)                                       \
	X(__fxstat, OTHER, OWN, fstat, stat, METADATA)                                             \
	X(__fxstat64, OTHER, OWN, fstat, stat64, METADATA)                                         \
	X(statx, OTHER, OWN, statx, off_t, METADATA)                                               \
	X(access, OTHER, PATH_MODE, access, int, METADATA)                                         \
	X(rename, META, OWN, rename, off_t, METADATA)                                              \
	X(renameat, META, OWN, renameat, off_t, METADATA)                                          \
	X(renameat2, META, OWN, renameat2, unsigned, METADATA)                                     \
	X(unlink, META, PATH, unlink, off_t, METADATA)                                             \
	X(unlinkat, META, OWN, unlinkat, int, METADATA)                                            \
	X(remove, META, PATH, remove, off_t, METADATA)                                             \
	X(rmdir, META, PATH, rmdir, off_t, METADATA)                                               \
	X(mkdir, META, PATH_MODE, mkdir, mode_t, METADATA)                                         \
	X(mkdirat, META, OWN, mkdirat, mode_t, METADATA)                                           \
	X(link, META, OWN, link, off_t, METADATA)                                                  \
	X(linkat, META, OWN, linkat, int, METADATA)                                                \
	X(symlink, META, OWN, symlink, off_t, METADATA)                                            \
	X(symlinkat, META, OWN, symlinkat, off_t, METADATA)                                        \
	X(readlink, OTHER, OWN, readlink, off_t, METADATA)                                         \
	X(chmod, META, PATH_MODE, chmod, mode_t, METADATA)                                         \
	X(fchmod, META, OWN, fchmod, off_t, METADATA)                                              \
	X(fchmodat, META, OWN, fchmodat, off_t, METADATA)                                          \
	X(utime, META, OWN, utime, off_t, METADATA)                                                \
	X(utimes, META, OWN, utimes, off_t, METADATA)                                              \
	X(utimensat, META, OWN, utimensat, off_t, METADATA)                                        \
	X(futimens, META, OWN, futimens, off_t, METADATA)                                          \
	X(opendir, OPEN, OWN, opendir, off_t, METADATA)                                            \
	X(readdir, OTHER, OWN, readdir, dirent, METADATA)                                          \
	X(readdir64, OTHER, OWN, readdir, dirent64, METADATA)                                      \
	X(closedir, CLOSE, OWN, closedir, off_t, METADATA)

/* descriptors of other kinds, whose calls are recorded, not their making: wrap/descriptors.c */
#define SCI_MADE_FUNCTIONS(X)                                                                      \
	X(socket, OTHER, OWN, socket, off_t, NEVER)                                                \
	X(socketpair, OTHER, OWN, socketpair, off_t, NEVER)                                        \
	X(accept, OTHER, OWN, accept, off_t, NEVER)                                                \
	X(accept4, OTHER, OWN, accept4, off_t, NEVER)                                              \
	X(pipe, OTHER, OWN, pipe, off_t, NEVER)                                                    \
	X(pipe2, OTHER, OWN, pipe2, off_t, NEVER)                                                  \
	X(eventfd, OTHER, OWN, eventfd, unsigned, NEVER)                                           \
	X(epoll_create, OTHER, MADE_ONE, epoll_create, int, NEVER)                                 \
	X(epoll_create1, OTHER, MADE_ONE, epoll_create1, int, NEVER)                               \
	X(inotify_init, OTHER, OWN, inotify_init, off_t, NEVER)                                    \
	X(inotify_init1, OTHER, MADE_ONE, inotify_init1, int, NEVER)                               \
	X(timerfd_create, OTHER, OWN, timerfd_create, clockid_t, NEVER)                            \
	X(signalfd, OTHER, OWN, signalfd, off_t, NEVER)                                            \
	X(memfd_create, OTHER, OWN, memfd_create, off_t, NEVER)

/* programs that lock themselves in: wrap/confine.c */
#define SCI_CONFINE_FUNCTIONS(X) X(prctl, OTHER, OWN, prctl, off_t, NEVER)

/* libaio and liburing: wrap/queue.c. Last: such a library may come and go (real.c). */
#define SCI_QUEUE_FUNCTIONS(X)                                                                     \
	X(io_submit, OTHER, OWN, io_submit, off_t, CALL)                                           \
	X(io_getevents, OTHER, OWN, io_getevents, off_t, CALL)                                     \
	X(io_pgetevents, OTHER, OWN, io_pgetevents, off_t, CALL)                                   \
	X(io_uring_submit, OTHER, URING, io_uring_submit, off_t, CALL)                             \
	X(io_uring_submit_and_get_events, OTHER, URING, io_uring_submit_and_get_events, off_t,     \
	  CALL)                                                                                    \
	X(io_uring_get_events, OTHER, URING, io_uring_get_events, off_t, CALL)                     \
	X(io_uring_enter, OTHER, OWN, io_uring_enter, off_t, CALL)                                 \
	X(io_uring_enter2, OTHER, OWN, io_uring_enter, off_t, CALL)                                \
	X(io_uring_submit_and_wait, OTHER, OWN, io_uring_submit_and_wait, off_t, CALL)             \
	X(io_uring_submit_and_wait_timeout, OTHER, OWN, io_uring_submit_and_wait_timeout, off_t,   \
	  CALL)                                                                                    \
	X(io_uring_wait_cqes, OTHER, OWN, io_uring_wait_cqes, off_t, CALL)                         \
	X(io_uring_wait_cqe_timeout, OTHER, OWN, io_uring_wait_cqe_timeout, off_t, CALL)           \
	X(__io_uring_get_cqe, OTHER, OWN, __io_uring_get_cqe, off_t, CALL)

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
