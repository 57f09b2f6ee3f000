/* What a machine was looked at for from time to time, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name) "SCI::" name,
	SAMPLES_KINDS(X)
#undef X
};

const char *samples_name(enum samples_kind kind)
{
	return names[kind];
}

enum samples_kind samples_kind(const struct eta_property *property)
{
	for (int i = 0; i < N_SAMPLES; i++)
		if (property->process == ETA_NONE &&
		    strncmp(property->name, names[i], strlen(names[i])) == 0)
			return (enum samples_kind)i;
	return N_SAMPLES;
}

/* Reads a number that ends with END; NULL: there is none. */
static const char *number(const char *text, char end, uint64_t *value)
{
	char *behind;

	if (!isdigit((unsigned char)*text))
		return NULL;
	*value = strtoull(text, &behind, 10);
	return *behind == end ? behind + 1 : NULL;
}

bool samples_parse(const char *text, struct samples *samples)
{
	const char *host = strstr(text, SAMPLES_HOST);

	samples->next = number(text, ' ', &samples->since_ns);
	samples->last_ns = samples->since_ns;
	samples->host = host ? host + strlen(SAMPLES_HOST) : NULL;
	return samples->next && samples->host;
}

/* "MS:" as a time. What does not fit is damage. */
static const char *time_of(const struct samples *samples, uint64_t *time_ns)
{
	uint64_t ms;
	const char *at = number(samples->next, ':', &ms);

	if (!at || ms > UINT64_MAX / 2000000 || samples->since_ns > UINT64_MAX / 2)
		return NULL;
	*time_ns = samples->since_ns + ms * 1000000;
	return at;
}

bool samples_dirty(struct samples *samples, uint64_t *time_ns, uint64_t *bytes)
{
	const char *at = time_of(samples, time_ns);
	uint64_t kib;

	at = at ? number(at, ' ', &kib) : NULL;
	if (!at || kib > UINT64_MAX / 1024)
		return false;
	*bytes = kib * 1024;
	samples->next = at;
	return true;
}

bool samples_disk(struct samples *samples, uint32_t *pid, uint32_t *disk)
{
	uint64_t values[2] = { 0 };
	const char *at = number(samples->next, ' ', &values[0]);

	at = at ? number(at, ' ', &values[1]) : NULL;
	if (!at || values[0] > UINT32_MAX || values[1] > UINT32_MAX)
		return false;
	*pid = (uint32_t)values[0];
	*disk = (uint32_t)values[1];
	samples->next = at;
	return true;
}

bool samples_net(struct samples *samples, char *name, size_t size)
{
	const char *type = samples->next, *behind = strchr(type, ' ');

	behind = behind ? strchr(behind + 1, ' ') : NULL;
	if (!behind || behind >= samples->host || (size_t)(behind - type) >= size)
		return false;
	memcpy(name, type, (size_t)(behind - type));
	name[behind - type] = 0;
	samples->next = behind + 1;
	return true;
}

/* A number, or "-" for an unknown one. */
static const char *count(const char *text, char end, uint64_t *value)
{
	if (*text != '-')
		return number(text, end, value);
	*value = DISK_COUNT_UNKNOWN;
	return text[1] == end ? text + 2 : NULL;
}

bool samples_disk_counts(struct samples *samples, struct disk_count_sample *sample)
{
	const char *at = time_of(samples, &sample->to_ns);

	for (int i = 0; at && i < N_DISK_COUNTS; i++)
		at = count(at, i + 1 < N_DISK_COUNTS ? ',' : ' ', &sample->n[i]);
	if (!at || sample->to_ns < samples->last_ns)
		return false;
	sample->from_ns = samples->last_ns;
	samples->last_ns = sample->to_ns;
	samples->next = at;
	return true;
}
