/* Wrappers of stdio's formatted, line and character functions. */
/* SPDX-License-Identifier: BSD-3-Clause */

/* glibc's header makes these names stand for the __isoc99_ ones: here both are wanted */
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

#include "plugins/posixio/stream.h"

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

/* the v form behind a variadic one, to which its list goes */
#define BEHIND_fprintf vfprintf
#define BEHIND_printf vprintf
#define BEHIND_dprintf vdprintf
#define BEHIND___fprintf_chk __vfprintf_chk
#define BEHIND___printf_chk __vprintf_chk
#define BEHIND___dprintf_chk __vdprintf_chk
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

/* ---- formatted output: as many bytes count as asked for as were given back ---- */

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

#define SHAPE_FPRINTF(name, kind, type, detail)                                                    \
	static ALWAYS_INLINE int list_##name(FILE *stream, const char *format, va_list list,       \
					     const void *caller)                                   \
	{                                                                                          \
		PRINTED(name, kind, BEHIND_##name, stream, caller, (stream, format, list));        \
	}                                                                                          \
	EXPORT int name(FILE *stream, const char *format, ...)                                     \
	{                                                                                          \
		VARIADIC(list_##name(stream, format, list, CALLER));                               \
	}

#define SHAPE_VFPRINTF(name, kind, type, detail)                                                   \
	EXPORT int name(FILE *stream, const char *format, va_list list)                            \
	{                                                                                          \
		PRINTED(name, kind, name, stream, CALLER, (stream, format, list));                 \
	}

#define SHAPE_FPRINTF_CHK(name, kind, type, detail)                                                \
	static ALWAYS_INLINE int list_##name(FILE *stream, int flag, const char *format,           \
					     va_list list, const void *caller)                     \
	{                                                                                          \
		PRINTED(name, kind, BEHIND_##name, stream, caller, (stream, flag, format, list));  \
	}                                                                                          \
	EXPORT int name(FILE *stream, int flag, const char *format, ...)                           \
	{                                                                                          \
		VARIADIC(list_##name(stream, flag, format, list, CALLER));                         \
	}

#define SHAPE_VFPRINTF_CHK(name, kind, type, detail)                                               \
	EXPORT int name(FILE *stream, int flag, const char *format, va_list list)                  \
	{                                                                                          \
		PRINTED(name, kind, name, stream, CALLER, (stream, flag, format, list));           \
	}

#define SHAPE_PRINTF(name, kind, type, detail)                                                     \
	static ALWAYS_INLINE int list_##name(const char *format, va_list list, const void *caller) \
	{                                                                                          \
		PRINTED(name, kind, BEHIND_##name, stdout, caller, (format, list));                \
	}                                                                                          \
	EXPORT int name(const char *format, ...)                                                   \
	{                                                                                          \
		VARIADIC(list_##name(format, list, CALLER));                                       \
	}

#define SHAPE_VPRINTF(name, kind, type, detail)                                                    \
	EXPORT int name(const char *format, va_list list)                                          \
	{                                                                                          \
		PRINTED(name, kind, name, stdout, CALLER, (format, list));                         \
	}

#define SHAPE_PRINTF_CHK(name, kind, type, detail)                                                 \
	static ALWAYS_INLINE int list_##name(int flag, const char *format, va_list list,           \
					     const void *caller)                                   \
	{                                                                                          \
		PRINTED(name, kind, BEHIND_##name, stdout, caller, (flag, format, list));          \
	}                                                                                          \
	EXPORT int name(int flag, const char *format, ...)                                         \
	{                                                                                          \
		VARIADIC(list_##name(flag, format, list, CALLER));                                 \
	}

#define SHAPE_VPRINTF_CHK(name, kind, type, detail)                                                \
	EXPORT int name(int flag, const char *format, va_list list)                                \
	{                                                                                          \
		PRINTED(name, kind, name, stdout, CALLER, (flag, format, list));                   \
	}

#define SHAPE_DPRINTF(name, kind, type, detail)                                                    \
	static ALWAYS_INLINE int list_##name(int fd, const char *format, va_list list,             \
					     const void *caller)                                   \
	{                                                                                          \
		DPRINTED(name, kind, BEHIND_##name, caller, (fd, format, list));                   \
	}                                                                                          \
	EXPORT int name(int fd, const char *format, ...)                                           \
	{                                                                                          \
		VARIADIC(list_##name(fd, format, list, CALLER));                                   \
	}

#define SHAPE_VDPRINTF(name, kind, type, detail)                                                   \
	EXPORT int name(int fd, const char *format, va_list list)                                  \
	{                                                                                          \
		DPRINTED(name, kind, name, CALLER, (fd, format, list));                            \
	}

#define SHAPE_DPRINTF_CHK(name, kind, type, detail)                                                \
	static ALWAYS_INLINE int list_##name(int fd, int flag, const char *format, va_list list,   \
					     const void *caller)                                   \
	{                                                                                          \
		DPRINTED(name, kind, BEHIND_##name, caller, (fd, flag, format, list));             \
	}                                                                                          \
	EXPORT int name(int fd, int flag, const char *format, ...)                                 \
	{                                                                                          \
		VARIADIC(list_##name(fd, flag, format, list, CALLER));                             \
	}

#define SHAPE_VDPRINTF_CHK(name, kind, type, detail)                                               \
	EXPORT int name(int fd, int flag, const char *format, va_list list)                        \
	{                                                                                          \
		DPRINTED(name, kind, name, CALLER, (fd, flag, format, list));                      \
	}

/* ---- formatted input: so do the bytes that were taken ---- */

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

#define SHAPE_PUTS(name, kind, type, detail)                                                       \
	EXPORT int name(const char *text)                                                          \
	{                                                                                          \
		PUT_LINE(name, kind, stdout, strlen(text) + 1, (text));                            \
	}

#define SHAPE_FPUTS(name, kind, type, detail)                                                      \
	EXPORT int name(const char *text, FILE *stream)                                            \
	{                                                                                          \
		PUT_LINE(name, kind, stream, strlen(text), (text, stream));                        \
	}

#define GOT_LINE(name, kind, args)                                                                 \
	struct unread before;                                                                      \
	struct op op;                                                                              \
	int64_t bytes;                                                                             \
	char *got;                                                                                 \
                                                                                                   \
	/* no room for a character: the stream is not looked at, and need not be one */            \
	if (size < 2 || !op_begin_stream(&op, FN_##name, stream, false, LOCKS(name),               \
					 (uint64_t)size - 1, CALLER))                              \
		return REAL(name) args;                                                            \
	before = stream_unread(stream);                                                            \
	got = REAL(name) args;                                                                     \
	bytes = stream_taken(&op, stream, before, got ? (int64_t)strlen(got) : 0);                 \
	op_end_stream(&op, ETA_OP_##kind, stream, bytes, !got && ferror_unlocked(stream));         \
	return got

#define SHAPE_FGETS(name, kind, type, detail)                                                      \
	EXPORT char *name(char *line, int size, FILE *stream)                                      \
	{                                                                                          \
		GOT_LINE(name, kind, (line, size, stream));                                        \
	}

#define SHAPE_FGETS_CHK(name, kind, type, detail)                                                  \
	EXPORT char *name(char *line, size_t room, int size, FILE *stream)                         \
	{                                                                                          \
		GOT_LINE(name, kind, (line, room, size, stream));                                  \
	}

/* how long the line will be nobody knows: asked for is what came */
#define GOT_DELIMITED(name, kind, args)                                                            \
	struct op op;                                                                              \
	ssize_t n;                                                                                 \
                                                                                                   \
	/* nowhere to put a line: refused before the stream is looked at */                        \
	if (!line || !room ||                                                                      \
	    !op_begin_stream(&op, FN_##name, stream, false, LOCKS(name), 0, CALLER))               \
		return REAL(name) args;                                                            \
	n = REAL(name) args;                                                                       \
	if (n > 0)                                                                                 \
		op_size(&op, (uint64_t)n);                                                         \
	op_end_stream(&op, ETA_OP_##kind, stream, n > 0 ? n : 0,                                   \
		      n < 0 && ferror_unlocked(stream));                                           \
	return n

#define SHAPE_GETLINE(name, kind, type, detail)                                                    \
	EXPORT ssize_t name(char **line, size_t *room, FILE *stream)                               \
	{                                                                                          \
		GOT_DELIMITED(name, kind, (line, room, stream));                                   \
	}

#define SHAPE_GETDELIM(name, kind, type, detail)                                                   \
	EXPORT ssize_t name(char **line, size_t *room, int delimiter, FILE *stream)                \
	{                                                                                          \
		GOT_DELIMITED(name, kind, (line, room, delimiter, stream));                        \
	}

/* ---- characters: counted, unless they are asked for ---- */

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

#define SHAPE_PUTCHAR(name, kind, type, detail)                                                    \
	EXPORT int name(int c)                                                                     \
	{                                                                                          \
		CHARACTER(name, kind, detail, stdout, 1, (c));                                     \
	}

#define SHAPE_PUTW(name, kind, type, detail)                                                       \
	EXPORT int name(int word, FILE *stream)                                                    \
	{                                                                                          \
		CHARACTER(name, kind, detail, stream, sizeof(word), (word, stream));               \
	}

#define SHAPE_FGETC(name, kind, type, detail)                                                      \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		CHARACTER(name, kind, detail, stream, 1, (stream));                                \
	}

#define SHAPE_GETCHAR(name, kind, type, detail)                                                    \
	EXPORT int name(void)                                                                      \
	{                                                                                          \
		CHARACTER(name, kind, detail, stdin, 1, ());                                       \
	}

#define SHAPE_GETW(name, kind, type, detail)                                                       \
	EXPORT int name(FILE *stream)                                                              \
	{                                                                                          \
		CHARACTER(name, kind, detail, stream, sizeof(int), (stream));                      \
	}

/* puts the position back by one */
#define SHAPE_UNGETC(name, kind, type, detail)                                                     \
	EXPORT int name(int c, FILE *stream)                                                       \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (c == EOF) /* no character: the stream is not looked at */                      \
			return REAL(name)(c, stream);                                              \
		if (!DETAIL_##detail) {                                                            \
			call_not_recorded(descriptor(stream));                                     \
			return REAL(name)(c, stream);                                              \
		}                                                                                  \
		if (!op_begin_stream(&op, FN_##name, stream, false, LOCKS(name), 0, CALLER))       \
			return REAL(name)(c, stream);                                              \
		ret = REAL(name)(c, stream);                                                       \
		stream_set(op.file, stream, -1);                                                   \
		stream_unlock(&op, stream);                                                        \
		op_end(&op, ETA_OP_##kind, ret, op.offset);                                        \
		return ret;                                                                        \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_TEXT_FUNCTIONS(X)
#undef X
