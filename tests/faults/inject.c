/* Runs a command and lets the Nth of its calls that write fail: what a disk can do to a program. */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel asks us before each such call (seccomp's user notification), so that those inside
 * libc, of stdio and of other libraries are met, too, which a preloaded library is not asked about.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_MAX ((size_t)1 << 20)

/* What a call does, and where its descriptor is; of some only a part can fail by a disk. */
enum call_kind { WRITES, WRITES_VECTOR, ON_DESCRIPTOR, ON_NAME, OPENS, MAPS, CLOSES };
static const struct call {
	long number;
	const char *name;
	enum call_kind kind;
} calls[] = {
	{ SYS_write, "write", WRITES },
	{ SYS_pwrite64, "pwrite64", WRITES },
	{ SYS_writev, "writev", WRITES_VECTOR },
	{ SYS_pwritev, "pwritev", WRITES_VECTOR },
	{ SYS_ftruncate, "ftruncate", ON_DESCRIPTOR },
	{ SYS_fallocate, "fallocate", ON_DESCRIPTOR },
	{ SYS_fsync, "fsync", ON_DESCRIPTOR },
	{ SYS_fdatasync, "fdatasync", ON_DESCRIPTOR },
	{ SYS_copy_file_range, "copy_file_range", ON_NAME },
#ifdef SYS_rename
	{ SYS_rename, "rename", ON_NAME },
	{ SYS_mkdir, "mkdir", ON_NAME },
	{ SYS_link, "link", ON_NAME },
	{ SYS_symlink, "symlink", ON_NAME },
	{ SYS_unlink, "unlink", ON_NAME },
	{ SYS_rmdir, "rmdir", ON_NAME },
#endif
	{ SYS_renameat, "renameat", ON_NAME },
	{ SYS_renameat2, "renameat2", ON_NAME },
	{ SYS_mkdirat, "mkdirat", ON_NAME },
	{ SYS_linkat, "linkat", ON_NAME },
	{ SYS_symlinkat, "symlinkat", ON_NAME },
	{ SYS_unlinkat, "unlinkat", ON_NAME },
	{ SYS_openat, "openat", OPENS },
	{ SYS_mmap, "mmap", MAPS },
	{ SYS_close, "close", CLOSES },
};
enum { N_CALLS = sizeof(calls) / sizeof(*calls) };

static const struct fault {
	const char *name;
	int error; /* 0: none of the kernel's */
} faults[] = {
	{ "EIO", EIO },	      { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT }, { "EROFS", EROFS },
	{ "EMFILE", EMFILE }, { "short", 0 },	    { "kill", 0 },	  { "none", 0 },
};

static struct {
	const char *fault, *only, *report;
	int error;
	unsigned long at; /* which call, from 1; 0: none */
	bool onwards;	  /* and all later ones: a disk that is full stays so */
	unsigned long seen, injected;
	char first[32]; /* call that failed */
} state = { .fault = "none" };

static void die(const char *what)
{
	perror(what);
	exit(125);
}

/* ---- the command's side ---- */

static int install_filter(void)
{
	struct sock_filter filter[2 * N_CALLS + 4];
	struct sock_fprog program = { .filter = filter };
	size_t n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_CALLS; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned)calls[i].number,
							   (unsigned char)(N_CALLS - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static void send_descriptor(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	if (sendmsg(to, &message, 0) < 0)
		die("sendmsg");
}

static int receive_descriptor(int from)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	int fd;

	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) <= 0)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (!header)
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

static pid_t start(char **argv, int *listener)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		int fd = install_filter();

		if (fd < 0)
			_exit(126);
		/* it is closed by exec: none of the command's processes has it */
		send_descriptor(pair[1], fd);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(pair[1]);
	*listener = receive_descriptor(pair[0]);
	close(pair[0]);
	if (*listener < 0) {
		fputs("inject: the kernel has no seccomp notification\n", stderr);
		exit(125);
	}
	return pid;
}

/* ---- our side ---- */

static pid_t process_of(pid_t tid)
{
	char path[64], line[128];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (pid == 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "Tgid: %d", &pid);
	fclose(file);
	return pid;
}

static bool is_of_program(pid_t tid)
{
	char path[64], exe[4096];
	const char *name;
	ssize_t n;

	if (!state.only)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0)
		return false;
	exe[n] = 0;
	name = strrchr(exe, '/');
	name = name ? name + 1 : exe;
	return strcmp(name, state.only) == 0;
}

/* A descriptor that is a file, or its reader's pipe, and written to. */
static bool is_written_file(pid_t tid, int fd)
{
	char path[64], line[128];
	unsigned flags = 0;
	struct stat st;
	FILE *file;

	if (fd < 0 || fd == STDERR_FILENO)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	if (stat(path, &st) ||
	    !(S_ISREG(st.st_mode) || (S_ISFIFO(st.st_mode) && fd == STDOUT_FILENO)))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "flags: %o", &flags);
	fclose(file);
	return (flags & O_ACCMODE) != O_RDONLY;
}

static bool can_fail(const struct seccomp_notif *notice, const struct call *call)
{
	const __u64 *args = notice->data.args;
	pid_t tid = (pid_t)notice->pid;

	switch (call->kind) {
	case WRITES:
	case WRITES_VECTOR:
	case ON_DESCRIPTOR:
	case CLOSES:
		return is_written_file(tid, (int)args[0]);
	case OPENS:
		return (args[2] & O_CREAT) || (args[2] & O_TMPFILE) == O_TMPFILE;
	case MAPS:
		return (args[3] & MAP_TYPE) != MAP_PRIVATE && (args[2] & PROT_WRITE) &&
		       is_written_file(tid, (int)args[4]);
	case ON_NAME:
		return true;
	}
	return false;
}

/* Writes a part of what the call would, as a disk with little room does; what it gives, 0: all of
 * it. */
static ssize_t write_part(const struct seccomp_notif *notice, const struct call *call)
{
	const __u64 *args = notice->data.args;
	struct iovec theirs = { (void *)(uintptr_t)args[1], args[2] }, ours;
	pid_t tid = (pid_t)notice->pid;
	ssize_t n = 0;
	int pidfd, fd = -1;

	if (call->kind == WRITES_VECTOR) {
		struct iovec vector = { (void *)(uintptr_t)args[1], sizeof(theirs) };

		ours = (struct iovec){ &theirs, sizeof(theirs) };
		if (process_vm_readv(tid, &ours, 1, &vector, 1, 0) != (ssize_t)sizeof(theirs))
			return 0;
	}
	theirs.iov_len = theirs.iov_len / 2 < SHORT_MAX ? theirs.iov_len / 2 : SHORT_MAX;
	if (theirs.iov_len == 0)
		return 0;
	ours = (struct iovec){ malloc(theirs.iov_len), theirs.iov_len };
	pidfd = (int)syscall(SYS_pidfd_open, process_of(tid), 0);
	if (pidfd >= 0)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)args[0], 0);
	if (fd >= 0 && ours.iov_base &&
	    process_vm_readv(tid, &ours, 1, &theirs, 1, 0) == (ssize_t)theirs.iov_len)
		n = call->number == SYS_pwrite64 || call->number == SYS_pwritev
			    ? pwrite(fd, ours.iov_base, theirs.iov_len, (off_t)args[3])
			    : write(fd, ours.iov_base, theirs.iov_len);
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	free(ours.iov_base);
	return n > 0 ? n : 0;
}

/* What the call gives, if it is one to fail: into RESPONSE. */
static void decide(const struct seccomp_notif *notice, struct seccomp_notif_resp *response)
{
	const struct call *call = calls;
	bool parts = strcmp(state.fault, "short") == 0;

	response->id = notice->id;
	response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	while (call < calls + N_CALLS && call->number != notice->data.nr)
		call++;
	if (call == calls + N_CALLS || (parts && call->kind > WRITES_VECTOR) ||
	    !is_of_program((pid_t)notice->pid) || !can_fail(notice, call))
		return;
	state.seen++;
	if (!state.at || state.seen < state.at || (state.seen > state.at && !state.onwards))
		return;
	if (!state.injected++)
		snprintf(state.first, sizeof(state.first), "%s", call->name);
	if (parts) {
		response->val = write_part(notice, call);
		if (response->val > 0)
			response->flags = 0;
	} else if (strcmp(state.fault, "kill") == 0) {
		kill(process_of((pid_t)notice->pid), SIGKILL);
	} else {
		response->flags = 0;
		/* no disk refuses a mapping: memory does */
		response->error = call->kind == MAPS ? -ENOMEM : -state.error;
	}
}

/* Answers until the command's last process has ended. */
static void supervise(int listener)
{
	struct seccomp_notif_sizes sizes;
	struct seccomp_notif_resp *response;
	struct seccomp_notif *notice;
	struct pollfd waits = { .fd = listener, .events = POLLIN };

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes))
		die("seccomp");
	notice = calloc(1, sizes.seccomp_notif + sizeof(*notice));
	response = calloc(1, sizes.seccomp_notif_resp + sizeof(*response));
	if (!notice || !response)
		die("calloc");
	while (poll(&waits, 1, -1) >= 0 || errno == EINTR) {
		if (waits.revents & POLLHUP && !(waits.revents & POLLIN))
			break;
		memset(notice, 0, sizes.seccomp_notif);
		memset(response, 0, sizes.seccomp_notif_resp);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, notice))
			continue;
		decide(notice, response);
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response);
	}
	free(notice);
	free(response);
}

static void usage(void)
{
	fputs("usage: inject [-f EIO|ENOSPC|EDQUOT|EROFS|EMFILE|short|kill] [-n N] [-c (and all "
	      "later)] [-o PROGRAM] [-r REPORT] -- "
	      "COMMAND...\n",
	      stderr);
	exit(125);
}

static void parse(int argc, char **argv)
{
	int option;
	bool known = false;

	while ((option = getopt(argc, argv, "+f:n:co:r:")) != -1)
		switch (option) {
		case 'f':
			state.fault = optarg;
			break;
		case 'n':
			state.at = strtoul(optarg, NULL, 10);
			break;
		case 'c':
			state.onwards = true;
			break;
		case 'o':
			state.only = optarg;
			break;
		case 'r':
			state.report = optarg;
			break;
		default:
			usage();
		}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (strcmp(state.fault, faults[i].name) == 0) {
			state.error = faults[i].error;
			known = true;
		}
	if (!known || optind == argc)
		usage();
}

int main(int argc, char **argv)
{
	int listener, status;
	pid_t pid;

	parse(argc, argv);
	pid = start(argv + optind, &listener);
	supervise(listener);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (state.report) {
		FILE *file = fopen(state.report, "we");

		if (!file)
			die(state.report);
		fprintf(file, "%lu %lu %s\n", state.seen, state.injected,
			state.injected ? state.first : "-");
		fclose(file);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
