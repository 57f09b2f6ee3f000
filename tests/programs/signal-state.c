/* Prints what a program is started with of signals: blocked, ignored, pending, at its parent's
 * death. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

int main(void)
{
	sigset_t blocked, pending;
	int of_death = -1;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	sigpending(&pending);
	prctl(PR_GET_PDEATHSIG, &of_death);
	printf("death %d\n", of_death);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action = { .sa_handler = SIG_DFL };

		if (sigaction(sig, NULL, &action) == 0)
			printf("%d:%s%s%s\n", sig, action.sa_handler == SIG_DFL ? "" : " ignored",
			       sigismember(&blocked, sig) == 1 ? " blocked" : "",
			       sigismember(&pending, sig) == 1 ? " pending" : "");
	}
	return 0;
}
