/* System calls that the kernel's tracer records only where they waited: on names, on mappings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_NAME_CALLS_H
#define ETA_NAME_CALLS_H

/*
 * X(name, kind, shape): kind as in enum eta_op_kind; NAME, or FILE_MAP: of a file, if it has one.
 * One that did not wait is not in the trace, so that it costs nothing: whether it is there says
 * nothing about the path a library call took.
 */
#define ETA_NAME_CALLS(X)                                                                          \
	X(unlink, META, NAME)                                                                      \
	X(unlinkat, META, NAME)                                                                    \
	X(rmdir, META, NAME)                                                                       \
	X(rename, META, NAME)                                                                      \
	X(renameat, META, NAME)                                                                    \
	X(renameat2, META, NAME)                                                                   \
	X(mkdir, META, NAME)                                                                       \
	X(mkdirat, META, NAME)                                                                     \
	X(mknod, META, NAME)                                                                       \
	X(mknodat, META, NAME)                                                                     \
	X(link, META, NAME)                                                                        \
	X(linkat, META, NAME)                                                                      \
	X(symlink, META, NAME)                                                                     \
	X(symlinkat, META, NAME)                                                                   \
	X(truncate, META, NAME)                                                                    \
	X(chmod, META, NAME)                                                                       \
	X(fchmod, META, NAME)                                                                      \
	X(fchmodat, META, NAME)                                                                    \
	X(chown, META, NAME)                                                                       \
	X(lchown, META, NAME)                                                                      \
	X(fchown, META, NAME)                                                                      \
	X(fchownat, META, NAME)                                                                    \
	X(utimensat, META, NAME)                                                                   \
	X(setxattr, META, NAME)                                                                    \
	X(fsetxattr, META, NAME)                                                                   \
	X(lsetxattr, META, NAME)                                                                   \
	X(removexattr, META, NAME)                                                                 \
	X(lremovexattr, META, NAME)                                                                \
	X(fremovexattr, META, NAME)                                                                \
	X(stat, OTHER, NAME)                                                                       \
	X(lstat, OTHER, NAME)                                                                      \
	X(fstat, OTHER, NAME)                                                                      \
	X(newfstatat, OTHER, NAME)                                                                 \
	X(statx, OTHER, NAME)                                                                      \
	X(access, OTHER, NAME)                                                                     \
	X(faccessat, OTHER, NAME)                                                                  \
	X(faccessat2, OTHER, NAME)                                                                 \
	X(readlink, OTHER, NAME)                                                                   \
	X(readlinkat, OTHER, NAME)                                                                 \
	X(getxattr, OTHER, NAME)                                                                   \
	X(getdents64, OTHER, NAME)                                                                 \
	X(mmap, OTHER, FILE_MAP)                                                                   \
	X(munmap, OTHER, NAME)                                                                     \
	X(mremap, OTHER, NAME)                                                                     \
	X(mprotect, OTHER, NAME)                                                                   \
	X(lgetxattr, OTHER, NAME)                                                                  \
	X(fgetxattr, OTHER, NAME)                                                                  \
	X(listxattr, OTHER, NAME)                                                                  \
	X(llistxattr, OTHER, NAME)                                                                 \
	X(flistxattr, OTHER, NAME)                                                                 \
	X(statfs, OTHER, NAME)                                                                     \
	X(fstatfs, OTHER, NAME)                                                                    \
	X(chdir, OTHER, NAME)                                                                      \
	X(fchdir, OTHER, NAME)                                                                     \
	X(getdents, OTHER, NAME)                                                                   \
	X(execve, OTHER, NAME)                                                                     \
	X(execveat, OTHER, NAME)                                                                   \
	X(name_to_handle_at, OTHER, NAME)                                                          \
	X(open_by_handle_at, OTHER, NAME)                                                          \
	X(inotify_add_watch, OTHER, NAME)                                                          \
	X(mount, OTHER, NAME)                                                                      \
	X(umount2, OTHER, NAME)                                                                    \
	X(mlock, OTHER, NAME)                                                                      \
	X(mlock2, OTHER, NAME)                                                                     \
	X(mlockall, OTHER, NAME)                                                                   \
	X(madvise, OTHER, NAME)                                                                    \
	X(process_madvise, OTHER, NAME)

#endif
