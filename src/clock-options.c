/* Clocks and threads of the inputs of a merge, as given by --clock and --tid-map. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock-options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neither a comment nor blank. */
static bool says_something(const char *line)
{
	line += strspn(line, " \t\r\n");
	return *line && *line != '#';
}

static int read_pairs(FILE *file, const char *path, struct eta_sync *sync)
{
	size_t room = 0, number = 0;
	char *line = NULL;
	int rc = 0;

	while (rc == 0 && getline(&line, &room, file) >= 0) {
		struct eta_sync_pair pair;
		int end = 0;

		number++;
		if (!says_something(line))
			continue;
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %n",
			   &pair.outer_begin, &pair.outer_end, &pair.inner_begin, &pair.inner_end,
			   &end) != 4 ||
		    line[end]) {
			eta_error("%s: line %zu: not a pair (begin and end by the input's clock, "
				  "begin and end by the other clock, in ns)",
				  path, number);
			rc = -EINVAL;
		} else if (eta_sync_add(sync, &pair) < 0) {
			eta_error("%s: not enough memory", path);
			rc = -ENOMEM;
		}
	}
	free(line);
	return rc;
}

static int clock_of_pairs(const char *path, struct eta_clock_map *map)
{
	struct eta_sync *sync = NULL;
	struct eta_sync_result result;
	FILE *file = fopen(path, "r");
	int rc = file ? eta_sync_new(ETA_SYNC_MAX_RATE_PPM, &sync) : -errno;

	if (rc) {
		eta_error("%s: cannot read pairs of times: %s", path, strerror(-rc));
		goto out;
	}
	rc = read_pairs(file, path, sync);
	if (rc)
		goto out;
	rc = eta_sync_result(sync, &result);
	if (rc) {
		eta_error("%s: %" PRIu64 " pairs agree, %" PRIu64 " do not: no conversion", path,
			  result.pairs, result.bad);
		goto out;
	}
	*map = result.map;
	eta_note("%s: %" PRIu64 " pairs, %" PRIu64 " bad: +-%" PRIu64 " ns, rate %s (%g to %g ppm)",
		 path, result.pairs, result.bad, map->error_ns,
		 result.rate_is_known ? "used" : "too uncertain, taken as 1", result.rate_low_ppm,
		 result.rate_high_ppm);
out:
	eta_sync_free(sync);
	if (file)
		fclose(file);
	return rc;
}

int clock_option(const char *spec, size_t *input, struct eta_clock_map *map)
{
	unsigned long n;
	long long ns;
	char *end;

	errno = 0;
	n = strtoul(spec, &end, 10);
	if (errno || end == spec || *end != ':' || !end[1] || n == 0 || *spec == '-') {
		eta_error("--clock=%.4096s: not N:NS or N:FILE (N: number of the input, from 1)",
			  spec);
		return -EINVAL;
	}
	*input = n;
	spec = end + 1;
	ns = strtoll(spec, &end, 10);
	if (*end || errno)
		return clock_of_pairs(spec, map);
	*map = eta_clock_offset(ns, 0);
	return 0;
}

/* "LOCATION PID TID", where LOCATION may have blanks: read from its end. */
static bool parse_thread(char *line, struct eta_thread_name *thread)
{
	uint32_t numbers[2];

	for (int i = 1; i >= 0; i--) {
		char *last, *end;
		size_t n = strlen(line);

		while (n > 0 && strchr(" \t\r\n", line[n - 1]))
			line[--n] = '\0';
		last = strrchr(line, ' ');
		if (!last || (strrchr(line, '\t') && strrchr(line, '\t') > last))
			last = strrchr(line, '\t');
		if (!last)
			return false;
		errno = 0;
		numbers[i] = (uint32_t)strtoul(last + 1, &end, 10);
		if (errno || *end || end == last + 1 || !numbers[i])
			return false;
		*last = '\0';
	}
	for (size_t n = strlen(line); n > 0 && strchr(" \t", line[n - 1]);)
		line[--n] = '\0';
	*thread = (struct eta_thread_name){ line, numbers[0], numbers[1] };
	return *line != '\0';
}

int tid_map_read(const char *path, struct tid_map *out)
{
	size_t room = 0, number = 0;
	FILE *file = fopen(path, "r");
	int rc = file ? 0 : -errno;

	*out = (struct tid_map){ 0 };
	/* all of it at once: the names point into it */
	if (rc == 0 && getdelim(&out->text, &room, '\0', file) < 0)
		rc = ferror(file) ? -EIO : 0;
	if (rc)
		eta_error("%s: cannot read the map of threads: %s", path, strerror(-rc));
	for (char *line = rc ? NULL : out->text, *next; line && *line; line = next) {
		struct eta_thread_name *threads;

		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		number++;
		if (!says_something(line))
			continue;
		threads = reallocarray(out->threads, out->n + 1, sizeof(*threads));
		if (!threads) {
			eta_error("%s: not enough memory", path);
			rc = -ENOMEM;
			break;
		}
		out->threads = threads;
		if (!parse_thread(line, &threads[out->n++])) {
			eta_error("%s: line %zu: not LOCATION PID TID", path, number);
			rc = -EINVAL;
			break;
		}
	}
	if (file)
		fclose(file);
	return rc;
}

void tid_map_free(struct tid_map *map)
{
	free(map->threads);
	free(map->text);
}
