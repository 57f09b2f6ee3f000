/* Inside of the spool source: its files, images of programs, and the kernel side's index. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SOURCE_SPOOL_H
#define ETA_SOURCE_SPOOL_H

#include "eta-ext/trace/source.h"
#include "view.h"

/* What the NAME ids of one image of a process, or of the kernel tracer, stand for. */
struct spool_name {
	uint32_t region; /* ETA_NONE: no such id */
	uint8_t kind;	 /* enum eta_op_kind */
};

/* Where in the kernel threads waited. */
struct spool_place {
	uint32_t region;       /* what that means; ETA_NONE: unknown */
	const char *functions; /* then: those that it is in, innermost first; NULL: not known */
};

struct spool_image {
	uint32_t pid, ppid;
	uint32_t pid_ns, parent_ns; /* in which those are numbers; 0: unknown */
	uint64_t process_ns;	    /* when it began, where the number alone says little; else 0 */
	uint64_t began_ns;	    /* the same, always; 0: unknown */
	uint64_t start_ns;	    /* of the image */
	uint32_t parent;	    /* the image it was forked from, ETA_NONE */
	uint32_t parent_tid;
	uint32_t process; /* ETA_NONE: not yet */
	uint32_t next;	  /* image behind the same number, ETA_NONE */
	const char *program, *host, *boot;
	struct spool_name *names; /* by id */
	uint32_t n_names;
	uint32_t unnamed; /* region of ids without a name; ETA_NONE: they are damage */
	uint32_t *stacks; /* by id - 1: index of the definition */
	uint32_t n_stacks, stack_room;
	struct spool_place *sleeps; /* the kernel's, by id */
	uint32_t n_sleeps;
};

struct spool_file {
	char *path;
	uint64_t bytes;
	uint64_t first_unit; /* units of all files before it: makes match ids */
	uint64_t start_ns;
	uint64_t last_file;
	uint32_t kind;		 /* enum eta_spool_kind; 0: nothing in it is used */
	uint32_t cpu;		 /* KERNEL: 1 + that of its records */
	uint32_t image;		 /* USER, PROCESS: index into images */
	struct spool_image like; /* USER: where no image of its process is known */
	bool inherits;		 /* PROCESS: its parent's modules */
	uint32_t process;
	struct spool_damage damage;
	bool counted;		/* its damage was counted when it was opened */
	struct spool_view view; /* KERNEL: open as long as the trace is */
};

/* FILE id of an image -> handle. */
struct spool_handle {
	uint32_t image, id;
	uint32_t handle;
	bool direct;
};

struct spool_index;

struct spool {
	struct spool_file *files; /* sorted by name */
	uint32_t n_files;
	struct spool_image *images; /* [0] is the kernel's, pid 0 */
	uint32_t n_images, image_room;
	struct known *numbers;	      /* pid and its namespace -> first image */
	uint32_t n_damaged;	      /* files */
	uint32_t n_headless;	      /* files whose tracer was cut off before it wrote a header, */
	uint32_t headless;	      /* and the first of them */
	struct spool_handle *handles; /* sorted by image, id */
	size_t n_handles, handle_room;
	bool tracer_began, tracer_ended; /* the kernel's, as its properties say */
	uint32_t listener_tid;		 /* who answers fanotify; 0: not known */
	bool keeps_last;		 /* files do that keep their last records only */
	uint64_t not_recorded;		 /* calls of a level of detail that was not asked for */
	uint64_t overwritten;	 /* operations and requests that made room for later ones, */
	uint64_t overwritten_ns; /* and the latest time of them (see struct eta_spool_header) */
	char host[64], boot[40]; /* of the kernel's side, else of the first file */
	const char **mounts;	 /* as eta_defs_mount takes them, until all files are defined */
	uint32_t n_mounts, mounts_room;
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, 0: unknown */
	struct spool_location {
		bool user;
		uint32_t file;	   /* user: the file, */
		uint64_t from, to; /* and the thread's part of it */
		uint32_t group;	   /* kernel: which part of the index */
	} * locations;
	/* that are defined already, while opening */
	struct known *known_files, *known_processes, *known_handles;
	struct spool_index *index;
};

/* ---- definitions shared by both sides (definitions.c) ---- */

/* Index of the region, made when it is new; ETA_NONE: no memory, reported. */
uint32_t spool_region(struct eta_trace *trace, const char *name);
/*
 * LIKE: without a host it is one of the spool's. FIRST_IMAGE: of a process that is known by its
 * number in a pid namespace of its own, else 0.
 */
uint32_t spool_process(struct eta_trace *trace, const struct eta_process *like,
		       uint32_t first_image);
uint32_t spool_add_location(struct eta_trace *trace, const struct eta_location *location,
			    const struct spool_location *where);
/* "ext4" for a statfs f_type; "" where it is not in our list. */
const char *spool_fs_name(uint32_t magic);
#define SPOOL_PATH_ROOM 4097
/* The path of RECORD as a string, cut to what a path can be. */
void spool_record_path(const struct eta_file_record *record, char *path, size_t room);
/* The file of a FILE record, made when it is new. BY_PATH: one for each of its paths. */
uint32_t spool_file_def(struct eta_trace *trace, const struct eta_file_record *record,
			bool by_path);
/* A file whose number is known from elsewhere: defined, or named if it is. 0, -ENOMEM. */
int spool_named_file(struct eta_trace *trace, const char *path, uint32_t dev, uint64_t inode);
/* mapped-files.c: all programs and libraries, after what the records define. 0, -ENOMEM. */
int spool_mapped_files(struct eta_trace *trace);
/* What a record of a spool's definitions means: NAME and SLEEP into IMAGE, PROPERTY. Others are not
 * for it.
 */
int spool_define(struct eta_trace *trace, uint32_t image, const struct eta_record_head *record);
void spool_tables_free(struct spool *spool);

/* What ID of IMAGE stands for; region ETA_NONE where nothing does. */
struct spool_name spool_name_of(const struct spool_image *image, uint32_t id);

/* ---- processes and images (images.c) ---- */

/* What HEADER says of an image; false without memory, reported. */
bool spool_image_fill(struct eta_trace *trace, const struct eta_spool_header *header,
		      struct spool_image *image);
/* Its index, or ETA_NONE without memory, reported. */
uint32_t spool_image_add(struct eta_trace *trace, const struct spool_image *image);
/* The process of LIKE, made when it is new; ETA_NONE without memory, reported. */
uint32_t spool_image_process(struct eta_trace *trace, const struct spool_image *like);
/*
 * Makes the processes of all images. Until then the properties of processes have the index of an
 * image for that of a process.
 */
int spool_images_processes(struct eta_trace *trace);
/* Which image each thread ran in, and which one that was forked from; what names are missing. */
int spool_images_connect(struct eta_trace *trace);

/* ---- user side (user.c) ---- */

int spool_user_open(struct eta_trace *trace);
/* A location for each thread that wrote to file INDEX, whose header is HEADER. */
int spool_user_threads(struct eta_trace *trace, uint32_t index, struct spool_view *view,
		       const struct eta_spool_header *header);
int spool_user_cursor(struct eta_trace *trace, const struct spool_location *where,
		      struct eta_cursor **out);
/* How many calls of WHERE began at BEGIN_NS or before, into N. 0 or -errno, reported. */
int spool_user_before(const struct eta_trace *trace, const struct spool_location *where,
		      uint64_t begin_ns, uint64_t *n);

/* ---- modules and stacks (addresses.c) ---- */

int spool_addresses_open(struct eta_trace *trace);

/* ---- kernel side (kernel.c) ---- */

int spool_kernel_open(struct eta_trace *trace);
void spool_kernel_close(struct eta_trace *trace);
/* Leaves out what began at BEGIN_NS or before; of how many records that is now. */
uint64_t spool_kernel_begin(struct eta_trace *trace, uint64_t begin_ns);
/* (kernel-cursor.c) */
int spool_kernel_cursor(struct eta_trace *trace, uint32_t group, struct eta_cursor **out);

/* First member of both sides' cursors, so that the source can tell them apart. */
struct spool_cursor {
	struct eta_cursor cursor;
	ssize_t (*read)(struct eta_cursor *cursor, const struct eta_event **batch);
	void (*close)(struct eta_cursor *cursor);
};

#endif
