/* Memory of libotf2's buffers in an EZTrace archive: one chunk for each, used again and again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "eztrace-defs.h"

/*
 * Left to itself libotf2 gives a chunk back when it was written and takes a new one from the
 * system, whose pages all fault. A buffer that gets no second chunk is written, and then goes on
 * with the first.
 */
struct buffer {
	void *chunk;
	size_t bytes;
	bool used;
};

static void *chunk_allocate(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
			    uint64_t bytes)
{
	struct buffer *buffer = *data;

	(void)arg;
	(void)type;
	(void)location;
	if (!buffer) {
		buffer = calloc(1, sizeof(*buffer));
		if (!buffer)
			return NULL;
		*data = buffer;
	}
	if (buffer->used)
		return NULL;
	if (!buffer->chunk) {
		void *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		if (chunk == MAP_FAILED)
			return NULL;
		buffer->chunk = chunk;
		buffer->bytes = bytes;
	}
	buffer->used = true;
	return buffer->chunk;
}

static void chunk_free_all(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
			   bool final)
{
	struct buffer *buffer = *data;

	(void)arg;
	(void)type;
	(void)location;
	if (!buffer)
		return;
	buffer->used = false;
	if (!final)
		return;
	if (buffer->chunk)
		munmap(buffer->chunk, buffer->bytes);
	free(buffer);
	*data = NULL;
}

/*
 * What leaves a chunk libotf2 copies to a buffer of 4 MiB that each file has besides, for as long
 * as its thread lives; no option makes that smaller. But it asks malloc for it in one place, and
 * where it gets none it writes to the file at once. So that place gets none: the pointer to malloc
 * in libotf2's own table leads here.
 */
static struct {
	uintptr_t at;
	size_t bytes;
} file_write; /* OTF2_File_Write */

static void *allocate(size_t bytes)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	return caller - file_write.at < file_write.bytes ? NULL : malloc(bytes);
}

/* Where library MAP keeps the address of the function NAME of another; NULL: nowhere writable. */
static void **function_slot(const struct link_map *map, const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *slots = NULL;
	const char *strings = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_JMPREL)
			slots = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
		/* linked so that the table is not written again, or has another form */
		else if ((d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) ||
			 d->d_tag == DT_BIND_NOW ||
			 (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_BIND_NOW)) ||
			 (d->d_tag == DT_FLAGS_1 && (d->d_un.d_val & DF_1_NOW)))
			return NULL;
	}
	for (size_t i = 0; symbols && strings && slots && i < bytes / sizeof(*slots); i++)
		if (strcmp(strings + symbols[ELF64_R_SYM(slots[i].r_info)].st_name, name) == 0)
			return (void **)(map->l_addr + slots[i].r_offset);
	return NULL;
}

static void write_at_once(void)
{
	void *function = dlsym(RTLD_NEXT, "OTF2_File_Write"), **slot;
	const ElfW(Sym) *symbol = NULL;
	struct link_map *map = NULL;
	Dl_info info;

	if (!function || !dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	    !dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return;
	file_write.at = (uintptr_t)function;
	file_write.bytes = symbol->st_size;
	slot = function_slot(map, "malloc");
	if (slot)
		__atomic_store_n(slot, (void *)allocate, __ATOMIC_RELAXED);
}

void eztrace_memory(OTF2_Archive *archive)
{
	static const OTF2_MemoryCallbacks callbacks = { chunk_allocate, chunk_free_all };

	OTF2_Archive_SetMemoryCallbacks(archive, &callbacks, NULL);
	write_at_once();
}
