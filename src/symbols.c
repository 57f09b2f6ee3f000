/* Names for addresses, by libdwfl of elfutils. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "symbols.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module's file, open as long as its names are in use. */
struct image {
	struct image *next;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: nothing to be known */
	uint64_t bias;	     /* of the addresses libdwfl gives it */
	const char *path;
	const char *build_id;
};

struct symbols {
	struct image *images;
};

static char *no_debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &no_debuginfo_path,
};

struct symbols *symbols_new(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *symbols)
{
	struct image *next;

	if (!symbols)
		return;
	for (struct image *i = symbols->images; i; i = next) {
		next = i->next;
		if (i->dwfl)
			dwfl_end(i->dwfl);
		free(i);
	}
	free(symbols);
}

/* Is the file that MODULE was made from the one that was traced? */
static bool is_traced_file(Dwfl_Module *module, const char *build_id)
{
	const unsigned char *bytes;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &bytes, &at);
	char text[3];

	/* without an id there is nothing to compare */
	if (!*build_id)
		return true;
	if (n <= 0 || (size_t)n * 2 != strlen(build_id))
		return false;
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%02x", bytes[i]);
		if (memcmp(text, build_id + 2 * (size_t)i, 2) != 0)
			return false;
	}
	return true;
}

static void image_load(struct image *image)
{
	Dwfl_Module *module;

	image->dwfl = dwfl_begin(&callbacks);
	if (!image->dwfl)
		return;
	module = dwfl_report_offline(image->dwfl, image->path, image->path, -1);
	dwfl_report_end(image->dwfl, NULL, NULL);
	if (!module) {
		eta_warn("%s: no names for its addresses: %s", image->path, dwfl_errmsg(-1));
		return;
	}
	if (!dwfl_module_getelf(module, &image->bias))
		return;
	if (!is_traced_file(module, image->build_id)) {
		eta_warn("%s: is not the file that was traced (build id), so its addresses have no "
			 "names",
			 image->path);
		return;
	}
	image->module = module;
}

static struct image *image_of(struct symbols *symbols, const struct eta_module *module)
{
	struct image *image;

	for (image = symbols->images; image; image = image->next)
		if (strcmp(image->path, module->path) == 0 &&
		    strcmp(image->build_id, module->build_id) == 0)
			return image;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	image->path = module->path;
	image->build_id = module->build_id;
	image->next = symbols->images;
	symbols->images = image;
	/* the kernel's own has no file */
	if (image->path[0] == '/')
		image_load(image);
	return image;
}

/* The innermost function of the source, also one that was inlined; else what the symbols say. */
static const char *function_at(Dwfl_Module *module, Dwarf_Addr address)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
	int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	const char *name = NULL;

	for (int i = 0; i < n && !name; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			name = dwarf_diename(&scopes[i]);
	}
	free(scopes);
	return name ? name : dwfl_module_addrname(module, address);
}

static void find_one(struct symbols *symbols, const struct eta_defs *defs, struct code_place *place)
{
	struct image *image =
		place->module == ETA_NONE ? NULL : image_of(symbols, &defs->modules[place->module]);
	const char *function, *file;
	Dwarf_Addr address;
	Dwfl_Line *line;
	int number = 0;

	if (!image || !image->module)
		return;
	/* the call, and not the line that it returns to */
	address = image->bias + place->offset - 1;
	function = function_at(image->module, address);
	line = dwfl_module_getsrc(image->module, address);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	place->function = function ? function : "";
	if (file && number > 0) {
		place->file = file;
		place->line = (unsigned)number;
	}
}

void symbols_find(struct symbols *symbols, struct analysis *a, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < a->n_callsites; i++) {
		find_one(symbols, a->defs, &a->callsites[i].place);
		find_one(symbols, a->defs, &a->callsites[i].from);
	}
}

#else

struct symbols *symbols_new(void)
{
	return NULL;
}

void symbols_free(struct symbols *symbols)
{
	(void)symbols;
}

void symbols_find(struct symbols *symbols, struct analysis *a, uint32_t n)
{
	(void)symbols;
	(void)a;
	(void)n;
	eta_note("built without libdw: call sites have no function and line (install libdw-dev and "
		 "build again)");
}

#endif
