/* Names of library calls that are I/O, as user-level tracers write them for regions. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_IO_FUNCTIONS_H
#define ETA_IO_FUNCTIONS_H

/* One X a line would be pages. */
/* clang-format off */

/*
 * X(name): the union of what EZTrace, Score-P, Darshan, Recorder, dftracer and our own tracer call
 * I/O. Calls that only start, wait for or end a process are not in it: their time is not I/O.
 */
#define ETA_IO_FUNCTIONS(X)                                                                        \
	ETA_IO_DESCRIPTOR(X)                                                                       \
	ETA_IO_STREAM(X)                                                                           \
	ETA_IO_ASYNC(X)                                                                            \
	ETA_IO_METADATA(X)                                                                         \
	ETA_IO_MPI(X)

/* POSIX and Linux calls on descriptors */
#define ETA_IO_DESCRIPTOR(X)                                                                       \
	X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64)                                \
	X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2)                                    \
	X(mkstemp) X(mkstemp64) X(mkostemp) X(mkostemp64) X(mkstemps) X(mkstemps64)                \
	X(mkostemps) X(mkostemps64) X(tmpfile) X(tmpfile64)                                        \
	X(close) X(close_range) X(closefrom) X(fcloseall)                                          \
	X(read) X(write) X(__read_chk)                                                             \
	X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) X(pwrite) X(pwrite64)                  \
	X(readv) X(writev) X(preadv) X(preadv64) X(preadv2) X(preadv64v2)                          \
	X(pwritev) X(pwritev64) X(pwritev2) X(pwritev64v2)                                         \
	X(lseek) X(lseek64) X(dup) X(dup2) X(dup3) X(fcntl) X(fcntl64) X(flock) X(lockf)           \
	X(lockf64) X(fsync) X(fdatasync) X(sync) X(syncfs) X(sync_file_range)                      \
	X(truncate) X(truncate64) X(ftruncate) X(ftruncate64) X(fallocate) X(fallocate64)          \
	X(posix_fallocate) X(posix_fallocate64) X(posix_fadvise) X(posix_fadvise64) X(readahead)   \
	X(mmap) X(mmap64) X(munmap) X(msync) X(madvise)                                            \
	X(copy_file_range) X(sendfile) X(sendfile64) X(splice) X(tee) X(vmsplice)

/* stdio */
#define ETA_IO_STREAM(X)                                                                           \
	X(fopen) X(fopen64) X(fdopen) X(freopen) X(freopen64) X(fclose)                            \
	X(fread) X(fread_unlocked) X(__fread_chk) X(__fread_unlocked_chk)                          \
	X(fwrite) X(fwrite_unlocked)                                                               \
	X(fseek) X(fseeko) X(fseeko64) X(rewind) X(fgetpos) X(fgetpos64) X(fsetpos) X(fsetpos64)   \
	X(ftell) X(ftello) X(ftello64) X(fflush) X(fflush_unlocked) X(setvbuf) X(setbuf)           \
	X(fprintf) X(vfprintf) X(printf) X(vprintf) X(dprintf) X(vdprintf)                         \
	X(__fprintf_chk) X(__vfprintf_chk) X(__printf_chk) X(__vprintf_chk)                        \
	X(__dprintf_chk) X(__vdprintf_chk)                                                         \
	X(puts) X(fputs) X(fputs_unlocked) X(fputc) X(fputc_unlocked) X(putc) X(putc_unlocked)     \
	X(putchar) X(putchar_unlocked) X(putw) X(_IO_putc)                                         \
	X(fgets) X(fgets_unlocked) X(__fgets_chk) X(__fgets_unlocked_chk)                          \
	X(fgetc) X(fgetc_unlocked) X(getc) X(getc_unlocked) X(getchar) X(getchar_unlocked)         \
	X(getw) X(_IO_getc) X(ungetc) X(getline) X(getdelim) X(__getdelim)                         \
	X(fscanf) X(vfscanf) X(scanf) X(vscanf)                                                    \
	X(__isoc99_fscanf) X(__isoc99_vfscanf) X(__isoc99_scanf) X(__isoc99_vscanf)                \
	X(__isoc23_fscanf) X(__isoc23_vfscanf) X(__isoc23_scanf) X(__isoc23_vscanf)

/* POSIX aio, libaio, liburing */
#define ETA_IO_ASYNC(X)                                                                            \
	X(aio_read) X(aio_read64) X(aio_write) X(aio_write64) X(aio_fsync) X(aio_fsync64)          \
	X(aio_error) X(aio_error64) X(aio_return) X(aio_return64)                                  \
	X(aio_suspend) X(aio_suspend64) X(aio_cancel) X(aio_cancel64)                              \
	X(lio_listio) X(lio_listio64)                                                              \
	X(io_setup) X(io_destroy) X(io_submit) X(io_getevents) X(io_pgetevents) X(io_cancel)       \
	X(io_uring_submit) X(io_uring_submit_and_wait) X(io_uring_wait_cqe)                        \
	X(io_uring_wait_cqes) X(io_uring_enter) X(io_uring_submit_and_wait_timeout)                \
	X(io_uring_wait_cqe_timeout) X(__io_uring_get_cqe)

/* calls that look at or change names and attributes */
#define ETA_IO_METADATA(X)                                                                         \
	X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(fstatat) X(fstatat64)          \
	X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64) X(__fxstat) X(__fxstat64)                \
	X(__fxstatat) X(__fxstatat64) X(statx) X(statfs) X(statfs64) X(fstatfs) X(fstatfs64)       \
	X(statvfs) X(statvfs64) X(fstatvfs) X(fstatvfs64) X(access) X(faccessat) X(euidaccess)     \
	X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(remove)                         \
	X(mkdir) X(mkdirat) X(rmdir) X(mknod) X(mknodat) X(mkfifo) X(mkfifoat)                     \
	X(opendir) X(fdopendir) X(readdir) X(readdir64) X(closedir) X(rewinddir) X(seekdir)        \
	X(telldir) X(scandir) X(scandir64) X(getdents64)                                           \
	X(link) X(linkat) X(symlink) X(symlinkat) X(readlink) X(readlinkat) X(realpath)            \
	X(chmod) X(fchmod) X(fchmodat) X(chown) X(fchown) X(lchown) X(fchownat)                    \
	X(utime) X(utimes) X(futimes) X(lutimes) X(futimens) X(utimensat)

/* MPI-IO */
#define ETA_IO_MPI(X)                                                                              \
	X(MPI_File_open) X(MPI_File_close) X(MPI_File_delete) X(MPI_File_sync)                     \
	X(MPI_File_set_view) X(MPI_File_set_size) X(MPI_File_preallocate)                          \
	X(MPI_File_seek) X(MPI_File_seek_shared)                                                   \
	X(MPI_File_read) X(MPI_File_read_all) X(MPI_File_read_all_begin)                           \
	X(MPI_File_read_all_end) X(MPI_File_read_at) X(MPI_File_read_at_all)                       \
	X(MPI_File_read_at_all_begin) X(MPI_File_read_at_all_end) X(MPI_File_read_ordered)         \
	X(MPI_File_read_ordered_begin) X(MPI_File_read_ordered_end) X(MPI_File_read_shared)        \
	X(MPI_File_write) X(MPI_File_write_all) X(MPI_File_write_all_begin)                        \
	X(MPI_File_write_all_end) X(MPI_File_write_at) X(MPI_File_write_at_all)                    \
	X(MPI_File_write_at_all_begin) X(MPI_File_write_at_all_end) X(MPI_File_write_ordered)      \
	X(MPI_File_write_ordered_begin) X(MPI_File_write_ordered_end) X(MPI_File_write_shared)     \
	X(MPI_File_iread) X(MPI_File_iread_all) X(MPI_File_iread_at) X(MPI_File_iread_at_all)      \
	X(MPI_File_iread_shared) X(MPI_File_iwrite) X(MPI_File_iwrite_all)                         \
	X(MPI_File_iwrite_at) X(MPI_File_iwrite_at_all) X(MPI_File_iwrite_shared)

/* clang-format on */

#endif
