/* The usual ways of an MPI job to write a file: all ranks into one, together or each alone, or each
 * its own. */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   mpicc -o mpi-io mpi-io.c
 *   mpirun -n 4 sci-record -o job -- ./mpi-io collective data
 *
 * Ways: collective (pieces of all ranks alternate: few ranks write for all), independent (each rank
 * its part of one file), own (a file for each rank).
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 16 << 10, PIECES = 16 };

static void check(int error, const char *what)
{
	if (error == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpi-io: %s: error %d\n", what, error);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	const char *way = argc == 3 ? argv[1] : "";
	const int together = strcmp(way, "collective") == 0, own = strcmp(way, "own") == 0;
	static char bytes[PIECE], again[PIECE], name[4096];
	MPI_Comm comm;
	MPI_File file;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!together && !own && strcmp(way, "independent") != 0) {
		if (rank == 0)
			fprintf(stderr, "usage: mpi-io collective|independent|own FILE\n");
		MPI_Finalize();
		return 2;
	}
	memset(bytes, 'a' + rank % 26, PIECE);
	comm = own ? MPI_COMM_SELF : MPI_COMM_WORLD;
	snprintf(name, sizeof(name), own ? "%s.%d" : "%s", argv[2], rank);
	check(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
	      name);
	for (int i = 0; i < PIECES; i++) {
		MPI_Offset at = own ? i : together ? i * ranks + rank : rank * PIECES + i;

		at *= PIECE;
		if (together)
			check(MPI_File_write_at_all(file, at, bytes, PIECE, MPI_BYTE,
						    MPI_STATUS_IGNORE),
			      name);
		else
			check(MPI_File_write_at(file, at, bytes, PIECE, MPI_BYTE,
						MPI_STATUS_IGNORE),
			      name);
	}
	check(MPI_File_sync(file), name);
	/* the first piece back, by the file pointer in units of a view */
	check(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), name);
	check(MPI_File_seek(file,
			    (own	? 0
			     : together ? rank
					: rank * PIECES) *
				    (PIECE / 4),
			    MPI_SEEK_SET),
	      name);
	check(MPI_File_read(file, again, PIECE / 4, MPI_INT, MPI_STATUS_IGNORE), name);
	if (memcmp(bytes, again, PIECE) != 0)
		check(1, "other bytes were read");
	check(MPI_File_close(&file), name);
	MPI_Finalize();
	return 0;
}
