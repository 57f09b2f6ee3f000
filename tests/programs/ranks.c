/* Each rank of an MPI program writes a file of its own, in step with the others. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 10

int main(int argc, char **argv)
{
	const char bytes[64] = "";
	char name[64];
	int rank, fd;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "rank%d", rank);
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	for (int i = 0; i < ROUNDS; i++) {
		/* as many bytes as no other rank writes */
		if (write(fd, bytes, (size_t)(41 + rank)) < 0)
			err(1, "%s", name);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	close(fd);
	MPI_Finalize();
	return 0;
}
