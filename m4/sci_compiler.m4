# Warnings the compiler knows, and the --enable-{werror,asan,ubsan,coverage} switches.

AC_DEFUN([SCI_TRY_CFLAG], [
  AC_CACHE_CHECK([whether $CC takes $1], AS_TR_SH([sci_cv_cflag_$1]), [
    sci_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[]], [[]])],
      [AS_TR_SH([sci_cv_cflag_$1])=yes], [AS_TR_SH([sci_cv_cflag_$1])=no])
    CFLAGS=$sci_saved_CFLAGS
  ])
  AS_VAR_IF(AS_TR_SH([sci_cv_cflag_$1]), [yes], [$2="$$2 $1"])
])

AC_DEFUN([SCI_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors (CI)])])
  SCI_CFLAGS="-std=gnu11"
  m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
      -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wundef -Wvla
      -Wno-missing-field-initializers], [SCI_TRY_CFLAG(flag, [SCI_CFLAGS])])
  AS_IF([test "x$enable_werror" = xyes], [SCI_CFLAGS="$SCI_CFLAGS -Werror"])
  AC_SUBST([SCI_CFLAGS])
])

# What makes a defect an end instead of a way in. The checked functions of the C library need an
# optimizing build, and stand in the way of sanitizers.
AC_DEFUN([SCI_HARDENING], [
  m4_foreach_w([flag], [-fstack-protector-strong -fstack-clash-protection -Wformat-security],
    [SCI_TRY_CFLAG(flag, [SCI_CFLAGS])])
  AS_IF([test -z "$SCI_SANITIZE"], [
    AC_CACHE_CHECK([whether the C library checks buffers], [sci_cv_fortify], [
      sci_saved_CFLAGS=$CFLAGS
      CFLAGS="$CFLAGS -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[]])],
        [sci_cv_fortify=yes], [sci_cv_fortify=no])
      CFLAGS=$sci_saved_CFLAGS
    ])
    AS_IF([test $sci_cv_fortify = yes],
      [SCI_CFLAGS="$SCI_CFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"])
  ])
  SCI_LDFLAGS="-Wl,-z,relro -Wl,-z,now"
  AC_SUBST([SCI_LDFLAGS])
])

AC_DEFUN([SCI_SANITIZERS], [
  AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])])
  AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [build with UndefinedBehaviorSanitizer])])
  AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])])
  AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [build for gcov])])
  SCI_SANITIZE=
  AS_IF([test "x$enable_asan" = xyes], [SCI_SANITIZE="-fsanitize=address"])
  AS_IF([test "x$enable_ubsan" = xyes],
    [SCI_SANITIZE="$SCI_SANITIZE -fsanitize=undefined -fno-sanitize-recover=undefined"])
  AS_IF([test "x$enable_tsan" = xyes],
    [AS_IF([test "x$enable_asan" = xyes], [AC_MSG_ERROR([--enable-asan and --enable-tsan: one of them])])
     SCI_SANITIZE="$SCI_SANITIZE -fsanitize=thread"])
  AS_IF([test -n "$SCI_SANITIZE"], [SCI_SANITIZE="$SCI_SANITIZE -fno-omit-frame-pointer"])
  AS_IF([test "x$enable_coverage" = xyes], [SCI_SANITIZE="$SCI_SANITIZE --coverage"])
  AC_SUBST([SCI_SANITIZE])
  AM_CONDITIONAL([SANITIZED], [test "x$enable_asan$enable_ubsan$enable_tsan" != x])
])
