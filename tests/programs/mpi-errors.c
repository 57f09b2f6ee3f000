/* Calls of MPI-IO that fail, and those that leave a request or no status: prints what each gives.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* the class: the text of an error names what differs between runs */
static void tell(const char *what, int error)
{
	int class = MPI_SUCCESS;

	if (error != MPI_SUCCESS)
		MPI_Error_class(error, &class);
	printf("%s %d\n", what, class);
}

static void transfers(MPI_File file)
{
	char bytes[100] = "";
	MPI_Request request;
	MPI_Status status;
	int n;

	tell("write", MPI_File_write(file, bytes, 100, MPI_BYTE, &status));
	MPI_Get_count(&status, MPI_BYTE, &n);
	printf("written %d\n", n);
	tell("read at the end", MPI_File_read_at(file, 60, bytes, 100, MPI_BYTE, &status));
	MPI_Get_count(&status, MPI_BYTE, &n);
	printf("read %d\n", n);
	tell("read without status",
	     MPI_File_read_at(file, 60, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
	tell("iwrite", MPI_File_iwrite_at(file, 100, bytes, 50, MPI_BYTE, &request));
	tell("wait", MPI_Wait(&request, &status));
	MPI_Get_count(&status, MPI_BYTE, &n);
	printf("written %d\n", n);
	tell("begin", MPI_File_write_all_begin(file, bytes, 10, MPI_BYTE));
	tell("end", MPI_File_write_all_end(file, bytes, &status));
	tell("no type", MPI_File_write(file, bytes, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
	tell("a count below 0", MPI_File_write(file, bytes, -1, MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
	char bytes[1] = "";
	MPI_File file;

	if (argc != 2)
		return 2;
	MPI_Init(NULL, NULL);
	tell("not there",
	     MPI_File_open(MPI_COMM_SELF, "not/there", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
	tell("open", MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
				   MPI_INFO_NULL, &file));
	transfers(file);
	tell("close", MPI_File_close(&file));
	printf("closed %d\n", file == MPI_FILE_NULL);
	tell("no file", MPI_File_write(MPI_FILE_NULL, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE));
	tell("read only",
	     MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
	tell("write", MPI_File_write(file, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE));
	/* neither closed nor finalized */
	fflush(stdout);
	_Exit(3);
}
