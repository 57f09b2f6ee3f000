/* Wrappers of MPI-IO: each call as a region around the POSIX calls that MPI makes for it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "eta-ext/format/record.h"
#include "files.h"
#include "functions.h"
#include "next.h"
#include "plugins/posixio/outer.h"

/*
 * Built without mpi.h, for every MPI: handles are pointers in one (Open MPI) and numbers in another
 * (MPICH), and are passed on as they came, in a register of their own.
 */
typedef uintptr_t handle;
typedef long long offset_t; /* MPI_Offset */

/* their prototypes are in mpi.h, with other types */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define MODE_SEQUENTIAL 256 /* of both */
/* No MPI was found behind us, which only a program without MPI can come to. */
#define NO_MPI 16 /* an error of any MPI */

/* Not there where libsci-posixio is not, or is the one of EZTrace: nothing is recorded then. */
#pragma weak sci_outer_begin
#pragma weak sci_outer_end
#pragma weak sci_outer_file

enum {
#define X(name, kind, shape, pointer) FN_##name,
	SCI_MPI_FUNCTIONS(X)
#undef X
		N_FUNCTIONS,
};

static const char *const function_names[N_FUNCTIONS] = {
#define X(name, kind, shape, pointer) "MPI_File_" #name,
	SCI_MPI_FUNCTIONS(X)
#undef X
};

static const unsigned char function_kinds[N_FUNCTIONS] = {
#define X(name, kind, shape, pointer) ETA_OP_##kind,
	SCI_MPI_FUNCTIONS(X)
#undef X
};

static const struct sci_outer_names names = { N_FUNCTIONS, function_names, function_kinds };
static void *functions[N_FUNCTIONS];

#define NEXT(fn) next_function(function_names[fn], &functions[fn])

/* One of MPI's own, that its I/O does not go through; NULL where this MPI has none. */
#define HELPER(name)                                                                               \
	({                                                                                         \
		static void *known_;                                                               \
                                                                                                   \
		next_function("PMPI_" #name, &known_);                                             \
	})

struct call {
	struct sci_outer outer;
	struct sci_outer_result result;
	handle fh;
	bool recorded;
	bool known;	 /* a file that is open */
	offset_t etypes; /* where, in units of the view; below 0: unknown */
	unsigned char status[128] __attribute__((aligned(16))); /* for who wants none */
};

static void begin(struct call *call, unsigned fn, const void *caller)
{
	call->result = (struct sci_outer_result){ .offset = ETA_OFFSET_UNKNOWN };
	call->known = false;
	call->etypes = -1;
	call->recorded = sci_outer_begin && sci_outer_end && sci_outer_file &&
			 sci_outer_begin(&call->outer, &names, fn, caller);
}

/*
 * Begins a call on FH. MPI is asked about handles alone that it has given, and about datatypes and
 * places once the call has succeeded: a wrong one is for the call itself to find, as what then
 * happens (an error handler, the end of the job) is to happen once.
 */
static void begin_on(struct call *call, unsigned fn, handle fh, bool own_pointer,
		     const void *caller)
{
	int (*position)(handle, offset_t *);
	struct open_file file;

	begin(call, fn, caller);
	call->fh = fh;
	if (!call->recorded || !open_files_find(fh, &file))
		return;
	call->known = true;
	call->result.file = file.id;
	if (!own_pointer || file.sequential)
		return;
	position = HELPER(File_get_position);
	if (position && position(fh, &call->etypes) != 0)
		call->etypes = -1;
}

static void end(struct call *call, int error)
{
	if (!call->recorded)
		return;
	if (error)
		call->result.ret = -EIO;
	sci_outer_end(&call->outer, &call->result);
}

/* Ends a call that is for COUNT of TYPE, of which STATUS (NULL: nothing) says how many were. */
static void end_transfer(struct call *call, int error, int count, handle type, void *status)
{
	int (*byte_offset)(handle, offset_t, offset_t *) = HELPER(File_get_byte_offset);
	int (*type_size)(handle, int *) = HELPER(Type_size);
	int (*get_count)(void *, handle, int *) = HELPER(Get_count);
	int size = 0, done = 0;
	offset_t at = 0;

	if (!call->recorded || error) {
		end(call, error);
		return;
	}
	if (call->known && call->etypes >= 0 && byte_offset &&
	    byte_offset(call->fh, call->etypes, &at) == 0)
		call->result.offset = at;
	if (count > 0 && type_size && type_size(type, &size) == 0 && size > 0)
		call->result.size = (uint64_t)count * (uint64_t)size;
	if (status)
		call->result.ret = (int64_t)call->result.size;
	/* below 0: the bytes are no whole number of the type */
	if (status && call->result.size && get_count && get_count(status, type, &done) == 0 &&
	    done >= 0 && done < count)
		call->result.ret = (int64_t)done * size;
	end(call, 0);
}

/* MPI_STATUS_IGNORE is no address: 0 or 1. */
static void *status_of(struct call *call, void *given)
{
	return call->recorded && (uintptr_t)given < 4096 ? call->status : given;
}

#define SHAPE_WRITTEN_OUT(name, pointer)
#define POINTER_OWN true
#define POINTER_NONE false

/*
 * Body of a wrapper: asks for the function behind it, and calls it with ARGS between what begins
 * and ends the record.
 */
#define AROUND(name, pointer, place, types, args, ending)                                          \
	int(*real) types = NEXT(FN_##name);                                                        \
	struct call call;                                                                          \
	int error;                                                                                 \
                                                                                                   \
	if (!real)                                                                                 \
		return NO_MPI;                                                                     \
	begin_on(&call, FN_##name, fh, POINTER_##pointer, CALLER);                                 \
	if (!POINTER_##pointer)                                                                    \
		call.etypes = place;                                                               \
	error = real args;                                                                         \
	ending;                                                                                    \
	return error

#define SHAPE_AT(name, pointer)                                                                    \
	EXPORT int MPI_File_##name(handle fh, offset_t offset, void *buffer, int count,            \
				   handle type, void *status)                                      \
	{                                                                                          \
		AROUND(name, pointer, offset, (handle, offset_t, void *, int, handle, void *),     \
		       (fh, offset, buffer, count, type, status = status_of(&call, status)),       \
		       end_transfer(&call, error, count, type, status));                           \
	}

#define SHAPE_HERE(name, pointer)                                                                  \
	EXPORT int MPI_File_##name(handle fh, void *buffer, int count, handle type, void *status)  \
	{                                                                                          \
		AROUND(name, pointer, -1, (handle, void *, int, handle, void *),                   \
		       (fh, buffer, count, type, status = status_of(&call, status)),               \
		       end_transfer(&call, error, count, type, status));                           \
	}

#define SHAPE_IAT(name, pointer)                                                                   \
	EXPORT int MPI_File_##name(handle fh, offset_t offset, void *buffer, int count,            \
				   handle type, void *request)                                     \
	{                                                                                          \
		AROUND(name, pointer, offset, (handle, offset_t, void *, int, handle, void *),     \
		       (fh, offset, buffer, count, type, request),                                 \
		       end_transfer(&call, error, count, type, NULL));                             \
	}

#define SHAPE_IHERE(name, pointer)                                                                 \
	EXPORT int MPI_File_##name(handle fh, void *buffer, int count, handle type, void *request) \
	{                                                                                          \
		AROUND(name, pointer, -1, (handle, void *, int, handle, void *),                   \
		       (fh, buffer, count, type, request),                                         \
		       end_transfer(&call, error, count, type, NULL));                             \
	}

#define SHAPE_BEGIN_AT(name, pointer)                                                              \
	EXPORT int MPI_File_##name(handle fh, offset_t offset, void *buffer, int count,            \
				   handle type)                                                    \
	{                                                                                          \
		AROUND(name, pointer, offset, (handle, offset_t, void *, int, handle),             \
		       (fh, offset, buffer, count, type),                                          \
		       end_transfer(&call, error, count, type, NULL));                             \
	}

#define SHAPE_BEGIN(name, pointer)                                                                 \
	EXPORT int MPI_File_##name(handle fh, void *buffer, int count, handle type)                \
	{                                                                                          \
		AROUND(name, pointer, -1, (handle, void *, int, handle),                           \
		       (fh, buffer, count, type), end_transfer(&call, error, count, type, NULL));  \
	}

#define SHAPE_END(name, pointer)                                                                   \
	EXPORT int MPI_File_##name(handle fh, void *buffer, void *status)                          \
	{                                                                                          \
		AROUND(name, pointer, -1, (handle, void *, void *), (fh, buffer, status),          \
		       end(&call, error));                                                         \
	}

#define SHAPE_LENGTH(name, pointer)                                                                \
	EXPORT int MPI_File_##name(handle fh, offset_t length)                                     \
	{                                                                                          \
		AROUND(name, pointer, -1, (handle, offset_t), (fh, length), end(&call, error));    \
	}

#define X(name, kind, shape, pointer) SHAPE_##shape(name, pointer)
SCI_MPI_FUNCTIONS(X)
#undef X

EXPORT int MPI_File_sync(handle fh)
{
	AROUND(sync, NONE, -1, (handle), (fh), end(&call, error));
}

EXPORT int MPI_File_set_view(handle fh, offset_t start, handle etype, handle filetype,
			     const char *representation, handle info)
{
	AROUND(set_view, NONE, -1, (handle, offset_t, handle, handle, const char *, handle),
	       (fh, start, etype, filetype, representation, info), end(&call, error));
}

/* The number of the file that MPI has opened as NAME, which may begin with "ufs:" and the like. */
static uint32_t file_id(const char *name)
{
	uint32_t id = sci_outer_file(name);
	const char *colon = id ? NULL : strchr(name, ':');

	return colon && !memchr(name, '/', (size_t)(colon - name)) ? sci_outer_file(colon + 1) : id;
}

EXPORT int MPI_File_open(handle comm, const char *name, int mode, handle info, void *fh)
{
	int (*real)(handle, const char *, int, handle, void *) = NEXT(FN_open);
	struct open_file file = { .sequential = mode & MODE_SEQUENTIAL };
	struct call call;
	int error;

	if (!real)
		return NO_MPI;
	begin(&call, FN_open, CALLER);
	error = real(comm, name, mode, info, fh);
	if (call.recorded && !error) {
		/* a pointer: all known handles of files are */
		memcpy(&file.handle, fh, sizeof(file.handle));
		file.id = call.result.file = file_id(name);
		open_files_add(file);
	}
	end(&call, error);
	return error;
}

EXPORT int MPI_File_close(void *fh)
{
	int (*real)(void *) = NEXT(FN_close);
	struct open_file file;
	struct call call;
	handle known;
	int error;

	if (!real)
		return NO_MPI;
	begin(&call, FN_close, CALLER);
	if (call.recorded && fh) {
		memcpy(&known, fh, sizeof(known));
		if (open_files_take(known, &file))
			call.result.file = file.id;
	}
	error = real(fh);
	end(&call, error);
	return error;
}

EXPORT int MPI_File_delete(const char *name, handle info)
{
	int (*real)(const char *, handle) = NEXT(FN_delete);
	struct call call;
	int error;

	if (!real)
		return NO_MPI;
	begin(&call, FN_delete, CALLER);
	error = real(name, info);
	end(&call, error);
	return error;
}
