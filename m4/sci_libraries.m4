# What the project is built from. OTF2 and jansson are needed; the rest may be absent, and the
# parts that need it are then left out (SCI_SUMMARY says which).

AC_DEFUN([SCI_OTF2], [
  AC_CHECK_HEADER([otf2/otf2.h], [], [AC_MSG_ERROR([otf2/otf2.h not found: install libotf2-trace-dev])])
  AC_CHECK_LIB([otf2], [OTF2_Reader_Open], [OTF2_LIBS=-lotf2],
    [AC_MSG_ERROR([libotf2 not found: install libotf2-trace-dev])])
  AC_SUBST([OTF2_LIBS])
])

AC_DEFUN([SCI_JANSSON], [
  PKG_CHECK_MODULES([JANSSON], [jansson >= 2.9], [],
    [AC_MSG_ERROR([jansson not found: install libjansson-dev])])
  AC_CHECK_HEADER([uthash.h], [], [AC_MSG_ERROR([uthash.h not found: install uthash-dev])])
])

AC_DEFUN([SCI_ZLIB], [
  PKG_CHECK_MODULES([ZLIB], [zlib], [], [AC_MSG_ERROR([zlib not found: install zlib1g-dev])])
])

# pkg-config's eztrace.pc names a wrong include path in Debian 12, so look for the pieces directly.
AC_DEFUN([SCI_EZTRACE], [
  AC_ARG_WITH([eztrace], [AS_HELP_STRING([--without-eztrace], [leave the EZTrace plugins out])],
    [], [with_eztrace=check])
  have_eztrace=no
  AS_IF([test "x$with_eztrace" != xno], [
    AC_CHECK_HEADER([eztrace-lib/eztrace.h], [
      AC_CHECK_LIB([eztrace-lib], [ezt_otf2_register_function], [have_eztrace=yes], [],
        [-leztrace-core -lotf2 -ldl])])
    AS_IF([test "x$with_eztrace" = xyes && test $have_eztrace = no],
      [AC_MSG_ERROR([EZTrace asked for but not found: install eztrace and libeztrace-dev])])
  ])
  AS_IF([test $have_eztrace = yes], [
    EZTRACE_LIBS="-leztrace-lib -leztrace-core"
    # A plugin that takes the place of a built-in one carries its path as soname (doc/plugin.md).
    eztrace_libdir=`dirname "\`$CC -print-file-name=libeztrace-lib.so\`"`
    EZTRACE_LIBDIR=`cd "$eztrace_libdir" && pwd -P`
  ])
  AC_SUBST([EZTRACE_LIBS])
  AC_SUBST([EZTRACE_LIBDIR])
  AM_CONDITIONAL([HAVE_EZTRACE], [test $have_eztrace = yes])
])

AC_DEFUN([SCI_BPF], [
  AC_ARG_WITH([bpf], [AS_HELP_STRING([--without-bpf], [leave the kernel tracer out])],
    [], [with_bpf=check])
  have_bpf=no
  have_bpf_why="disabled"
  AS_IF([test "x$with_bpf" != xno], [
    have_bpf_why=
    PKG_CHECK_MODULES([LIBBPF], [libbpf >= 1.0], [], [have_bpf_why="libbpf >= 1.0 not found"])
    AC_PATH_PROGS([CLANG], [clang clang-14], [], [$PATH:/usr/lib/llvm-14/bin])
    AC_PATH_PROG([BPFTOOL], [bpftool], [], [$PATH:/usr/sbin:/sbin])
    AS_IF([test -z "$CLANG"], [have_bpf_why="clang not found"])
    AS_IF([test -z "$BPFTOOL"], [have_bpf_why="bpftool not found"])
    AS_IF([test -z "$have_bpf_why"], [have_bpf=yes])
    AS_IF([test "x$with_bpf" = xyes && test $have_bpf = no],
      [AC_MSG_ERROR([kernel tracer asked for but $have_bpf_why: install libbpf-dev clang bpftool])])
  ])
  AS_IF([test $have_bpf = yes], [
    AC_CANONICAL_HOST
    AS_CASE([$host_cpu], [x86_64|i?86], [BPF_ARCH=x86], [aarch64], [BPF_ARCH=arm64],
      [BPF_ARCH=$host_cpu])
    # -target bpf forgets the system's headers for this architecture
    BPF_SYSTEM_CFLAGS=`$CLANG -v -E - </dev/null 2>&1 |
      $SED -n '/<...> search starts here:/,/End of search list/s, \(/.*\),-idirafter \1,p' | tr '\n' ' '`
  ])
  AC_SUBST([BPF_ARCH])
  AC_SUBST([BPF_SYSTEM_CFLAGS])
  AS_IF([test $have_bpf = yes],
    [AC_DEFINE([HAVE_BPF], [1], [Define to 1 if the kernel tracer is built.])])
  AM_CONDITIONAL([HAVE_BPF], [test $have_bpf = yes])
])

AC_DEFUN([SCI_LIBUNWIND], [
  AC_ARG_WITH([libunwind], [AS_HELP_STRING([--without-libunwind], [no call stacks])],
    [], [with_libunwind=check])
  have_libunwind=no
  AS_IF([test "x$with_libunwind" != xno], [
    AC_CHECK_HEADER([libunwind.h], [
      AC_CHECK_LIB([unwind], [unw_backtrace], [have_libunwind=yes])])
    AS_IF([test "x$with_libunwind" = xyes && test $have_libunwind = no],
      [AC_MSG_ERROR([libunwind asked for but not found: install libunwind-dev])])
  ])
  AM_CONDITIONAL([HAVE_LIBUNWIND], [test $have_libunwind = yes])
])

# Names of functions and lines for the addresses of calls.
AC_DEFUN([SCI_LIBDW], [
  AC_ARG_WITH([libdw], [AS_HELP_STRING([--without-libdw], [call sites without function and line])],
    [], [with_libdw=check])
  have_libdw=no
  AS_IF([test "x$with_libdw" != xno], [
    PKG_CHECK_MODULES([LIBDW], [libdw], [have_libdw=yes], [have_libdw=no])
    AS_IF([test "x$with_libdw" = xyes && test $have_libdw = no],
      [AC_MSG_ERROR([libdw asked for but not found: install libdw-dev])])
  ])
  AS_IF([test $have_libdw = yes],
    [AC_DEFINE([HAVE_LIBDW], [1], [Define to 1 if libdw of elfutils is there.])],
    [LIBDW_CFLAGS= LIBDW_LIBS=])
])

# CTF traces, as LTTng writes them.
AC_DEFUN([SCI_BABELTRACE2], [
  AC_ARG_WITH([babeltrace2], [AS_HELP_STRING([--without-babeltrace2], [no traces of LTTng (CTF)])],
    [], [with_babeltrace2=check])
  have_babeltrace2=no
  AS_IF([test "x$with_babeltrace2" != xno], [
    PKG_CHECK_MODULES([BABELTRACE2], [babeltrace2 >= 2.0], [have_babeltrace2=yes],
      [have_babeltrace2=no])
    AS_IF([test "x$with_babeltrace2" = xyes && test $have_babeltrace2 = no],
      [AC_MSG_ERROR([babeltrace2 asked for but not found: install libbabeltrace2-dev])])
  ])
  AS_IF([test $have_babeltrace2 = yes],
    [AC_DEFINE([HAVE_BABELTRACE2], [1], [Define to 1 if libbabeltrace2 is there.])],
    [BABELTRACE2_CFLAGS= BABELTRACE2_LIBS=])
])

# Perfetto's format.
AC_DEFUN([SCI_PROTOBUF_C], [
  AC_ARG_WITH([protobuf-c], [AS_HELP_STRING([--without-protobuf-c], [no export in Perfetto's format])],
    [], [with_protobuf_c=check])
  have_protobuf_c=no
  AS_IF([test "x$with_protobuf_c" != xno], [
    PKG_CHECK_MODULES([PROTOBUF_C], [libprotobuf-c >= 1.3], [have_protobuf_c=yes], [have_protobuf_c=no])
    AC_PATH_PROG([PROTOC_C], [protoc-c])
    AS_IF([test -z "$PROTOC_C"], [have_protobuf_c=no])
    AS_IF([test "x$with_protobuf_c" = xyes && test $have_protobuf_c = no],
      [AC_MSG_ERROR([protobuf-c asked for but not found: install libprotobuf-c-dev protobuf-c-compiler])])
  ])
  AS_IF([test $have_protobuf_c = yes],
    [AC_DEFINE([HAVE_PROTOBUF_C], [1], [Define to 1 if libprotobuf-c and its compiler are there.])],
    [PROTOBUF_C_CFLAGS= PROTOBUF_C_LIBS=])
  AM_CONDITIONAL([HAVE_PROTOBUF_C], [test $have_protobuf_c = yes])
])

# sci-top's screen.
AC_DEFUN([SCI_CURSES], [
  AC_ARG_WITH([ncursesw], [AS_HELP_STRING([--without-ncursesw], [no sci-top])],
    [], [with_ncursesw=check])
  have_curses=no
  AS_IF([test "x$with_ncursesw" != xno], [
    PKG_CHECK_MODULES([CURSES], [ncursesw], [have_curses=yes], [have_curses=no])
    AS_IF([test "x$with_ncursesw" = xyes && test $have_curses = no],
      [AC_MSG_ERROR([ncursesw asked for but not found: install libncurses-dev])])
  ])
  AM_CONDITIONAL([HAVE_CURSES], [test $have_curses = yes])
])

# sci-analyze-mpi. Elsewhere than in Debian, mpi-c may be ompi-c or mpich; or give MPI_CFLAGS, MPI_LIBS.
AC_DEFUN([SCI_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi], [no sci-analyze-mpi])], [], [with_mpi=check])
  have_mpi=no
  AS_IF([test "x$with_mpi" != xno], [
    PKG_CHECK_MODULES([MPI], [mpi-c], [have_mpi=yes],
      [PKG_CHECK_MODULES([OMPI], [ompi-c], [have_mpi=yes MPI_CFLAGS=$OMPI_CFLAGS MPI_LIBS=$OMPI_LIBS],
        [PKG_CHECK_MODULES([MPICH], [mpich], [have_mpi=yes MPI_CFLAGS=$MPICH_CFLAGS MPI_LIBS=$MPICH_LIBS],
          [have_mpi=no])])])
    AS_IF([test "x$with_mpi" = xyes && test $have_mpi = no],
      [AC_MSG_ERROR([MPI asked for but not found: install libopenmpi-dev])])
  ])
  AM_CONDITIONAL([HAVE_MPI], [test $have_mpi = yes])
])

AC_DEFUN([SCI_TEST_TOOLS], [
  PKG_CHECK_MODULES([CMOCKA], [cmocka], [have_cmocka=yes], [have_cmocka=no])
  AM_CONDITIONAL([HAVE_CMOCKA], [test $have_cmocka = yes])
])

AC_DEFUN([SCI_SUMMARY], [
  AS_ECHO(["
eztrace-sci $PACKAGE_VERSION
  trace library, merge, analysis   yes
  user tracer, spool               yes
  user tracer, EZTrace plugin      $have_eztrace`test $have_eztrace = yes || echo ' (install eztrace libeztrace-dev)'`
  kernel tracer                    $have_bpf`test $have_bpf = yes || echo " ($have_bpf_why)"`
  call stacks (libunwind)          $have_libunwind`test $have_libunwind = yes || echo ' (install libunwind-dev)'`
  lines of call sites (libdw)      $have_libdw`test $have_libdw = yes || echo ' (install libdw-dev)'`
  traces of LTTng (babeltrace2)    $have_babeltrace2`test $have_babeltrace2 = yes || echo ' (install libbabeltrace2-dev)'`
  exports for Perfetto (protobuf-c) $have_protobuf_c`test $have_protobuf_c = yes || echo ' (install libprotobuf-c-dev protobuf-c-compiler)'`
  sci-top (ncursesw)               $have_curses`test $have_curses = yes || echo ' (install libncurses-dev)'`
  sci-analyze-mpi (MPI)            $have_mpi`test $have_mpi = yes || echo ' (install libopenmpi-dev)'`
  unit tests (cmocka)              $have_cmocka`test $have_cmocka = yes || echo ' (install libcmocka-dev)'`
  warnings are errors              ${enable_werror-no}
  sanitizers                       ${SCI_SANITIZE:-none}

  commands    $bindir
  plugins     $libdir/eztrace-sci
" | $SED "s,\${exec_prefix},$prefix,g;s,\${prefix},$prefix,g"])
])
