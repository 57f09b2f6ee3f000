#!/usr/bin/python3
"""The forms that the tools behind our importers can write, one by one, as their sources have them:
what each of these short logs means was worked out by hand, and nothing of it may go unread."""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import imports  # noqa: E402
from imports import archive, equal, fail, path, run  # noqa: E402
import otf2  # noqa: E402
from otf2.events import Enter, Leave  # noqa: E402
import unified  # noqa: E402


def write(name, content):
    with open(path(name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.lstrip("\n").encode())
    return path(name)


def calls():
    """(thread, region, ns it lasts, size, offset) of every call, in the order they begin."""
    found, stacks = [], {}
    with otf2.reader.open(archive) as trace:
        for location, event in trace.events:
            if isinstance(event, Enter):
                call = [location.name, event.region.name, event.time,
                        *(unified.attribute(event, name) for name in ("size", "offset"))]
                stacks.setdefault(location.name, []).append(call)
                found.append(call)
            elif isinstance(event, Leave):
                call = stacks[location.name].pop()
                call[2] = event.time - call[2]
    return [tuple(call) for call in found]


def check(what, content, name="x.log", source=None, block=None, expected=None, strict=False, **counts):
    """Imports CONTENT: the source it is taken for, its calls, requests and counts."""
    log = write(name, content)
    got = run("sci-import", log, "-o", archive, *(["--strict"] if strict else []))
    if got.returncode != (1 if strict else 0):
        fail(f"{what}: status {got.returncode}: {got.stdout}{got.stderr}")
    printed = imports.counts(got.stdout)
    for word, n in {"bad": 0, "lost": 0, "orphan": 0, "truncated": 0, "overlapping regions": 0, **counts}.items():
        equal(f"{what}: {word}", printed.get(word, 0), n)
    if source:
        equal(f"{what}: --format={source}", run("sci-import", "-f", source, log, "-o", archive).returncode, 0)
    if expected is not None:
        equal(what, calls(), expected)
    equal(f"{what}: requests", dict(unified.read(archive)["block"]), block or {})
    return got


def refused(what, content, message, name="x.log"):
    imports.refused(what, write(name, content), message)


def files():
    """The paths that the archive defines."""
    return set(re.findall(r'IO_(?:REGULAR_FILE|FILE|DIRECTORY)\s.*?Name: "([^"]*)"',
                          run("otf2-print", "-G", archive).stdout))


# ---- darshan-dxt-parser ----

def dxt():
    # 3.1: no offsets of MPI-IO, Lustre's OSTs; a comma in a name
    check("DXT 3.1", """
# darshan log version: 3.10
# exe: ./ior -a MPIIO
# DXT_POSIX module data

# DXT, file_id: 7, file_name: /scratch/a, b.dat
# DXT, rank: 0, hostname: node1
# DXT, write_count: 1, read_count: 0
# DXT, mnt_pt: /scratch, fs_type: lustre
# DXT, Lustre stripe_size: 1048576, Lustre stripe_count: 2
# DXT, Lustre OSTs: 3
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)  [OST]
 X_POSIX       0  write        0            4096         1000      0.0500      0.0600  [  3]  [ 12]
# DXT_MPIIO module data

# DXT, file_id: 7, file_name: /scratch/a, b.dat
# DXT, rank: 0, hostname: node1
# Module    Rank  Wt/Rd  Segment       Length    Start(s)      End(s)
 X_MPIIO       0  write        0         1000      0.0490      0.0610
 X_MPIIO       0   read        0  -2147483648      0.0700      0.0800
""", source="dxt", expected=[("rank 0 MPIIO", "MPI_File_write", 12000000, 1000, None),
                             ("rank 0 POSIX", "write", 10000000, 1000, 4096),
                             ("rank 0 MPIIO", "MPI_File_read", 10000000, None, None)])
    equal("DXT 3.1: files", files(), {"/scratch/a, b.dat"})
    # after 3.4.7: threads, whose calls overlap; some of it was lost, and the file's name
    text = """
# darshan log version: 3.41
# DXT_POSIX module data

# *WARNING*: The DXT_POSIX module contains incomplete data!
#            This happens when a module runs out of

# DXT, file_id: 7, file_name: (null)
# DXT, rank: 1, hostname: node1
# DXT, number of threads: 2
# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)   [OST]   Pthread-ID
 X_POSIX       1  write        0               0            4096      0.1000      0.3000   [3] [5]   140001
 X_POSIX       1  write        1            4096            4096      0.2000      0.4000   [3]   140002
 X_POSIX       1  write        2            8192            4096      0.3000      0.5000   [5]   140001
 X_POSIX       1   read        0               0              10      0.6000      0.6000    N/A
"""
    expected = [("rank 1 POSIX pthread 140001", "write", 200000000, 4096, 0),
                ("rank 1 POSIX pthread 140002", "write", 200000000, 4096, 4096),
                ("rank 1 POSIX pthread 140001", "write", 200000000, 4096, 8192),
                ("rank 1 POSIX", "read", 0, 10, 0)]
    got = check("DXT with threads", text, source="dxt", expected=expected, lost=1)
    equal("DXT: incomplete data is said", "x.log:4: Darshan's memory" in got.stderr, True)
    check("DXT, strictly", text, strict=True, lost=1)
    # threads that the log does not tell: never silently
    check("DXT, threads unreported", """
# darshan log version: 3.41
# DXT_POSIX module data
# DXT, file_id: 7, file_name: /a
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
 X_POSIX       0  write        0               0         1000      0.0500      0.0700
 X_POSIX       0  write        1            1000         1000      0.0600      0.0800
 X_POSIX       0  write        2            2000         1000      0.0800      0.0900
 X_POSIX       0  write        3            3000         1000      0.0900      0.0900
""", **{"overlapping regions": 1})
    log = write("x.log", "# darshan log version: 3.41\n\n# no DXT module data available for this Darshan log.\n")
    got = run("sci-import", log, "-o", archive)
    equal("no DXT: how to get it", (got.returncode, "DXT_ENABLE_IO_TRACE=1" in got.stderr), (0, True))
    refused("DXT, a far offset", "# darshan log version: 3.41\n X_POSIX 0 write 0 99999999999999999999 1 0.1 0.2\n",
            "x.log:2: .*is no offset")
    refused("darshan-parser", "# darshan log version: 3.41\nPOSIX\t-1\t77\tPOSIX_OPENS\t1\t/a\t/\text4\n",
            "x.log:2: .*darshan-dxt-parser")


# ---- IOTracer ----

def iotracer_rows(*rows):
    return "".join("\t".join(row.split()) + "\n" for row in rows)


def iotracer():
    # January 2021: probes 4 and 5 at level V are the page cache's, 7 is a bio seen again, 8 its end
    check("IOTracer, January 2021", iotracer_rows(
        "1000 V W 0 4096 1 77 app 5 2", "1100 V W 8192 4096 4 77 app 5 2", "1200 V W 8192 4096 3 77 app 5 2",
        "1300 B W 640 4096 6 77 app 5 2", "1310 B W 640 4096 7 77 app 5 2", "9000 B W 648 0 8 77 app 5 2",
        "9500 V R 0 10 5 78 app 5 2"), source="iotracer",
        block={"begun": 1, "completed": 1, "bytes": 4096}, expected=[
            ("app tid 77", "vfs:vfs_write", 200, 4096, None),  # the file's position, not where it writes
            ("app tid 77", "pagecache:__generic_file_write_iter", 0, 4096, 8192),
            ("app tid 77", "pagecache:generic_perform_write", 0, 4096, None),
            ("app tid 78", "pagecache:generic_file_read_iter", 0, 10, 0)], **{"without I/O": 1})
    # commas: the first form has no probes, the second letters; Python 3 quoted what it printed
    check("IOTracer, 7 fields", "1000, 8192, 4096, b'V', b'W', 77, b'app'\n2000, 640, 512, B, R, 77, app\n",
          source="iotracer", block={"begun": 1, "bytes": 512},
          expected=[("app tid 77", "pagecache:__generic_file_write_iter", 0, 4096, 8192)])
    check("IOTracer, 8 fields", "1000, 8192, 4096, V, R, 77, app, C\n1500, 0, 4096, V, W, 77, app, G\n"
          "2000, 640, 512, B, R, 77, app, D\n2001, 640, 512, B, R, 77, app, E\n3000, 641, 0, B, R, 77, app, F\n",
          source="iotracer", block={"begun": 1, "completed": 1, "bytes": 512}, expected=[
              ("app tid 77", "pagecache:generic_file_read_iter", 0, 4096, 8192),
              ("app tid 77", "vfs:vfs_write", 0, 4096, None)], **{"without I/O": 1})
    check("IOTracer, b'...'", iotracer_rows("1000 b'F' b'W' 8192 4096 b'4' b'E' 70 77 b'app' 5 2",
                                            "1900 b'F' b'W' 0 0 b'4' b'L' 70 77 b'app' 0 0"),
          expected=[("app tid 77", "fs:ext4_file_write_iter", 900, 4096, 8192)])
    # -f of IOTracer: no leaves of level V, since its filter looks at garbage there
    check("IOTracer -f", iotracer_rows(
        "1000 V W 0 4096 1 E 70 77 app 5 2", "1100 F W 0 4096 4 E 70 77 app 5 2",
        "1900 F W 9 9 4 L 70 77 app 0 0",
        "3000 V W 0 4096 1 E 70 77 app 5 2", "3100 F W 4096 4096 4 E 70 77 app 5 2",
        "3900 F W 9 9 4 L 70 77 app 0 0", "5000 V W 0 10 1 E 70 77 app 6 2"), expected=[
            ("app tid 77", "vfs:vfs_write", 900, 4096, None),
            ("app tid 77", "fs:ext4_file_write_iter", 800, 4096, 0),
            ("app tid 77", "vfs:vfs_write", 900, 4096, None),
            ("app tid 77", "fs:ext4_file_write_iter", 800, 4096, 4096),
            ("app tid 77", "vfs:vfs_write", 0, 10, None)])
    # the copy without -e: no ends at all; what is one transfer is known by layer, file and size
    unknown = "18446744073709551616"
    check("IOTracer's copy, no ends", "activate vfs probes\n" + "".join(
        f"{t}\t{level}\t{op}\t{address:<22}\t{size:<20}\t{probe}\tE\t70\t77\tapp\t{inode}\t2\n"
        for t, level, op, address, size, probe, inode in (
            (1000, "S", "W", unknown, 4096, 0, 4294967295), (1100, "V", "W", 0, 4096, 1, 5),
            (1200, "F", "W", 0, 4096, 4, 5), (1300, "P", "W", 0, 4096, 7, 5),
            (2000, "S", "R", unknown, 10, 0, 4294967295), (2100, "V", "R", 0, 10, 2, 5),
            (3000, "F", "R", 8192, 512, 5, 5), (3100, "F", "R", 8704, 512, 5, 5))), expected=[
                ("app tid 77", "vfs:sys_write", 300, 4096, None), ("app tid 77", "vfs:vfs_write", 200, 4096, None),
                ("app tid 77", "fs:file_write_iter", 100, 4096, 0),
                ("app tid 77", "pagecache:__generic_file_write_iter", 0, 4096, 0),
                ("app tid 77", "vfs:sys_read", 100, 10, None), ("app tid 77", "vfs:vfs_read", 0, 10, None),
                ("app tid 77", "fs:file_read_iter", 0, 512, 8192), ("app tid 77", "fs:file_read_iter", 0, 512, 8704)],
        **{"without I/O": 1})
    # one leave is lost: its call alone, and not all that follow, is cut short
    check("IOTracer, a lost leave", iotracer_rows(
        "1000 F W 0 10 4 E 70 77 app 5 2", "1900 F W 9 9 4 L 70 77 app 0 0",
        "2000 F W 10 10 4 E 70 77 app 5 2",
        "3000 F W 20 10 4 E 70 77 app 5 2", "3900 F W 9 9 4 L 70 77 app 0 0",
        "4000 F W 30 10 4 E 70 77 app 5 2") + "Possibly lost 2 samples\n", lost=2, truncated=2, expected=[
            ("app tid 77", "fs:ext4_file_write_iter", 900, 10, 0),
            ("app tid 77", "fs:ext4_file_write_iter", 0, 10, 10),
            ("app tid 77", "fs:ext4_file_write_iter", 900, 10, 20),
            ("app tid 77", "fs:ext4_file_write_iter", 0, 10, 30)], **{"without I/O": 1})
    # the leave stands before its enter where the thread moved to another CPU's buffer
    check("IOTracer, out of order", iotracer_rows(
        "1900 F W 9 9 4 L 70 77 app 0 0", "1000 F W 0 10 4 E 70 77 app 5 2"),
        expected=[("app tid 77", "fs:ext4_file_write_iter", 900, 10, 0)])
    # a flush has no sectors; of two bios that end there the last one queued completes
    check("IOTracer, bios", iotracer_rows(
        "1000 B W 640 4096 6 E 70 77 app 5 2", "1100 B W 0 0 6 E 70 77 app 0 0",
        "1200 B W 640 4096 6 E 70 77 app 5 2", "2000 B W 648 0 6 L 0 0 swapper/0 0 0",
        "2100 B W 0 0 6 L 0 0 swapper/0 0 0", "2200 B R 648 0 6 L 0 0 swapper/0 0 0"),
        block={"begun": 3, "completed": 2, "bytes": 8192}, orphan=1)
    # a number that cannot be one stays one that can be counted on, and any other is at least one
    check("IOTracer, losses", iotracer_rows("1000 F W 0 10 4 E 70 77 app 5 2") +
          "Possibly lost 5 samples\nLost ? events\n", lost=6, **{"without I/O": 2})
    got = run("sci-import", write("x.log", iotracer_rows("1000 F W 0 10 4 E 70 77 app 5 2") +
                                  f"Possibly lost {10**30} samples\nPossibly lost 5 samples\n"), "-o", archive)
    lost = int(re.search(r"(\d+) lost", got.stdout)[1])
    equal("IOTracer, a damaged number of losses", lost > 10**15, True)
    # more than a request can have: not cut to what fits
    big = 512 << 32
    refused("IOTracer, a large request", iotracer_rows(f"1000 B W 640 {big} 6 E 70 77 app 5 2"), "x.log:1: no address")
    refused("IOTracer, a far one", iotracer_rows(f"1000 B W {1 << 62} 512 6 E 70 77 app 5 2"), "x.log:1: no address")
    refused("bpftrace, no size", f"1000,W,640,{(1 << 64) - 1},BLK,submit_bio,app,77,5\n", "x.log:1: no address")
    refused("b-com, a large request", f"0.001;W;640;{big};BLK;app;77\n", "x.log:1: .*beyond any device")
    refused("IOTracer's copy, -s r", "activate vfs probes\n1000\tV\tW\t0\t1\t1\tE\t1\t1\ta\t5\t2\n"
            "['1000\\tV\\tW']\n", "x.log:3: .*-s d")


# ---- DIO ----

def dio():
    tag = "265289729|12|86400"
    # its file writer, without bulk, sets no commas, and what it traces need not have a path
    check("DIO, no commas",
          '[{"system_call_name":"read","call_timestamp":1000,"return_timestamp":1500,"pid":7,"tid":8,'
          '"return_value":-1,"error_message":"Input/output error","event_type":"storage","comm":"a",'
          '"args":{"file_descriptor":5,"offset":4096,"bytes_requested":100},"file_tag":"%s"}'
          '{"system_call_name":"process_end","call_timestamp":1600,"pid":7,"tid":8,"return_value":0,'
          '"event_type":"process"}' % tag, source="dio",
          expected=[("a tid 8", "vfs:sys_read", 500, 100, 4096)], **{"without I/O": 1})
    # detailed_data: false has the kernel's names, numbers and no paths
    check("DIO, raw", '[{"system_call_name":"pwrite64","call_timestamp":1000,"return_timestamp":1500,"pid":7,'
          '"tid":7,"return_value":10,"comm":"a","args":{"fd":5,"buf_ptr":"0x7f00","count":12,"offset":77}},\n'
          '{"system_call_name":"ftruncate","call_timestamp":2000,"return_timestamp":2100,"pid":7,"tid":7,'
          '"return_value":0,"comm":"a","args":{"fd":5,"length":1000}}]', source="dio",
          expected=[("a tid 7", "vfs:sys_pwrite64", 500, 12, 77), ("a tid 7", "vfs:sys_ftruncate", 100, None, None)])
    # a path that comes before all, and DIO's own correlation
    check("DIO, paths", '[{"doc_type":"EventPath","file_path":"/d/one","file_type":"Regular file","file_tag":"1|2|3"},'
          '{"system_call_name":"fsync","call_timestamp":1000,"return_timestamp":1500,"pid":7,"tid":7,"return_value":0,'
          '"comm":"a","args":{"file_descriptor":5},"file_tag":"1|2|3"},'
          '{"system_call_name":"fsync","call_timestamp":2000,"return_timestamp":2500,"pid":7,"tid":7,"return_value":0,'
          '"comm":"a","args":{"file_descriptor":6},"file_tag":"1|9|9","fdata":{"file_path":"/d/two"}}]',
          source="dio", **{"without I/O": 1})
    equal("DIO: files", files(), {"/d/one", "/d/two"})
    # inodes have 64 bits
    check("DIO, a large inode", '[{"system_call_name":"fsync","call_timestamp":1000,"return_timestamp":1500,"pid":7,'
          '"tid":7,"return_value":0,"comm":"a","args":{"file_descriptor":5},"file_tag":"265289729|4294967308|3"}]')
    dump = os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "dump-trace")
    equal("DIO: a large inode", re.findall(r"^file .* dev=(\d+) inode=(\d+)", run(dump, archive).stdout, re.M),
          [("265289729", "4294967308")])
    refused("DIO, no times", '[{"system_call_name":"read","pid":7,"tid":8}]', "read: no call_timestamp")


# ---- block requests ----

def ftrace():
    context = "           dd-24071   {} {} 1039.{}: {}\n"
    for what, who, extras in (("context", "", "[001] ....."), ("tgid", "(  24070) ", "[001] d..1."),
                              ("unknown tgid", "(-------) ", "[001] d..1. "), ("no flags", "", "[001]")):
        lines = [context.format(who, extras, "733673", "  7,0    Q  WS 8742 + 2 [dd]"),
                 context.format(who, extras, "733680", "  7,0    m   N cfq message [x]"),
                 context.format(who, extras, "733700", "  7,0    D  WS 8742 + 2 [dd]"),
                 "          <idle>-0       {}[000] d.h1. 1039.733900:   7,0    C  WS 8742 + 2 [0]\n".format(
                     "(-------) " if who else "") if extras.count(".") else
                 "          <idle>-0       [000] 1039.733900:   7,0    C  WS 8742 + 2 [0]\n"]
        for header in ("# tracer: blk\n#\n", ""):
            check(f"ftrace, {what}", header + "".join(lines) + "CPU:1 [LOST 23 EVENTS]\n", lost=23,
                  source="ftrace_blk", block={"begun": 1, "completed": 1, "bytes": 1024})
            equal(f"ftrace, {what}: threads", {n for n in unified.read(archive)["threads"]},
                  {"dd tid 24071", "7:0"})
    # options verbose and blk_cgroup; a name with blanks and brackets, and one that ftrace forgot
    check("ftrace, verbose", """
# tracer: blk
 my [001] dd-24071   [001] ..... 1039.733673:   7,0   1a2b,0  queue  WS 8742 + 2 [my [001] dd]
           <...>-24072   [001] ..... 1039.733680:   7,0   /user.slice  queue  DS 100 + 8 [<...>]
          <idle>-0       [000] d.h1. 1039.733900:   7,0   1a2b,0 complete  WS 8742 + 2 [-5]
""", source="ftrace_blk", block={"begun": 2, "completed": 1, "bytes": 1024 + 4096})
    equal("ftrace, verbose: threads", {n for n in unified.read(archive)["threads"]},
          {"my [001] dd tid 24071", "tid 24072", "7:0"})
    check("ftrace, classic, trace_pipe", "  7,0    1  1039.733673691 24071  Q  RM 8742 + 2 [dd]\n"
          "CPU:0 [LOST EVENTS]\n", lost=1, block={"begun": 1, "bytes": 1024})
    refused("ftrace, cut", "# tracer: blk\n           dd-24071   [001] ..... 1039.7\n", "x.log:2: no time")
    refused("ftrace, no ns", "# tracer: blk\n           dd-1   [001] ..... 12345:   7,0    Q  WS 8742 + 2 [dd]\n",
            "x.log:2: .*trace_clock")
    # blkparse -t: how long each took so far, in brackets
    check("blkparse -t", """
  8,0    1        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    1        2     0.000001829   697  D   W 223490 + 8 (    1829) [kjournald]
  8,0    1        3     0.000481829     0  C   W 223490 + 8 (  480000) [0]
  8,0    1        4     0.000500000   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    1        5     0.000600000   697  D   N 36 (12 00 00 ..) [smartd]
  8,0    1        6     0.000700000     0  C   N (12 00 00 ..) [0]
Skips: 2 forward (1,017 -   0.3%)
""", source="blkparse", lost=1017, block={"begun": 2, "completed": 2, "bytes": 4096})
    # from the first moment on, and all in one
    check("blkparse, at once", "  8,0    1        1     0.000000000   697  D   W 8 + 8 [a]\n"
          "  8,0    1        2     0.000000000     0  C   W 8 + 8 [0]\n",
          source="blkparse", block={"begun": 1, "completed": 1, "bytes": 4096})
    equal("blkparse, at once: issued", run("otf2-print", archive).stdout.count("\nIO_OPERATION_ISSUED"), 1)


def blktrace():
    q, d, c, discard, write_, cgroup = 1, 7, 8, 1 << 29, 1 << 17, 1 << 8
    actions = [(q | write_, 640, 4096), (d | write_ | cgroup, 640, 4096), (c | write_, 640, 4096),
               (q | write_ | discard | cgroup, 0, 8192), (c | write_ | discard, 0, 8192)]
    for what, order, wide in (("version 7", "<", 0), ("version 8", "<", 1), ("another byte order", ">", 0),
                              ("version 8, another byte order", ">", 1)):
        data = b""
        for i, (action, sector, size) in enumerate(actions, 1):
            payload = 8 if action & cgroup else 0  # the group's number
            if wide:
                data += struct.pack(order + "IIQQIIQIIHH12x", 0x65617408, i, 1000 * i, sector, size, 77,
                                    action | 1 << 40, 8 << 20 | 1, 0, 0, payload)
            else:
                data += struct.pack(order + "IIQQIIIIIHH", 0x65617407, i, 1000 * i, sector, size, action, 77,
                                    8 << 20 | 1, 0, 0, payload)
            data += b"\1" * payload
        check(f"blktrace, {what}", data, name="sda.blktrace.0", source="blktrace",
              block={"begun": 2, "completed": 2, "bytes": 12288})
        read = run("otf2-print", archive).stdout
        equal(f"blktrace, {what}: modes", re.findall(r"^IO_OPERATION_BEGIN .*Mode: (\w+)", read, re.M),
              ["WRITE", "FLUSH"])


def qemu():
    begun = {"begun": 2, "completed": 2, "bytes": 4608}
    requests = ("virtio_blk_handle_write {}req 0x55 sector 100 nsectors 8\n",
                "virtio_blk_handle_read {}req 0x66 sector 7 nsectors 1\n",
                "virtio_blk_req_complete {}req 0x55 status 0\n", "virtio_blk_req_complete {}req 0x66 status 1\n",
                "virtio_blk_handle_zone_mgmt {}req 0x77, cmd 0x24, sector 0x0, nr_sectors 0x10\n",
                "virtio_blk_req_complete {}req 0x88 status 0\n")
    for what, prefix, vdev in (("QEMU 2.10", "77@1700000000.00000{}:", "vdev 0x1 "),
                               ("before it", "77@1700000000.00000{}:", ""),
                               ("QEMU 10.2", "2023-11-14T22:13:20.00000{}Z ", "vdev 0x1 ")):
        text = "qemu-system-x86_64: warning: something\n0x7c00:  31 c0  xorw %ax, %ax\n" + "".join(
            prefix.format(i) + request.format(vdev) for i, request in enumerate(requests))
        check(what, text, source="qemu", block=begun, **{"without I/O": 4})
        with otf2.reader.open(archive) as trace:
            times = [event.time for _, event in trace.events]
        equal(f"{what}: lasts", max(times) - min(times), 3000)
    refused("QEMU without times", requests[0].format("vdev 0x1 "), "-msg timestamp=on")


# ---- strace ----

def strace():
    at = "1700000000.{:06d} "
    # what a terminal shows: the first thread's number stands in no line until there is a second
    check("strace on a terminal", at.format(0) + 'execve("/bin/app", ["app"], 0x7ff /* 5 vars */) = 0 <0.000100>\n'
          + at.format(1000) + 'openat(AT_FDCWD, "/tmp/x", O_RDWR|O_CREAT, 0644) = 3</tmp/x> <0.000010>\n'
          + at.format(2000) + 'write(3</tmp/x>, "abc"..., 4096) = 4096 <0.000020>\n'
          + at.format(3000) + "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLDstrace: Process 701 attached\n"
          + "[pid   701] " + at.format(3500) + 'write(3</tmp/x>, "d", 10 <unfinished ...>\n'
          + "[pid   700] " + at.format(3600) + "<... clone resumed>, child_tidptr=0x7f01) = 701 <0.000600>\n"
          + "[pid   701] " + at.format(3700) + "<... write resumed>) = 10 <0.000200>\n"
          + "[pid   700] " + at.format(3800) + 'pwrite64(3</tmp/x>, "e", 5, 100) = 5 <0.000030>\n'
          + "[pid   701] " + at.format(4000) + "+++ exited with 0 +++\n"
          + at.format(4100) + "--- SIGCHLD {si_signo=SIGCHLD} ---\n"
          + at.format(5000) + 'write(3</tmp/x>, "f", 6) = 6 <0.000040>\n'
          + at.format(6000) + "+++ exited with 0 +++\n", source="strace", expected=[
              ("app tid 700", "vfs:sys_openat", 10000, None, None),
              ("app tid 700", "vfs:sys_write", 20000, 4096, 0),
              ("tid 701", "vfs:sys_write", 200000, 10, 4096),  # fork shares the position
              ("app tid 700", "vfs:sys_pwrite64", 30000, 5, 100),
              ("app tid 700", "vfs:sys_write", 40000, 6, 4106)], **{"without I/O": 7})
    # as 6.1 writes it: the rest of the line that strace's word came into, and one that was cut twice
    check("strace on a terminal, lines cut", at.format(0) + "vfork(strace: Process 701 attached\n <unfinished ...>\n"
          + "[pid   701] " + at.format(1000) + 'write(1, "a", 1) = 1 <0.000010>\n'
          + "[pid   700] " + at.format(2000) + "<... vfork resumed>) = 701 <0.002000>\n"
          + "[pid   701] " + at.format(3000) + "+++ exited with 0 +++\n"
          + at.format(4000) + "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 702 attached\n"
          + ", child_tidptr=0x7f01) = 702 <0.000300>\n"
          + "[pid   702] " + at.format(5000) + 'write(1, "b", 2) = 2 <0.000010>\n', expected=[
              ("tid 701", "vfs:sys_write", 10000, 1, None), ("tid 702", "vfs:sys_write", 10000, 2, None)],
          **{"without I/O": 6})
    # it comes into any call of any thread, and what a call returned begins with anything
    rests = (('read(0, ', '"12 3 ", 512', "5"), ("wait4(-1, ", "0x7ffe0b05f11c, WNOHANG, NULL", "0"),
             ("wait4(-1, ", "[{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL", "9"),
             ("pipe2(", "[5<pipe:[7]>, 6<pipe:[7]>], 0", "0"), ("ioctl(0, FIONREAD, ", "[12 /* 3 */]", "0"),
             ("fstat(0, ", "{st_mode=S_IFCHR}", "0"), ("getdents64(4, ", "0 /* 3 entries */, 9", "0"))
    check("strace on a terminal, other lines cut", at.format(0) + "clone(child_stack=NULL, flags=SIGCHLD) = 701 <0.0001>\n"
          + "".join(f"[pid   700] {at.format(1000 * i)}{begin}strace: Process {701 + i} attached\n{rest}) = {ret} <0.00001>\n"
                    for i, (begin, rest, ret) in enumerate(rests, 1)),
          expected=[("tid 700", "vfs:sys_" + name, 10000, size, None)
                    for name, size in (("read", 512), ("fstat", None), ("getdents64", None))],
          **{"without I/O": 12})
    # the first thread ends first: what has no number is of whoever is left
    check("strace, the first thread is gone", at.format(0) + "clone(child_stack=NULL, flags=SIGCHLD) = 701 <0.0001>\n"
          + "[pid   700] " + at.format(1000) + "+++ exited with 0 +++\n"
          + at.format(2000) + 'write(1, "f", 6) = 6 <0.000040>\n',
          expected=[("tid 701", "vfs:sys_write", 40000, 6, None)], **{"without I/O": 2})
    # -p says who it is
    check("strace -p", "strace: Process 77 attached\n" + at.format(0) + 'write(1, "f", 6) = 6 <0.000040>\n'
          + "strace: Process 77 detached\n",
          expected=[("tid 77", "vfs:sys_write", 40000, 6, None)], **{"without I/O": 2})
    # -Y, -n, -i, -N, -k, dumps, the time since the line before
    check("strace -Y -n -i -N -k -tt -r", """
700<my app> 12:00:00.000000 (+     0.000000) [   1] [00007f8e5d1e7a37] write(fd=3</a/\\303\\244 b>(deleted), buf="x", count=1) = 1 <0.000005>
 > /usr/lib/libc.so.6(write+0x17) [0x10e897]
 | 00000  78                                                x                |
700<my app> 12:00:00.500000 (+     0.500000) [   0] [00007f8e5d1e7a37] read(fd=4</b (deleted)>, buf="", count=10) = 0 <0.000005>
""", source="strace", expected=[("my app tid 700", "vfs:sys_write", 5000, 1, None),
                                ("my app tid 700", "vfs:sys_read", 5000, 10, None)], **{"without I/O": 2})
    equal("strace: files", files(), {"/a/ä b", "/b"})
    check("strace [pid N<name>]", "[pid 700<app>] 12:00:00.000000 read(3, \"\", 10) = 0 <0.000005>\n",
          expected=[("app tid 700", "vfs:sys_read", 5000, 10, None)])
    # calls that were interrupted, begun anew, never looked up; threads killed inside of one
    check("strace, interrupted", "".join(f"7 {at.format(i * 1000)}{line}\n" for i, line in enumerate((
        "read(3, 0x7f01, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.0005>",
        "--- SIGALRM {si_signo=SIGALRM} ---",
        "read(3,  <unfinished ...>",
        "<... read resumed> <unfinished ...>",
        "<... read resumed> <unfinished ...>) = ?",
        "restart_syscall(<... resuming interrupted nanosleep ...>) = 0 <0.0001>",
        "????( <unfinished ...>",
        "+++ killed by SIGKILL +++"))), source="strace", expected=[
            ("tid 7", "vfs:sys_read", 500000, 10, None), ("tid 7", "vfs:sys_read", 2000000, None, None)],
        **{"without I/O": 6})
    # sizes of vectors: whole, cut by strace, not readable, of an old version
    check("strace, vectors", "".join(f"7 {at.format(i * 1000)}{line}\n" for i, line in enumerate((
        'writev(3, [{iov_base="a", iov_len=100}, {iov_base="b", iov_len=23}], 2) = 123 <0.0001>',
        'writev(3, [{iov_base="a", iov_len=100}, ...], 3) = 400 <0.0001>',
        "readv(3, 0x7f01, 2) = -1 EFAULT (Bad address) <0.0001>",
        'writev(3, [{iov_base="a", iov_len=18446744073709551615}], 1) = -1 EINVAL (Invalid argument) <0.0001>',
        'writev(3, [{"a", 100}], 1) = 100 <0.0001>'))), expected=[
            ("tid 7", "vfs:sys_writev", 100000, 123, None), ("tid 7", "vfs:sys_writev", 100000, None, None),
            ("tid 7", "vfs:sys_readv", 100000, None, None), ("tid 7", "vfs:sys_writev", 100000, None, None),
            ("tid 7", "vfs:sys_writev", 100000, None, None)])
    # its first line may be longer than what is looked at to tell the format
    check("strace, a long environment", f'7 {at.format(0)}execve("/bin/app", ["app"], ["X={"y" * 5000}"]) = 0 <0.0001>\n'
          f'7 {at.format(1000)}read(3, "", 10) = 0 <0.0001>\n', source="strace",
          expected=[("app tid 7", "vfs:sys_read", 100000, 10, None)], **{"without I/O": 1})
    # a call that takes no time at the first moment of all does tell its end
    got = check("strace -r, at once", "0.000000 read(3, \"\", 10) = 0 <0.000000>\n",
                expected=[("tid 1", "vfs:sys_read", 0, 10, None)])
    equal("strace -r, at once: note", got.stderr, "")
    # so many forks that not all their descriptors can be followed: said, and the rest is read
    lines = [f'openat(AT_FDCWD, "/a", O_RDONLY) = {3 + i} <0.0001>\n' for i in range(1024)]
    lines += [f"fork() = {100 + i} <0.0001>\n" for i in range(1024)]
    lines += ['openat(AT_FDCWD, "/b", O_RDONLY) = 2000 <0.0001>\n']
    got = check("strace, descriptors", "".join(f"7 {at.format(i)}{line}" for i, line in enumerate(lines)),
                **{"without I/O": 1024})
    equal("strace, descriptors: warning", re.search("x.log:[0-9]+: more than 1048576 descriptors", got.stderr) is None,
          False)
    equal("strace, descriptors: files", files(), {"/a", "/b"})
    call = "read(3, \"\", 10) = 0 <{}>\n"
    years = "18446744071.000000"
    refused("strace -r, beyond time", f"0.0 {call.format(0.1)}" + f"{years} {call.format(0.1)}" * 2,
            "x.log:3: .*584 years")
    refused("strace, a long call", at.format(0) + call.format(years), "x.log:1: it lasts longer")
    refused("strace, no time of day", f"7 12:00:00.0 {call.format(0.1)}7 12:00:{years} {call.format(0.1)}",
            "x.log:2: no time before")
    # recorded without times: the same words, whether its format was given or recognised
    untimed = 'execve("/bin/app", ["app"], 0x7ffd /* 9 vars */) = 0\nread(3, "", 10) = 0\n'
    log = write("x.log", untimed)
    said = [run("sci-import", log, "-o", archive, *more).stderr for more in ([], ["-f", "strace"])]
    equal("strace, no times: the same words", said[0], said[1])
    refused("strace, no times", untimed, "x.log:1: no time before the call .*strace -f -ttt -T")
    refused("strace -f, no times", re.sub("^", "12  ", untimed, flags=re.M), "x.log:1: no time before the call")
    refused("strace, a hole", at.format(0) + call.format(0.1) + "\0" * 9 + at.format(1) + call.format(0.1),
            "x.log:2: a zero byte")
    # a 32-bit program's names; raw flags (-X raw) and hexadecimal strings (-xx)
    check("strace, 32 bit", "".join(f"7 {at.format(i * 1000)}{line}\n" for i, line in enumerate((
        "[ Process PID=7 runs in 32 bit mode. ]",
        'open("\\x2f\\x74", 0x8401) = 3 <0.0001>',
        "fstat64(3, {st_mode=S_IFREG|0644, st_size=50, ...}) = 0 <0.0001>",
        '_llseek(3, 4096, [4096], SEEK_SET) = 0 <0.0001>',
        'read(3, "", 10) = 10 <0.0001>',
        "sendfile64(4, 3, [512] => [612], 100) = 100 <0.0001>",
        "sendfile64(4, 3, NULL, 100) = 100 <0.0001>"))), expected=[
            ("tid 7", "vfs:sys_open", 100000, None, None), ("tid 7", "vfs:sys_fstat64", 100000, None, None),
            ("tid 7", "vfs:sys__llseek", 100000, None, None), ("tid 7", "vfs:sys_read", 100000, 10, 4096),
            ("tid 7", "vfs:sys_sendfile64", 100000, 100, 512), ("tid 7", "vfs:sys_sendfile64", 100000, 100, 4106)],
        **{"without I/O": 1})
    equal("strace, 32 bit: files", files(), {"/t"})


# ---- Paje ----

def paje():
    # the number that sci-export put behind a name, in which the same words stand
    check("Paje", """
%EventDef PajeCreateContainer 4
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajePushState 6
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 7
% Time date
% Type string
% Container string
%EndEventDef
4 0.0 P1 CT 0 "a pid b pid 41"
4 0.0 T1 CT P1 "a tid b tid 42"
6 0.5 ST T1 "read"
7 0.75 ST T1
""", source="paje", expected=[("a tid b tid 42", "read", 250000000, None, None)], **{"without I/O": 20})
    dump = run(os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "dump-trace"), archive).stdout
    equal("Paje: numbers", re.findall(r" pid=(\d+)| tid=(\d+)", dump)[:2], [("41", ""), ("", "42")])


dxt()
iotracer()
dio()
ftrace()
blktrace()
qemu()
strace()
paje()
print("every form is read as its tool means it")
