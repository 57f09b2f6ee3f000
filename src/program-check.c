/* What the user tracer will not see of a program, reported before it starts. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "program-check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/launcher.h"

#define MAX_SCRIPTS 4 /* scripts run by scripts; the kernel's limit is 5 */
#define LINE_BYTES 256

struct image {
	const unsigned char *at;
	size_t bytes;
};

/* What the file of a program says about itself. */
struct facts {
	bool elf;
	bool other_class;	    /* 32 bits */
	bool dynamic;		    /* has an interpreter, so a dynamic linker that preloads */
	bool go;		    /* made by the Go compiler */
	bool mpi;		    /* linked to a library of MPI */
	char interpreter[PATH_MAX]; /* of an ELF file: the dynamic linker */
};

/* BYTES at OFFSET, NULL where the file ends before: nothing in a file is to be trusted. */
static const void *part(const struct image *image, uint64_t offset, uint64_t bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return NULL;
	return image->at + offset;
}

/* The string at OFFSET, NULL where it has no end. */
static const char *text_at(const struct image *image, uint64_t offset)
{
	const char *text = part(image, offset, 1);

	return text && memchr(text, '\0', image->bytes - offset) ? text : NULL;
}

static const Elf64_Phdr *segment(const struct image *image, const Elf64_Ehdr *elf, unsigned n)
{
	if (n >= elf->e_phnum || elf->e_phentsize < sizeof(Elf64_Phdr))
		return NULL;
	return part(image, elf->e_phoff + (uint64_t)n * elf->e_phentsize, sizeof(Elf64_Phdr));
}

static const Elf64_Shdr *section(const struct image *image, const Elf64_Ehdr *elf, unsigned n)
{
	if (n >= elf->e_shnum || elf->e_shentsize < sizeof(Elf64_Shdr))
		return NULL;
	return part(image, elf->e_shoff + (uint64_t)n * elf->e_shentsize, sizeof(Elf64_Shdr));
}

/* Go's build id is a note of its own; kept when the program is stripped. */
static bool has_go_section(const struct image *image, const Elf64_Ehdr *elf)
{
	const Elf64_Shdr *names = section(image, elf, elf->e_shstrndx), *s;

	for (unsigned i = 0; names && (s = section(image, elf, i)); i++) {
		const char *name = text_at(image, names->sh_offset + s->sh_name);

		if (name &&
		    (strcmp(name, ".note.go.buildid") == 0 || strcmp(name, ".go.buildinfo") == 0))
			return true;
	}
	return false;
}

/* Where in the file lies what the program has at ADDRESS; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct image *image, const Elf64_Ehdr *elf, uint64_t address)
{
	const Elf64_Phdr *s;

	for (unsigned i = 0; (s = segment(image, elf, i)); i++)
		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_filesz)
			return s->p_offset + (address - s->p_vaddr);
	return UINT64_MAX;
}

/* Is a library of MPI ("libmpi.so.40", "libmpich.so.12") among those that DYNAMIC names? */
static bool needs_mpi(const struct image *image, const Elf64_Ehdr *elf, const Elf64_Phdr *dynamic)
{
	const uint64_t n = dynamic->p_filesz / sizeof(Elf64_Dyn);
	const Elf64_Dyn *d = part(image, dynamic->p_offset, n * sizeof(*d));
	uint64_t names = UINT64_MAX;

	for (uint64_t i = 0; d && i < n; i++)
		if (d[i].d_tag == DT_STRTAB)
			names = offset_of(image, elf, d[i].d_un.d_ptr);
	for (uint64_t i = 0; d && names != UINT64_MAX && i < n; i++) {
		const char *name =
			d[i].d_tag == DT_NEEDED ? text_at(image, names + d[i].d_un.d_val) : NULL;

		if (name && strncmp(name, "libmpi", 6) == 0)
			return true;
	}
	return false;
}

static void read_elf(const struct image *image, struct facts *facts)
{
	const Elf64_Ehdr *elf = part(image, 0, sizeof(*elf));
	const Elf64_Phdr *s;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	facts->elf = true;
	if (elf->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) {
		facts->other_class = true;
		return;
	}
	if (elf->e_ident[EI_CLASS] != ELFCLASS64) {
		facts->dynamic = true; /* not looked into */
		return;
	}
	for (unsigned i = 0; (s = segment(image, elf, i)); i++) {
		if (s->p_type == PT_INTERP) {
			const char *name = text_at(image, s->p_offset);

			facts->dynamic = true;
			snprintf(facts->interpreter, sizeof(facts->interpreter), "%s",
				 name ? name : "");
		}
		if (s->p_type == PT_DYNAMIC)
			facts->mpi = needs_mpi(image, elf, s);
	}
	facts->go = has_go_section(image, elf);
}

/* Where execvp finds NAME. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	struct stat st;

	if (strchr(name, '/'))
		return (size_t)snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (list = list ? list : "/bin:/usr/bin"; list; list = strchr(list, ':')) {
		int n;

		list += *list == ':';
		n = (int)strcspn(list, ":");
		if (snprintf(path, PATH_MAX, "%.*s%s%s", n, list, n ? "/" : "", name) < PATH_MAX &&
		    stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/*
 * "#!INTERPRETER [ARG]": what really runs, into NAME; env(1) runs its argument. False: no script.
 */
static bool script_interpreter(const struct image *image, char name[LINE_BYTES])
{
	char line[LINE_BYTES], *rest, *word, *slash;
	size_t n = image->bytes < sizeof(line) ? image->bytes : sizeof(line) - 1;

	if (n < 3 || memcmp(image->at, "#!", 2) != 0)
		return false;
	memcpy(line, image->at, n);
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	slash = word ? strrchr(word, '/') : NULL;
	if (slash && strcmp(slash, "/env") == 0)
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (*word == '-' || strchr(word, '=')));
	if (!word)
		return false;
	snprintf(name, LINE_BYTES, "%s", word);
	return true;
}

/*
 * The dynamic linker ignores preloaded libraries if the program has more rights than the caller
 * (AT_SECURE). Which rights of PATH cause this; NULL: none.
 */
static const char *other_rights(const char *path, const struct stat *st)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return NULL;
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return "setuid";
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getegid())
		return "setgid";
	/* root has them all already */
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "file capabilities";
	return NULL;
}

/* Warns, a line for each thing that will be missing; false: the tracer cannot be loaded. */
static bool warn_of(const char *path, const char *rights, const struct facts *facts)
{
	static const char *const kernel_only = "only the kernel's side of it is traced";

	if (facts->other_class) {
		eta_warn("%s: a program of another word size cannot load the tracer: %s (build it "
			 "for 64 bits)",
			 path, kernel_only);
		return false;
	}
	if (facts->go) {
		eta_warn("%s: a Go program makes its system calls itself, not through the C "
			 "library: %s (root can record it, with sci-record or sci-kernel)",
			 path, kernel_only);
		return facts->dynamic && !rights;
	}
	if (!facts->dynamic) {
		eta_warn("%s: a static program cannot load the tracer: %s (link it dynamically to "
			 "have both)",
			 path, kernel_only);
		return false;
	}
	if (rights) {
		eta_warn("%s: runs with rights of its own (%s), so the dynamic linker refuses the "
			 "tracer: %s (run sci-record as the user or group it changes to, or as "
			 "root)",
			 path, rights, kernel_only);
		return false;
	}
	if (strstr(facts->interpreter, "ld-musl")) {
		eta_warn("%s: built for another C library (%s), in which the tracer is idle: %s",
			 path, facts->interpreter, kernel_only);
		return false;
	}
	return true;
}

/* The program that NAME runs: its file's PATH and facts. False: nothing is known about it. */
static bool program_facts(const char *name, char path[PATH_MAX], struct stat *st,
			  struct facts *facts)
{
	char interpreter[LINE_BYTES];

	for (int i = 0; i < MAX_SCRIPTS; i++) {
		struct image image = { 0 };
		bool script;
		int fd;

		if (!find_program(name, path))
			return false; /* starting it will say why not */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_size == 0) {
			if (fd >= 0)
				close(fd);
			return false;
		}
		image.bytes = (size_t)st->st_size;
		image.at = mmap(NULL, image.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
		if (image.at == MAP_FAILED)
			return false;
		script = script_interpreter(&image, interpreter);
		if (!script)
			read_elf(&image, facts);
		munmap((void *)image.at, image.bytes);
		if (!script)
			return facts->elf;
		name = interpreter;
	}
	return false;
}

bool program_check(const char *name)
{
	struct facts facts = { 0 };
	char path[PATH_MAX];
	struct stat st;

	return !program_facts(name, path, &st, &facts) ||
	       warn_of(path, other_rights(path, &st), &facts);
}

static const char *variable(const char *name)
{
	return getenv(name);
}

bool program_uses_mpi(const char *name)
{
	/* what starts the ranks; "mpirun.openmpi" and "mpiexec.hydra", too */
	static const char *const starters[] = { "mpirun", "mpiexec", "orterun", "prterun", "srun" };
	const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
	struct facts facts = { 0 };
	char path[PATH_MAX];
	struct stat st;

	if (launcher_find(variable).rank)
		return true;
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++) {
		const size_t n = strlen(starters[i]);

		if (strncmp(file, starters[i], n) == 0 && (!file[n] || file[n] == '.'))
			return true;
	}
	return program_facts(name, path, &st, &facts) && facts.mpi;
}
