/* OTF2 source: collects the definitions of an archive as they are stored. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read.h"
#include "eta-ext/base/search.h"

#include <stdlib.h>
#include <string.h>

/* ---- references ---- */

static int by_ref(const void *a, const void *b)
{
	const struct ref_pair *x = a, *y = b;

	if (x->ref != y->ref)
		return x->ref < y->ref ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

bool ref_map_seal(struct ref_map *map)
{
	uint64_t last;

	if (map->n == 0)
		return true;
	qsort(map->v, map->n, sizeof(*map->v), by_ref);
	last = map->v[map->n - 1].ref;
	/* A table where the numbers are dense, as they nearly always are. */
	if (last >= 4 * (uint64_t)map->n + 1024)
		return true;
	map->direct = malloc((last + 1) * sizeof(*map->direct));
	if (!map->direct)
		return false;
	memset(map->direct, 0xff, (last + 1) * sizeof(*map->direct));
	for (uint32_t i = map->n; i-- > 0;)
		map->direct[map->v[i].ref] = map->v[i].index;
	map->n_direct = last + 1;
	return true;
}

uint32_t ref_map_search(const struct ref_map *map, uint64_t ref)
{
	uint32_t low = PARTITION_POINT((uint32_t)0, map->n, i, map->v[i].ref < ref);

	return low < map->n && map->v[low].ref == ref ? map->v[low].index : ETA_NONE;
}

void ref_map_free(struct ref_map *map)
{
	free(map->v);
	free(map->direct);
}

void otf2_raw_free(struct raw_defs *raw)
{
	free(raw->strings.v);
	ref_map_free(&raw->string_refs);
	free(raw->attributes.v);
	free(raw->nodes.v);
	ref_map_free(&raw->node_refs);
	free(raw->groups.v);
	ref_map_free(&raw->group_refs);
	free(raw->locations.v);
	free(raw->regions.v);
	free(raw->region_groups.v);
	free(raw->members.v);
	free(raw->files.v);
	free(raw->paradigms.v);
	free(raw->handles.v);
	free(raw->states.v);
	free(raw->node_properties.v);
	free(raw->location_properties.v);
	free(raw->group_properties.v);
	free(raw->file_properties.v);
}

/* ---- callbacks ---- */

static OTF2_CallbackCode done(bool ok)
{
	return ok ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_ERROR;
}

static OTF2_CallbackCode on_clock(void *arg, uint64_t resolution, uint64_t offset, uint64_t length,
				  uint64_t realtime)
{
	struct raw_defs *raw = arg;

	(void)realtime;
	raw->resolution = resolution;
	raw->offset = offset;
	raw->length = length;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *arg, OTF2_StringRef self, const char *text)
{
	struct raw_defs *raw = arg;
	const char *own = eta_trace_string(raw->trace, text);

	return done(own && PUSH(&raw->string_refs, { self, raw->strings.n }) &&
		    PUSH(&raw->strings, own));
}

static OTF2_CallbackCode on_attribute(void *arg, OTF2_AttributeRef self, OTF2_StringRef name,
				      OTF2_StringRef description, OTF2_Type type)
{
	struct raw_defs *raw = arg;

	(void)description;
	(void)type;
	return done(PUSH(&raw->attributes, { self, name }));
}

static OTF2_CallbackCode on_node(void *arg, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
				 OTF2_StringRef class_name, OTF2_SystemTreeNodeRef parent)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->node_refs, { self, raw->nodes.n }) &&
		    PUSH(&raw->nodes, { name, class_name, parent }));
}

static OTF2_CallbackCode on_group(void *arg, OTF2_LocationGroupRef self, OTF2_StringRef name,
				  OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
				  OTF2_LocationGroupRef creator)
{
	struct raw_defs *raw = arg;

	(void)type;
	(void)creator;
	return done(PUSH(&raw->group_refs, { self, raw->groups.n }) &&
		    PUSH(&raw->groups, { name, node, self }));
}

static OTF2_CallbackCode on_location(void *arg, OTF2_LocationRef self, OTF2_StringRef name,
				     OTF2_LocationType type, uint64_t events,
				     OTF2_LocationGroupRef group)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->locations, { self, name, type, events, group }));
}

static OTF2_CallbackCode on_region(void *arg, OTF2_RegionRef self, OTF2_StringRef name,
				   OTF2_StringRef canonical, OTF2_StringRef description,
				   OTF2_RegionRole role, OTF2_Paradigm paradigm,
				   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
				   uint32_t end)
{
	struct raw_defs *raw = arg;

	(void)canonical;
	(void)paradigm;
	(void)flags;
	(void)begin;
	(void)end;
	return done(PUSH(&raw->regions, { self, name, description, file, role }));
}

static OTF2_CallbackCode on_region_group(void *arg, OTF2_GroupRef self, OTF2_StringRef name,
					 OTF2_GroupType type, OTF2_Paradigm paradigm,
					 OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
	struct raw_defs *raw = arg;
	uint32_t first = raw->members.n;

	(void)self;
	(void)paradigm;
	(void)flags;
	if (type != OTF2_GROUP_TYPE_REGIONS)
		return OTF2_CALLBACK_SUCCESS;
	for (uint32_t i = 0; i < n; i++)
		if (!PUSH(&raw->members, members[i]))
			return OTF2_CALLBACK_ERROR;
	return done(PUSH(&raw->region_groups, { name, first, n }));
}

static OTF2_CallbackCode on_file(void *arg, OTF2_IoFileRef self, OTF2_StringRef name,
				 OTF2_SystemTreeNodeRef scope)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->files, { self, name, scope }));
}

static OTF2_CallbackCode on_paradigm(void *arg, OTF2_IoParadigmRef self,
				     OTF2_StringRef identification, OTF2_StringRef name,
				     OTF2_IoParadigmClass class, OTF2_IoParadigmFlag flags,
				     uint8_t n, const OTF2_IoParadigmProperty *properties,
				     const OTF2_Type *types, const OTF2_AttributeValue *values)
{
	struct raw_defs *raw = arg;

	(void)identification;
	(void)class;
	(void)flags;
	(void)n;
	(void)properties;
	(void)types;
	(void)values;
	return done(PUSH(&raw->paradigms, { self, name, ETA_NONE }));
}

static OTF2_CallbackCode on_handle(void *arg, OTF2_IoHandleRef self, OTF2_StringRef name,
				   OTF2_IoFileRef file, OTF2_IoParadigmRef paradigm,
				   OTF2_IoHandleFlag flags, OTF2_CommRef comm,
				   OTF2_IoHandleRef parent)
{
	struct raw_defs *raw = arg;

	(void)flags;
	(void)comm;
	(void)parent;
	return done(PUSH(&raw->handles, { self, name, file, paradigm }));
}

static OTF2_CallbackCode on_state(void *arg, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
				  OTF2_IoStatusFlag flags)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->states, { handle, mode, flags }));
}

static OTF2_CallbackCode on_node_property(void *arg, OTF2_SystemTreeNodeRef owner,
					  OTF2_StringRef name, OTF2_Type type,
					  OTF2_AttributeValue value)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->node_properties, { owner, name, type, value }));
}

static OTF2_CallbackCode on_location_property(void *arg, OTF2_LocationRef owner,
					      OTF2_StringRef name, OTF2_Type type,
					      OTF2_AttributeValue value)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->location_properties, { owner, name, type, value }));
}

static OTF2_CallbackCode on_group_property(void *arg, OTF2_LocationGroupRef owner,
					   OTF2_StringRef name, OTF2_Type type,
					   OTF2_AttributeValue value)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->group_properties, { owner, name, type, value }));
}

static OTF2_CallbackCode on_file_property(void *arg, OTF2_IoFileRef owner, OTF2_StringRef name,
					  OTF2_Type type, OTF2_AttributeValue value)
{
	struct raw_defs *raw = arg;

	return done(PUSH(&raw->file_properties, { owner, name, type, value }));
}

OTF2_GlobalDefReaderCallbacks *otf2_definition_callbacks(void)
{
	OTF2_GlobalDefReaderCallbacks *cb = OTF2_GlobalDefReaderCallbacks_New();

	if (!cb)
		return NULL;
#define SET(what, function) OTF2_GlobalDefReaderCallbacks_Set##what##Callback(cb, function)
	SET(ClockProperties, on_clock);
	SET(String, on_string);
	SET(Attribute, on_attribute);
	SET(SystemTreeNode, on_node);
	SET(LocationGroup, on_group);
	SET(Location, on_location);
	SET(Region, on_region);
	SET(Group, on_region_group);
	SET(IoRegularFile, on_file);
	SET(IoDirectory, on_file);
	SET(IoParadigm, on_paradigm);
	SET(IoHandle, on_handle);
	SET(IoPreCreatedHandleState, on_state);
	SET(SystemTreeNodeProperty, on_node_property);
	SET(LocationProperty, on_location_property);
	SET(LocationGroupProperty, on_group_property);
	SET(IoFileProperty, on_file_property);
#undef SET
	return cb;
}
