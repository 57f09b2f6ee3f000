/* Inside of the OTF2 source: definitions as they are stored, and what its cursors look up. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SOURCE_OTF2_H
#define ETA_SOURCE_OTF2_H

#include "eta-ext/base/array.h"
#include "eta-ext/base/clocks.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/trace/source.h"

/* A growing array; PUSH gives false without memory. */
#define VECTOR(type)                                                                               \
	struct {                                                                                   \
		type *v;                                                                           \
		uint32_t n, room;                                                                  \
	}
#define PUSH(vector, ...)                                                                          \
	(ARRAY_FITS((vector)->v, (vector)->n + 1, (vector)->room) &&                               \
	 ((vector)->v[(vector)->n++] = (__typeof__(*(vector)->v))__VA_ARGS__, true))

/*
 * From OTF2 references, which may be any numbers, to indices. Filled, then sealed, then asked. The
 * first of several equal references counts.
 */
struct ref_map {
	struct ref_pair {
		uint64_t ref;
		uint32_t index;
	} * v;
	uint32_t n, room;
	uint32_t *direct; /* for references below n_direct */
	uint64_t n_direct;
};

bool ref_map_seal(struct ref_map *map);
void ref_map_free(struct ref_map *map);
uint32_t ref_map_search(const struct ref_map *map, uint64_t ref);

/* ETA_NONE where REF is not defined. */
static inline uint32_t ref_map_get(const struct ref_map *map, uint64_t ref)
{
	return ref < map->n_direct ? map->direct[ref] : ref_map_search(map, ref);
}

struct raw_property {
	uint64_t owner;
	OTF2_StringRef name;
	OTF2_Type type;
	OTF2_AttributeValue value;
};
typedef VECTOR(struct raw_property) raw_properties;

struct raw_attribute {
	OTF2_AttributeRef self;
	OTF2_StringRef name;
};

struct raw_node {
	OTF2_StringRef name, class_name;
	OTF2_SystemTreeNodeRef parent;
};

struct raw_group {
	OTF2_StringRef name;
	OTF2_SystemTreeNodeRef node;
	OTF2_LocationGroupRef self;
};

struct raw_location {
	OTF2_LocationRef self;
	OTF2_StringRef name;
	OTF2_LocationType type;
	uint64_t events;
	OTF2_LocationGroupRef group;
};

struct raw_region {
	OTF2_RegionRef self;
	OTF2_StringRef name, description, file;
	OTF2_RegionRole role;
};

struct raw_region_group {
	OTF2_StringRef name;
	uint32_t first, n; /* in members */
};

struct raw_file {
	OTF2_IoFileRef self;
	OTF2_StringRef name;
	OTF2_SystemTreeNodeRef scope;
};

struct raw_paradigm {
	OTF2_IoParadigmRef self;
	OTF2_StringRef name;
	uint32_t first_region; /* of its operations; ETA_NONE: not defined yet */
};

struct raw_handle {
	OTF2_IoHandleRef self;
	OTF2_StringRef name;
	OTF2_IoFileRef file;
	OTF2_IoParadigmRef paradigm;
};

struct raw_state {
	OTF2_IoHandleRef handle;
	OTF2_IoAccessMode mode;
	OTF2_IoStatusFlag flags;
};

/* Definitions as they come. They may refer to later ones, so they are resolved at the end. */
struct raw_defs {
	struct eta_trace *trace;
	uint64_t resolution; /* timestamps per second, 0: never said */
	uint64_t offset;     /* global, in timestamps */
	uint64_t length;     /* of the trace, the same */
	VECTOR(const char *) strings;
	struct ref_map string_refs;
	VECTOR(struct raw_attribute) attributes;
	VECTOR(struct raw_node) nodes;
	struct ref_map node_refs;
	VECTOR(struct raw_group) groups;
	struct ref_map group_refs;
	VECTOR(struct raw_location) locations;
	VECTOR(struct raw_region) regions;
	VECTOR(struct raw_region_group) region_groups;
	VECTOR(uint64_t) members;
	VECTOR(struct raw_file) files;
	VECTOR(struct raw_paradigm) paradigms;
	VECTOR(struct raw_handle) handles;
	VECTOR(struct raw_state) states;
	raw_properties node_properties, location_properties, group_properties, file_properties;
};

/* Which field of an event an attribute fills. */
enum { OTF2_ATTRIBUTES_MAX = 64 }; /* references; an archive of ours uses the first dozen */

/*
 * libotf2 looks for a location among all that one reader has, one by one: each reader has no more.
 */
#define OTF2_LOCATIONS_PER_READER 1024

/* An archive whose files of events are this one's, too: see ARCHIVE_INPUT. */
struct otf2_input {
	uint32_t first_stack;
	uint64_t id;
	const char *anchor; /* NULL: the files are copies */
};

struct otf2 {
	OTF2_Reader *reader;   /* of the definitions */
	OTF2_Reader **readers; /* of events: see otf2_reader(). The first is that one */
	char *base;	       /* the anchor's path without .otf2 */
	uint64_t resolution;
	uint64_t base_ns;	    /* where timestamps count from */
	uint64_t first_ns, last_ns; /* of its events, as it says */
	uint64_t id;
	struct otf2_input *inputs; /* in an archive of links */
	uint32_t n_inputs;
	VECTOR(uint32_t) input_of; /* per location, from 1; 0: of none */
	uint8_t *created;	   /* per handle: an event creates it */
	struct ref_map regions, handles, stacks;
	uint8_t attributes[OTF2_ATTRIBUTES_MAX]; /* enum archive_attribute; ARCHIVE_N_ATTRIBUTES */
	bool ours;				 /* written by eta_write_otf2 */
	bool callers_change;			 /* ARCHIVE_CALLERS */
	/*
	 * Per handle, in archives of others: the regions of its reads, writes and flushes that
	 * stand in no I/O region, one behind the other; ETA_NONE: a device's. NULL in ours.
	 */
	uint32_t *operations;
	struct otf2_index *index; /* NULL: none, if that is known, under trace->lock */
	bool index_is_known;
	/* Per location, under trace->lock: libotf2 has one reader for it at a time, and takes its
	 * local definitions once. */
	struct otf2_reading {
		bool busy, defined;
		bool moved;		/* by `clock`, like its timestamps, which libotf2 moves */
		OTF2_ErrorCode refused; /* what the first cursor was answered */
		struct eta_clock_map clock;
	} * readings;
};

/* What to do about TRACE, of which nothing can be read; for the end of a message. */
const char *otf2_remedy(const struct eta_trace *trace);

static inline OTF2_Reader *otf2_reader(const struct otf2 *otf2, uint32_t location)
{
	return otf2->readers[location / OTF2_LOCATIONS_PER_READER];
}

/*
 * Do the numbers in the anchor file PATH fit into it? libotf2 allocates and loops by them. 0 or
 * -errno, reported with the REMEDY. (read-anchor.c)
 */
int otf2_check_anchor(const char *path, const char *remedy);

void otf2_index_free(struct otf2_index *index);

/* ---- archives of links (read-links.c) ---- */

/* Fills otf2->inputs; false without memory. */
bool otf2_build_inputs(struct raw_defs *raw, struct otf2 *otf2);
/*
 * Do links lead to what they were made for? They may come with an archive from anywhere: those that
 * leave the folder of the anchor are not followed. 0 or -errno, reported.
 */
int otf2_check_links(const struct eta_trace *trace);

/* All callbacks that fill a struct raw_defs. */
OTF2_GlobalDefReaderCallbacks *otf2_definition_callbacks(void);

/* The text of string REF; "" where it is not defined. */
static inline const char *otf2_text(const struct raw_defs *raw, OTF2_StringRef ref)
{
	uint32_t i = ref_map_get(&raw->string_refs, ref);

	return i == ETA_NONE ? "" : raw->strings.v[i];
}

/* The first of PROPERTIES, which are sorted, whose owner is not before OWNER. */
uint32_t otf2_first_property(const raw_properties *properties, uint64_t owner);

/* ---- properties that are texts (source-otf2-properties.c); false without memory ---- */

/* Those of location group GROUP, which is PROCESS: modules and stacks are among them. */
bool otf2_build_process(struct raw_defs *raw, struct otf2 *otf2, uint64_t group, uint32_t process);
/* Those of the trace that are definitions, since the anchor file has little room. */
bool otf2_build_properties(struct raw_defs *raw);
/* Gives processes what EZTrace's plugin and older archives have in the anchor file. */
bool otf2_adopt_properties(struct eta_trace *trace);

/* Fills trace->defs and the maps of its struct otf2 (trace->data): 0 or -ENOMEM. */
int otf2_build_definitions(struct raw_defs *raw);
void otf2_raw_free(struct raw_defs *raw);

#endif
