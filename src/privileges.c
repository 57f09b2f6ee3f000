/* Who the program runs as, which rights the tracer keeps, and whom it may trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"

#ifndef CAP_PERFMON /* kernel headers before 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#define BIT(capability) (1ULL << (capability))
/* to read counters and rings, to start and end probes; to have a CPU before the rings are full */
#define RIGHTS_PROBES (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_NICE))
/* as root: files in other users' folders, signals passed on to a program that became another */
#define RIGHTS_ROOT (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_KILL))

struct rights {
	uint64_t effective, permitted, inheritable;
};

static int rights_get(struct rights *rights)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	rights->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	rights->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	rights->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static int rights_set(const struct rights *rights)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ (uint32_t)rights->effective, (uint32_t)rights->permitted,
		  (uint32_t)rights->inheritable },
		{ (uint32_t)(rights->effective >> 32), (uint32_t)(rights->permitted >> 32),
		  (uint32_t)(rights->inheritable >> 32) },
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* ---- who ---- */

static const struct passwd *find_user(const char *text)
{
	const struct passwd *user = getpwnam(text);
	unsigned long uid;
	char *end;

	if (user || !*text)
		return user;
	errno = 0;
	uid = strtoul(text, &end, 10);
	return errno || *end || text[0] == '-' || uid > UINT32_MAX - 1 ? NULL
								       : getpwuid((uid_t)uid);
}

int identity_choose(struct identity *identity, const char *run_as)
{
	/* the variable says nothing where others could have set it */
	const char *caller = geteuid() == 0 && getuid() == 0 ? getenv("SUDO_UID") : NULL;
	const struct passwd *user;

	memset(identity, 0, sizeof(*identity));
	if (!run_as && !caller)
		return 0;
	user = find_user(run_as ? run_as : caller);
	if (!user) {
		eta_error("%s: no such user (--run-as names who the program runs as)",
			  run_as ? run_as : caller);
		return -ENOENT;
	}
	if (user->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0) {
		eta_error("--run-as=%s: only root may run a program as another user", run_as);
		return -EPERM;
	}
	identity->changes = true;
	identity->uid = user->pw_uid;
	identity->gid = user->pw_gid;
	snprintf(identity->name, sizeof(identity->name), "%s", user->pw_name);
	snprintf(identity->home, sizeof(identity->home), "%s", user->pw_dir);
	return 0;
}

int identity_files(const struct identity *identity)
{
	int rc = 0;

	if (!identity->changes)
		return 0;
	if (initgroups(identity->name, identity->gid))
		rc = -errno;
	setfsgid(identity->gid);
	setfsuid(identity->uid);
	/* they say what was before, so ask again */
	if (rc == 0 && ((uid_t)setfsuid((uid_t)-1) != identity->uid ||
			(gid_t)setfsgid((gid_t)-1) != identity->gid))
		rc = -EPERM;
	if (rc)
		eta_error("files cannot be made as user %s (%s)", identity->name, strerror(-rc));
	return rc;
}

static int become(const struct identity *identity)
{
	if (initgroups(identity->name, identity->gid) ||
	    setresgid(identity->gid, identity->gid, identity->gid) ||
	    setresuid(identity->uid, identity->uid, identity->uid))
		return -errno;
	return 0;
}

int identity_take(const struct identity *identity)
{
	int rc;

	if (!identity->changes)
		return 0;
	rc = become(identity);
	if (rc)
		return rc;
	if (setenv("HOME", identity->home, 1) || setenv("USER", identity->name, 1) ||
	    setenv("LOGNAME", identity->name, 1))
		return -ENOMEM;
	return 0;
}

/* ---- the tracer's own rights ---- */

int privileges_drop(const struct identity *identity)
{
	uint64_t kept = RIGHTS_PROBES | (geteuid() == 0 && !identity->changes ? RIGHTS_ROOT : 0);
	struct rights rights;
	int rc = 0;

	if (identity->changes) {
		if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
			rc = -errno;
		if (rc == 0)
			rc = become(identity);
	}
	if (rc == 0)
		rc = rights_get(&rights);
	if (rc == 0) {
		rights.effective = rights.permitted = rights.permitted & kept;
		rights.inheritable = 0;
		rc = rights_set(&rights);
	}
	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = -errno;
	if (rc)
		eta_error("the tracer cannot drop its rights (%s)", strerror(-rc));
	return rc;
}

/* ---- whom ---- */

/* The file of this program gave it rights that its caller has not. */
static bool is_elevated(void)
{
	return getauxval(AT_SECURE) != 0;
}

int authority_get(struct authority *authority)
{
	struct rights rights;
	int rc = rights_get(&rights);

	memset(authority, 0, sizeof(*authority));
	if (rc)
		return rc;
	if (is_elevated()) {
		authority->everyone = authority->any_process = getuid() == 0;
		authority->rights = getuid() == 0 ? ~0ULL : 0;
		return 0;
	}
	authority->everyone = geteuid() == 0 || rights.effective & BIT(CAP_SYS_ADMIN);
	authority->any_process = authority->everyone || rights.effective & BIT(CAP_SYS_PTRACE);
	authority->rights = rights.permitted;
	return 0;
}

int authority_over(pid_t pid)
{
	struct rights before, lowered;
	char path[64], cwd[16];
	int rc = rights_get(&before);

	if (rc)
		return rc;
	lowered = before;
	if (is_elevated() && getuid() != 0) {
		lowered.effective = 0;
		setfsuid(getuid());
		rc = rights_set(&lowered);
		if (rc)
			return rc;
	}
	/* readable for those who may debug the process */
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	if (readlink(path, cwd, sizeof(cwd)) < 0)
		rc = -errno;
	if (lowered.effective != before.effective) {
		setfsuid(geteuid());
		if (rights_set(&before))
			rc = -EPERM;
	}
	return rc;
}
