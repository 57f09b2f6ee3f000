/* Wrappers of stdio's formatted, line and character functions. */
/* SPDX-License-Identifier: BSD-3-Clause */

/* glibc's header maps these names to the __isoc99_ ones: here both are wrapped */
#define fscanf redirected_fscanf
#define vfscanf redirected_vfscanf
#define scanf redirected_scanf
#define vscanf redirected_vscanf
#include <stdio.h>
#undef fscanf
#undef vfscanf
#undef scanf
#undef vscanf

#include <stdarg.h>

#include "wrap.h"

#include "stream.h"

/* glibc's inline and macro forms */
#undef fputs_unlocked
#undef fgets_unlocked
#undef putc
#undef getc
#undef putc_unlocked
#undef getc_unlocked
#undef fputc_unlocked
#undef fgetc_unlocked
#undef putchar
#undef getchar
#undef putchar_unlocked
#undef getchar_unlocked

/* glibc's checked names (-D_FORTIFY_SOURCE) and those it redirects to have no public prototype */
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list args);
int __printf_chk(int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list args);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
char *__fgets_chk(char *line, size_t room, int size, FILE *stream);
char *__fgets_unlocked_chk(char *line, size_t room, int size, FILE *stream);
int fscanf(FILE *stream, const char *format, ...);
int vfscanf(FILE *stream, const char *format, va_list args);
int scanf(const char *format, ...);
int vscanf(const char *format, va_list args);
int __isoc99_fscanf(FILE *stream, const char *format, ...);
int __isoc99_vfscanf(FILE *stream, const char *format, va_list args);
int __isoc99_scanf(const char *format, ...);
int __isoc99_vscanf(const char *format, va_list args);
int __isoc23_fscanf(FILE *stream, const char *format, ...);
int __isoc23_vfscanf(FILE *stream, const char *format, va_list args);
int __isoc23_scanf(const char *format, ...);
int __isoc23_vscanf(const char *format, va_list args);
int _IO_putc(int c, FILE *stream);
int _IO_getc(FILE *stream);

/* the v form of a variadic function, which gets its list */
#define BEHIND_fscanf vfscanf
#define BEHIND_scanf vscanf
#define BEHIND___isoc99_fscanf __isoc99_vfscanf
#define BEHIND___isoc99_scanf __isoc99_vscanf
#define BEHIND___isoc23_fscanf __isoc23_vfscanf
#define BEHIND___isoc23_scanf __isoc23_vscanf
#define REAL_OF(name) REAL(name) /* once NAME is expanded */

/* The rest of a variadic wrapper: CALL uses `list`. */
#define VARIADIC(call)                                                                             \
	va_list list;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	va_start(list, format);                                                                    \
	ret = call;                                                                                \
	va_end(list);                                                                              \
	return ret

/* ---- formatted output: the bytes requested are the bytes returned ---- */

#define PRINTED(name, kind, real, out, caller, args)                                               \
	struct op op;                                                                              \
	int n;                                                                                     \
                                                                                                   \
	if (!op_begin_stream(&op, FN_##name, out, true, LOCKS(name), 0, caller))                   \
		return REAL_OF(real) args;                                                         \
	n = REAL_OF(real) args;                                                                    \
	if (n > 0)                                                                                 \
		op_size(&op, (uint64_t)n);                                                         \
	op_end_stream(&op, ETA_OP_##kind, out, n, n < 0);                                          \
	return n

#define DPRINTED(name, kind, real, caller, args)                                                   \
	struct op op;                                                                              \
	int n;                                                                                     \
                                                                                                   \
	if (!op_begin(&op, FN_##name, fd, 0, AT_WRITE_POSITION, caller))                           \
		return REAL_OF(real) args;                                                         \
	n = REAL_OF(real) args;                                                                    \
	if (n > 0)                                                                                 \
		op_size(&op, (uint64_t)n);                                                         \
	op_end_transfer(&op, ETA_OP_##kind, fd, n);                                                \
	return n

static ALWAYS_INLINE int list_fprintf(FILE *stream, const char *format, va_list list,
				      const void *caller)
{
	PRINTED(fprintf, WRITE, vfprintf, stream, caller, (stream, format, list));
}

EXPORT int fprintf(FILE *stream, const char *format, ...)
{
	VARIADIC(list_fprintf(stream, format, list, CALLER));
}

EXPORT int vfprintf(FILE *stream, const char *format, va_list list)
{
	PRINTED(vfprintf, WRITE, vfprintf, stream, CALLER, (stream, format, list));
}

static ALWAYS_INLINE int list___fprintf_chk(FILE *stream, int flag, const char *format,
					    va_list list, const void *caller)
{
	PRINTED(__fprintf_chk, WRITE, __vfprintf_chk, stream, caller, (stream, flag, format, list));
}

EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
	VARIADIC(list___fprintf_chk(stream, flag, format, list, CALLER));
}

EXPORT int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list)
{
	PRINTED(__vfprintf_chk, WRITE, __vfprintf_chk, stream, CALLER,
		(stream, flag, format, list));
}

static ALWAYS_INLINE int list_printf(const char *format, va_list list, const void *caller)
{
	PRINTED(printf, WRITE, vprintf, stdout, caller, (format, list));
}

EXPORT int printf(const char *format, ...)
{
	VARIADIC(list_printf(format, list, CALLER));
}

EXPORT int vprintf(const char *format, va_list list)
{
	PRINTED(vprintf, WRITE, vprintf, stdout, CALLER, (format, list));
}

static ALWAYS_INLINE int list___printf_chk(int flag, const char *format, va_list list,
					   const void *caller)
{
	PRINTED(__printf_chk, WRITE, __vprintf_chk, stdout, caller, (flag, format, list));
}

EXPORT int __printf_chk(int flag, const char *format, ...)
{
	VARIADIC(list___printf_chk(flag, format, list, CALLER));
}

EXPORT int __vprintf_chk(int flag, const char *format, va_list list)
{
	PRINTED(__vprintf_chk, WRITE, __vprintf_chk, stdout, CALLER, (flag, format, list));
}

static ALWAYS_INLINE int list_dprintf(int fd, const char *format, va_list list, const void *caller)
{
	DPRINTED(dprintf, WRITE, vdprintf, caller, (fd, format, list));
}

EXPORT int dprintf(int fd, const char *format, ...)
{
	VARIADIC(list_dprintf(fd, format, list, CALLER));
}

EXPORT int vdprintf(int fd, const char *format, va_list list)
{
	DPRINTED(vdprintf, WRITE, vdprintf, CALLER, (fd, format, list));
}

static ALWAYS_INLINE int list___dprintf_chk(int fd, int flag, const char *format, va_list list,
					    const void *caller)
{
	DPRINTED(__dprintf_chk, WRITE, __vdprintf_chk, caller, (fd, flag, format, list));
}

EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	VARIADIC(list___dprintf_chk(fd, flag, format, list, CALLER));
}

EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list list)
{
	DPRINTED(__vdprintf_chk, WRITE, __vdprintf_chk, CALLER, (fd, flag, format, list));
}

/* ---- formatted input: the bytes requested are the bytes taken ---- */

#define SCANNED(name, kind, real, in, caller, args)                                                \
	struct unread before;                                                                      \
	struct op op;                                                                              \
	int64_t bytes;                                                                             \
	int n;                                                                                     \
                                                                                                   \
	if (!op_begin_stream(&op, FN_##name, in, false, LOCKS(name), 0, caller))                   \
		return REAL_OF(real) args;                                                         \
	before = stream_unread(in);                                                                \
	n = REAL_OF(real) args;                                                                    \
	bytes = stream_taken(&op, in, before, 0);                                                  \
	op_size(&op, (uint64_t)bytes);                                                             \
	op_end_stream(&op, ETA_OP_##kind, in, bytes, n == EOF && ferror_unlocked(in));             \
	return n

#define SHAPE_FSCANF(name, kind, type, detail)                                                     \
	static ALWAYS_INLINE int list_##name(FILE *stream, const char *format, va_list list,       \
					     const void *caller)                                   \
	{                                                                                          \
		SCANNED(name, kind, BEHIND_##name, stream, caller, (stream, format, list));        \
	}                                                                                          \
	EXPORT int name(FILE *stream, const char *format, ...)                                     \
	{                                                                                          \
		VARIADIC(list_##name(stream, format, list, CALLER));                               \
	}

#define SHAPE_VFSCANF(name, kind, type, detail)                                                    \
	EXPORT int name(FILE *stream, const char *format, va_list list)                            \
	{                                                                                          \
		SCANNED(name, kind, name, stream, CALLER, (stream, format, list));                 \
	}

#define SHAPE_SCANF(name, kind, type, detail)                                                      \
	static ALWAYS_INLINE int list_##name(const char *format, va_list list, const void *caller) \
	{                                                                                          \
		SCANNED(name, kind, BEHIND_##name, stdin, caller, (format, list));                 \
	}                                                                                          \
	EXPORT int name(const char *format, ...)                                                   \
	{                                                                                          \
		VARIADIC(list_##name(format, list, CALLER));                                       \
	}

#define SHAPE_VSCANF(name, kind, type, detail)                                                     \
	EXPORT int name(const char *format, va_list list)                                          \
	{                                                                                          \
		SCANNED(name, kind, name, stdin, CALLER, (format, list));                          \
	}

/* ---- lines ---- */

#define PUT_LINE(name, kind, stream, bytes, args)                                                  \
	struct op op;                                                                              \
	const size_t size = bytes;                                                                 \
	int ret;                                                                                   \
                                                                                                   \
	if (!op_begin_stream(&op, FN_##name, stream, true, LOCKS(name), size, CALLER))             \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end_stream(&op, ETA_OP_##kind, stream, ret == EOF ? 0 : (int64_t)size, ret == EOF);     \
	return ret

EXPORT int puts(const char *text)
{
	PUT_LINE(puts, WRITE, stdout, strlen(text) + 1, (text));
}

EXPORT int fputs(const char *text, FILE *stream)
{
	PUT_LINE(fputs, WRITE, stream, strlen(text), (text, stream));
}

EXPORT int fputs_unlocked(const char *text, FILE *stream)
{
	PUT_LINE(fputs_unlocked, WRITE, stream, strlen(text), (text, stream));
}

#define GOT_LINE(name, kind, args)                                                                 \
	struct unread before;                                                                      \
	struct op op;                                                                              \
	int64_t bytes;                                                                             \
	char *got;                                                                                 \
                                                                                                   \
	/* no room for a character: the stream is not used, and need not be one */                 \
	if (size < 2 || !op_begin_stream(&op, FN_##name, stream, false, LOCKS(name),               \
					 (uint64_t)size - 1, CALLER))                              \
		return REAL(name) args;                                                            \
	before = stream_unread(stream);                                                            \
	got = REAL(name) args;                                                                     \
	bytes = stream_taken(&op, stream, before, got ? (int64_t)strlen(got) : 0);                 \
	op_end_stream(&op, ETA_OP_##kind, stream, bytes, !got && ferror_unlocked(stream));         \
	return got

EXPORT char *fgets(char *line, int size, FILE *stream)
{
	GOT_LINE(fgets, READ, (line, size, stream));
}

EXPORT char *fgets_unlocked(char *line, int size, FILE *stream)
{
	GOT_LINE(fgets_unlocked, READ, (line, size, stream));
}

EXPORT char *__fgets_chk(char *line, size_t room, int size, FILE *stream)
{
	GOT_LINE(__fgets_chk, READ, (line, room, size, stream));
}

EXPORT char *__fgets_unlocked_chk(char *line, size_t room, int size, FILE *stream)
{
	GOT_LINE(__fgets_unlocked_chk, READ, (line, room, size, stream));
}

/* the length of the line is unknown: the bytes requested are the bytes read */
#define GOT_DELIMITED(name, kind, args)                                                            \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	/* no buffer for a line: refused before the stream is used */                              \
	if (!line || !room ||                                                                      \
	    !op_begin_stream(&op, FN_##name, stream, false, LOCKS(name), 0, CALLER))               \
		return REAL(name) args;                                                            \
	n = REAL(name) args;                                                                       \
	if (n > 0)                                                                                 \
		op_size(&op, (uint64_t)n);                                                         \
	op_end_stream(&op, ETA_OP_##kind, stream, n > 0 ? n : 0,                                   \
		      n < 0 && ferror_unlocked(stream));                                           \
	return n

EXPORT ssize_t getline(char **line, size_t *room, FILE *stream)
{
	GOT_DELIMITED(getline, READ, (line, room, stream));
}

EXPORT ssize_t getdelim(char **line, size_t *room, int delimiter, FILE *stream)
{
	GOT_DELIMITED(getdelim, READ, (line, room, delimiter, stream));
}

EXPORT ssize_t __getdelim(char **line, size_t *room, int delimiter, FILE *stream)
{
	GOT_DELIMITED(__getdelim, READ, (line, room, delimiter, stream));
}

/* ---- characters: counted, unless their records are requested ---- */

#define CHARACTER(name, kind, detail, stream, bytes, args)                                         \
	struct op op;                                                                              \
	int ret;                                                                                   \
                                                                                                   \
	if (!DETAIL_##detail) {                                                                    \
		call_not_recorded(descriptor(stream));                                             \
		return REAL(name) args;                                                            \
	}                                                                                          \
	if (!op_begin_stream(&op, FN_##name, stream, ETA_OP_##kind == ETA_OP_WRITE, LOCKS(name),   \
			     bytes, CALLER))                                                       \
		return REAL(name) args;                                                            \
	ret = REAL(name) args;                                                                     \
	op_end_stream(&op, ETA_OP_##kind, stream, ret == EOF ? 0 : (int64_t)(bytes),               \
		      ret == EOF && ferror_unlocked(stream));                                      \
	return ret

#define SHAPE_FPUTC(name, kind, type, detail)                                                      \
	EXPORT int name(int c, FILE *stream)                                                       \
	{                                                                                          \
		CHARACTER(name, kind, detail, stream, 1, (c, stream));                             \
	}

EXPORT int putchar(int c)
{
	CHARACTER(putchar, WRITE, CHARS, stdout, 1, (c));
}

EXPORT int putchar_unlocked(int c)
{
	CHARACTER(putchar_unlocked, WRITE, CHARS, stdout, 1, (c));
}

EXPORT int putw(int word, FILE *stream)
{
	CHARACTER(putw, WRITE, CHARS, stream, sizeof(word), (word, stream));
}

#define SHAPE_FGETC(name, kind, type, detail)                                                      \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		CHARACTER(name, kind, detail, stream, 1, (stream));                                \
	}

EXPORT int getchar(void)
{
	CHARACTER(getchar, READ, CHARS, stdin, 1, ());
}

EXPORT int getchar_unlocked(void)
{
	CHARACTER(getchar_unlocked, READ, CHARS, stdin, 1, ());
}

EXPORT int getw(FILE *stream)
{
	CHARACTER(getw, READ, CHARS, stream, sizeof(int), (stream));
}

/* moves the position back by one */
EXPORT int ungetc(int c, FILE *stream)
{
	struct op op;
	int ret;

	if (c == EOF) /* no character: the stream is not used */
		return REAL(ungetc)(c, stream);
	if (!DETAIL_CHARS) {
		call_not_recorded(descriptor(stream));
		return REAL(ungetc)(c, stream);
	}
	if (!op_begin_stream(&op, FN_ungetc, stream, false, LOCKS(ungetc), 0, CALLER))
		return REAL(ungetc)(c, stream);
	ret = REAL(ungetc)(c, stream);
	stream_set(op.file, stream, -1);
	stream_unlock(&op, stream);
	op_end(&op, ETA_OP_OTHER, ret, op.offset);
	return ret;
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_TEXT_FUNCTIONS(X)
#undef X
