#!/usr/bin/python3
# Each function of tests/programs/functions.c is recorded with its bytes, place and result; in
# EZTrace's archive the same as in the spool.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

BUILD = os.environ["SCI_BUILD"]
PROGRAM = os.path.join(BUILD, "tests/programs/functions")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
PLUGINS = os.path.join(BUILD, "plugins")
READ, WRITE, SYNC, OTHER = 3, 4, 6, 0

# function, bytes asked for, offset (None: unknown), result ("n": any that is no error), file;
# what each line does is in functions.c
EXPECTED = {
    "closes": """
        open 0 - n data | write 10 0 10 data | fcntl 0 - n data | fcntl64 0 - n data
        write 5 10 5 data | close_range 0 - 0 data | close_range 0 - 0 data | closefrom 0 - 0 data
        fcloseall 0 - 0 ?""",
    "sizes": """
        open 0 - n data | fcntl 0 - 0 data | flock 0 - 0 data | lockf 7 - 0 data
        lockf64 7 - 0 data | truncate 0 - 0 data | truncate64 0 - 0 data | truncate 0 - -2 absent
        ftruncate 0 52 0 data | ftruncate64 0 53 0 data | fallocate 90 10 0 data
        fallocate64 90 11 0 data | posix_fallocate 90 12 0 data | posix_fallocate64 90 13 0 data
        posix_fallocate 0 0 -22 data | posix_fadvise 15 14 0 data | posix_fadvise64 17 16 0 data
        readahead 19 18 0 data | sync_file_range 21 20 0 data | syncfs 0 - 0 data | sync 0 - 0 ?
        close 0 - 0 data | fsync 0 - 0 work | fdatasync 0 - 0 work | syncfs 0 - 0 work
        syscall 0 - 0 work | close 0 - 0 work""",
    "copies": """
        open 0 - n text | open 0 - n copied | copy_file_range 30 0 30 copied
        copy_file_range 20 7 20 copied | sendfile 10 30 10 copied | sendfile64 4 30 4 text
        read 1 34 1 text | splice 4 40 4 copied | splice 40 27 40 copied | close 0 - 0 text
        close 0 - 0 copied""",
    "maps": """
        open 0 - n mapped | ftruncate 0 16384 0 mapped | mmap 16384 0 n mapped
        mmap64 4096 8192 n mapped | close 0 - 0 mapped | msync 4096 4096 0 mapped
        madvise 4096 8192 0 mapped | munmap 4096 8192 0 mapped | munmap 8192 0 0 mapped
        msync 8192 8192 0 mapped | munmap 8192 8192 0 mapped""",
    "prints": """
        freopen 0 - n out | printf 1 0 1 out | vprintf 2 1 2 out | __printf_chk 3 3 3 out
        __vprintf_chk 4 6 4 out | puts 5 10 5 out | fopen 0 - n printed | fprintf 1 0 1 printed
        vfprintf 2 1 2 printed | __fprintf_chk 3 3 3 printed | __vfprintf_chk 4 6 4 printed
        fputs 5 10 5 printed | fputs_unlocked 6 15 6 printed | fflush 0 - 0 printed
        dprintf 1 21 1 printed | vdprintf 2 22 2 printed | __dprintf_chk 3 24 3 printed
        __vdprintf_chk 4 27 4 printed | fclose 0 - 0 printed | fclose 0 - 0 out
        fopen 0 - n printed | fprintf 3 - 3 printed | fclose 0 - 0 printed""",
    "scans": """
        fopen 0 - n text | fgets 99 0 10 text | fgets_unlocked 99 10 10 text
        __fgets_chk 5 20 5 text | __fgets_unlocked_chk 99 25 5 text | getline 10 30 10 text
        getdelim 1 40 1 text | __getdelim 9 41 9 text | fscanf 1 50 1 text | vfscanf 2 51 2 text
        __isoc99_fscanf 3 53 3 text | __isoc99_vfscanf 3 56 3 text | fgets 99 60 10 text
        fclose 0 - 0 text | freopen 0 - n text | scanf 1 0 1 text | vscanf 1 1 1 text
        __isoc99_scanf 1 2 1 text | __isoc99_vscanf 1 3 1 text | fclose 0 - 0 text""",
    "positions": """
        fopen 0 - n text | setvbuf 64 - 0 text | fread 7 0 7 text | fgetpos 0 - 0 text
        fgetpos64 0 - 0 text | fseek 0 97 0 text | fread 10 97 3 text | fread 10 100 0 text
        fsetpos 0 7 0 text | fread 1 7 1 text | fsetpos64 0 7 0 text | fseek 0 9 0 text
        fwrite 2 9 2 text | setbuf 0 - 0 text | fflush 0 - 0 ? | fclose 0 - 0 text""",
    "asynchronous": """
        open 0 - n text | aio_read 100 0 0 text | aio_suspend 0 - 0 ? | aio_return 100 0 100 text
        aio_read64 50 60 0 text | aio_suspend64 0 - 0 ? | aio_return64 50 60 40 text
        aio_write 100 0 0 text | aio_return 100 0 100 text | aio_write64 50 60 0 text
        aio_return64 50 60 50 text | lio_listio 0 - 0 ? | aio_return 100 0 100 text
        lio_listio64 0 - 0 ? | aio_return64 50 60 50 text | aio_fsync 0 - 0 text
        aio_return 100 0 0 text | aio_fsync64 0 - 0 text | aio_return64 50 60 0 text
        aio_cancel 0 - 2 text | aio_cancel64 0 - 2 text | close 0 - 0 text""",
    "raw": """
        syscall 0 - n text | syscall 10 0 10 text | syscall 3 10 3 text | syscall 4 50 4 text
        syscall 5 60 5 text | syscall 6 13 6 text | syscall 0 - 0 text | read 2 1 2 text
        syscall 0 - 0 text""",
    "metadata": """
        stat 0 - 0 text | stat64 0 - 0 text | lstat 0 - 0 text | lstat64 0 - 0 text
        fstatat 0 - 0 text | fstatat64 0 - 0 text | statx 0 - 0 text | access 0 - -2 absent
        open 0 - n text | fstat 0 - 0 text | fstat64 0 - 0 text | fchmod 0 - 0 text
        futimens 0 - 0 text | close 0 - 0 text | chmod 0 - 0 text | fchmodat 0 - 0 text
        utime 0 - 0 text | utimes 0 - 0 text | utimensat 0 - 0 text | mkdir 0 - 0 dir
        mkdirat 0 - 0 dir2 | link 0 - 0 text | linkat 0 - 0 text | symlink 0 - 0 sym
        symlinkat 0 - 0 sym2 | readlink 0 - 4 sym | rename 0 - 0 sym | renameat 0 - 0 sym3
        renameat2 0 - 0 sym | opendir 0 - n dir | readdir 0 - 1 dir | readdir64 0 - 1 dir
        readdir 0 - 1 dir | readdir 0 - 0 dir | closedir 0 - 0 dir | unlink 0 - 0 link
        unlinkat 0 - 0 link2 | remove 0 - 0 sym2 | rmdir 0 - 0 dir""",
    "characters": """
        freopen 0 - n out | freopen 0 - n text | putchar 1 0 1 out | putchar_unlocked 1 1 1 out
        getchar 1 0 1 text | getchar_unlocked 1 1 1 text | fopen 0 - n chars | fputc 1 0 1 chars
        fputc_unlocked 1 1 1 chars | putc 1 2 1 chars | putc_unlocked 1 3 1 chars
        _IO_putc 1 4 1 chars | putw 4 5 4 chars | rewind 0 0 0 chars | fgetc 1 0 1 chars
        fgetc_unlocked 1 1 1 chars | getc 1 2 1 chars | getc_unlocked 1 3 1 chars
        _IO_getc 1 4 1 chars | ungetc 0 5 101 chars | fgetc 1 4 1 chars | getw 4 5 4 chars
        fwrite 5 9 5 chars | fclose 0 - 0 chars | fclose 0 - 0 out | fclose 0 - 0 text""",
}
ENVIRONMENT = {"metadata": {"SCI_METADATA": "1"}, "characters": {"SCI_DETAIL": "chars"}}


class Scratch:
    """A folder with the files that functions.c expects."""

    def __enter__(self):
        self.top = tempfile.mkdtemp()
        self.work = os.path.join(self.top, "work")
        self.spool = os.path.join(self.top, "spool")
        os.mkdir(self.work)
        os.mkdir(self.spool)
        with open(os.path.join(self.work, "data"), "wb") as data:
            data.write(bytes(100))
        with open(os.path.join(self.work, "text"), "w", encoding="ascii") as text:
            text.write("".join(str(i) * 9 + "\n" for i in range(10)))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)


def in_spool(part, **more):
    with Scratch() as scratch:
        env = dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=scratch.spool, **more)
        subprocess.run([PROGRAM, part], cwd=scratch.work, env=env, check=True)
        result = spool.Spool(scratch.spool)
        assert result.lost == 0, part
        result.data = {name: open(os.path.join(scratch.work, name), "rb").read()
                       for name in os.listdir(scratch.work)
                       if os.path.isfile(os.path.join(scratch.work, name))}
        return result


def expected(part):
    for field in re.split(r"\||\n", EXPECTED[part]):
        if field.strip():
            name, size, offset, ret, path = field.split()
            yield (name, int(size), None if offset == "-" else int(offset), ret,
                   "" if path == "?" else path)


def rows(ops, wanted):
    """OPS as rows like those of WANTED: a result that may be any is "n"."""
    for i, op in enumerate(ops):
        any_ret = i < len(wanted) and wanted[i][3] == "n" and op.ret >= 0
        yield (op.name, op.size or 0, op.offset, "n" if any_ret else str(op.ret),
               os.path.basename(op.path))


def compare(part, got, wanted):
    for one, other in zip(got, wanted):
        assert one == other, "%s: got %s, expected %s" % (part, one, other)
    assert len(got) == len(wanted), (part, got[len(wanted):], wanted[len(got):])


def lists():
    for part in EXPECTED:
        wanted = list(expected(part))
        compare(part, list(rows(in_spool(part, **ENVIRONMENT.get(part, {})).ops, wanted)), wanted)


def kinds():
    """What a call did where its name alone does not tell."""
    ops = in_spool("copies").ops
    assert [op.kind for op in ops if op.name == "sendfile64"] == [READ]
    assert {op.kind for op in ops if op.name in ("sendfile", "splice")} == {WRITE}
    ops = in_spool("raw").ops
    assert [op.kind for op in ops if op.name == "syscall"] == [1, READ, WRITE, READ, WRITE, READ,
                                                               SYNC, 2]
    ops = in_spool("asynchronous").ops
    assert [op.kind for op in ops if op.name.startswith("aio_return")] == \
        [READ, READ, WRITE, WRITE, READ, WRITE, OTHER, OTHER]
    assert [op.kind for op in in_spool("closes").ops if op.name == "fcntl"] == [1]


def made():
    """Files whose names the function makes up."""
    ops = in_spool("makes").ops
    opens = [op for op in ops if op.kind == 1]
    names = ["mkstemp", "mkstemp64", "mkostemp", "mkostemp64", "mkstemps", "mkstemps64",
             "mkostemps", "mkostemps64", "tmpfile", "tmpfile64"]
    assert [op.name for op in opens] == names
    assert all(re.search(r"/made\w{6}(\.c)?$", op.path) for op in opens[:8]), opens
    assert len({op.path for op in opens[:8]}) == 8


def flags():
    """What O_APPEND does to places, and fcntl to O_APPEND and O_DIRECT, of a dup, too."""
    s = in_spool("flags")
    got = [(op.name, op.size, op.offset, op.ret) for op in s.ops if op.name in ("read", "write",
                                                                             "pwrite")]
    assert got[:7] == [("read", 10, 0, 10), ("write", 3, 100, 3), ("pwrite", 1, None, 1),
                       ("write", 1, 104, 1), ("write", 1, 1, 1), ("write", 1, 2, 1),
                       ("write", 1, 105, 1)], got
    # the file as it is tells whether that is true
    assert s.data["text"][100:] == b"abcdeh" and s.data["text"][1:3] == b"fg"
    by_op = [(op.name, next(f.open_flags for (_, ident), f in s.files.items() if ident == op.file))
             for op in s.ops]
    appends = [bool(oflags & os.O_APPEND) for name, oflags in by_op if name == "write"]
    assert appends == [True, True, False, False, True], by_op
    if len(got) > 7:
        assert [bool(oflags & os.O_DIRECT) for name, oflags in by_op if name == "read"] == \
            [False, True], by_op


def characters_counted():
    """By default characters are no records, but a number."""
    s = in_spool("characters")
    assert [op.name for op in s.ops] == ["freopen", "freopen", "fopen", "rewind", "fwrite",
                                         "fclose", "fclose", "fclose"], s.ops
    assert [op.offset for op in s.ops if op.name == "fwrite"] == [9]
    assert sum(h.not_recorded for h in s.headers.values()) == 18, s.headers


def metadata_is_asked_for():
    names = {op.name for op in in_spool("metadata").ops}
    assert names == {"open", "close"}, names


def all_descriptors():
    s = in_spool("copies", SCI_ALL_FDS="1")
    piped = [(op.name, op.ret) for op in s.ops if op.path.startswith("pipe:[")]
    assert piped[:2] == [("sendfile64", 4), ("vmsplice", 40)], piped
    assert {f.kind for f in s.files.values() if f.path.startswith("pipe:[")} == {5}
    assert in_spool("pipes").ops == []
    ops = in_spool("pipes", SCI_ALL_FDS="1").ops
    ops = [op for op in ops if op.pid == ops[0].pid and op.path.startswith("pipe:[")]
    got = [(op.name, op.ret) for op in ops if op.name not in ("open", "popen")]
    assert got[:6] == [("write", 7), ("read", 7), ("tee", -22), ("close", 0), ("close", 0),
                       ("fgets", 7)], got
    assert [op.name for op in ops if op.name in ("popen", "pclose")] == ["popen", "pclose"]
    terminals = [f for f in s.files.values() if f.path.startswith("/dev/pts/")]
    assert all(f.kind == 7 for f in terminals)


# each function gives another number, and is called once
QUEUE_FUNCTIONS = [
    ("int io_submit(void *c, long n, void *l)", "io_submit(0, 2, 0)"),
    ("int io_getevents(void *c, long a, long n, void *e, void *t)", "io_getevents(0, 1, 2, 0, 0)"),
    ("int io_pgetevents(void *c, long a, long n, void *e, void *t, void *m)",
     "io_pgetevents(0, 1, 2, 0, 0, 0)"),
    ("int io_uring_submit(void *r)", "io_uring_submit(0)"),
    ("int io_uring_submit_and_get_events(void *r)", "io_uring_submit_and_get_events(0)"),
    ("int io_uring_get_events(void *r)", "io_uring_get_events(0)"),
    ("int io_uring_enter(unsigned f, unsigned s, unsigned n, unsigned g, void *m)",
     "io_uring_enter(0, 1, 1, 0, 0)"),
    ("int io_uring_enter2(unsigned f, unsigned s, unsigned n, unsigned g, void *m, unsigned long b)",
     "io_uring_enter2(0, 1, 1, 0, 0, 8)"),
    ("int io_uring_submit_and_wait(void *r, unsigned n)", "io_uring_submit_and_wait(0, 1)"),
    ("int io_uring_submit_and_wait_timeout(void *r, void *c, unsigned n, void *t, void *m)",
     "io_uring_submit_and_wait_timeout(0, 0, 1, 0, 0)"),
    ("int io_uring_wait_cqes(void *r, void *c, unsigned n, void *t, void *m)",
     "io_uring_wait_cqes(0, 0, 1, 0, 0)"),
    ("int io_uring_wait_cqe_timeout(void *r, void *c, void *t)",
     "io_uring_wait_cqe_timeout(0, 0, 0)"),
    ("int __io_uring_get_cqe(void *r, void *c, unsigned s, unsigned n, void *m)",
     "__io_uring_get_cqe(0, 0, 0, 1, 0)")]


def queues():
    """libaio and liburing, in the place of which stands a library that only counts."""
    compiler = shutil.which("cc")
    if not compiler:
        print("no compiler: the functions of libaio and liburing are not called")
        return
    with Scratch() as scratch:
        library, program = os.path.join(scratch.top, "libq.so"), os.path.join(scratch.top, "q")
        bodies = "".join("%s { return %d; }\n" % (text, i + 1)
                         for i, (text, _) in enumerate(QUEUE_FUNCTIONS))
        calls = "".join("%s;\n" % text for text, _ in QUEUE_FUNCTIONS) + "int main(void) { return " + \
            " || ".join("%s != %d" % (call, i + 1) for i, (_, call) in enumerate(QUEUE_FUNCTIONS)) + "; }"
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True,
                       input=bodies.encode())
        subprocess.run([compiler, "-x", "c", "-", "-x", "none", library, "-Wl,-rpath," + scratch.top,
                        "-o", program], check=True, input=calls.encode())
        subprocess.run([program], check=True, env=dict(os.environ, LD_PRELOAD=TRACER,
                                                       SCI_SPOOL_DIR=scratch.spool))
        result = spool.Spool(scratch.spool)
        names = [call.split("(")[0] for _, call in QUEUE_FUNCTIONS]
        assert [(op.name, op.ret) for op in result.ops] == \
            [(name, i + 1) for i, name in enumerate(names)], result.ops
        reported = [text.split("=")[0] for texts in result.properties.values() for text in texts]
        assert {"asynchronous_libaio", "asynchronous_io_uring"} <= set(reported), reported


def both_sinks():
    """The same program under EZTrace: names, bytes, places, results."""
    if not os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")) or \
            not shutil.which("eztrace"):
        print("not compared with EZTrace's archive: not built or not installed")
        return
    try:
        import otf2
    except ImportError:
        print("not compared with EZTrace's archive: python3-otf2 is not installed")
        return
    for part in EXPECTED:
        with Scratch() as scratch:
            env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS, **ENVIRONMENT.get(part, {}))
            subprocess.run(["eztrace", "-t", "posixio", PROGRAM, part], cwd=scratch.work, env=env,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            got = []
            stack = []
            anchor = os.path.join(scratch.work, "functions_trace/eztrace_log.otf2")
            with otf2.reader.open(anchor) as trace:
                for _, event in trace.events:
                    if isinstance(event, otf2.events.Enter):
                        stack.append([event, None])
                    elif isinstance(event, otf2.events.IoOperationBegin):
                        stack[-1][1] = event
                    elif isinstance(event, otf2.events.Leave):
                        enter, io = stack.pop()
                        if enter.region.source_file != "user":  # EZTrace's own
                            continue
                        at = {a.name: v for a, v in (enter.attributes or {}).items()}
                        back = {a.name: v for a, v in (event.attributes or {}).items()}
                        transfer = io and io.mode != otf2.IoOperationMode.FLUSH
                        size = io.bytes_request if transfer else at.get("size")
                        ret = -back["errno"] if "errno" in back else back.get("ret", size)
                        got.append((enter.region.name, at.get("offset"), ret, size))
        wanted = list(expected(part))
        for (name, _, _, size), want in zip(got, wanted):
            assert size in (None, want[1]), (part, name, size, want)  # None: no transfer
        got = [(name, offset, "n" if want[3] == "n" and ret >= 0 else str(ret))
               for (name, offset, ret, _), want in zip(got, wanted)] + got[len(wanted):]
        compare(part + " under EZTrace", got, [(name, None if name in SEEKS else offset, ret)
                                               for name, _, offset, ret, _ in wanted])


# a seek's new place is in its IoSeek event
SEEKS = ("fseek", "fsetpos", "fsetpos64", "rewind")

for test in (lists, kinds, made, flags, characters_counted, metadata_is_asked_for,
             all_descriptors, queues, both_sinks):
    test()
