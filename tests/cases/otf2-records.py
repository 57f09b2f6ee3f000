#!/usr/bin/python3
# Archives with I/O records and no regions, as lo2s and some of Score-P's are: each is an operation.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import tempfile

try:
    import otf2
    from otf2.enums import (IoHandleFlag, IoOperationFlag, IoOperationMode, IoParadigmClass,
                            IoParadigmFlag, LocationGroupType)
except ImportError:
    print("skipped: python3-otf2 is not installed")
    sys.exit(77)

ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
DUMP = os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "dump-trace")
NONE, NON_BLOCKING = IoOperationFlag.NONE, IoOperationFlag.NON_BLOCKING
READ, WRITE = IoOperationMode.READ, IoOperationMode.WRITE


def write(folder):
    with otf2.writer.open(folder, archive_name="traces", timer_resolution=10**9) as trace:
        define = trace.definitions
        root = define.system_tree_node("machine", class_name="machine")
        disk = define.system_tree_node("sda", class_name="block dev", parent=root)
        process = define.location_group("app", system_tree_parent=root,
                                        location_group_type=LocationGroupType.PROCESS)
        disk_group = define.location_group("sda", system_tree_parent=disk,
                                     location_group_type=LocationGroupType.PROCESS)
        thread = define.location("thread 42", group=process)
        device = define.location("sda", group=disk_group)
        posix = define.io_paradigm("posix", "POSIX I/O", IoParadigmClass.SERIAL,
                                   IoParadigmFlag.NONE)
        block = define.io_paradigm("block_io", "block layer I/O", IoParadigmClass.SERIAL,
                                   IoParadigmFlag.NONE)
        data = define.io_handle("data", define.io_regular_file("/data/file", root), posix,
                                IoHandleFlag.NONE)
        sda = define.io_handle("sda", define.io_regular_file("/dev/sda", disk), block,
                               IoHandleFlag.NONE)
        main = define.region("main")
        w = trace.event_writer_from_location(thread)
        for i in range(10):
            at = 1000 * i
            w.io_operation_begin(at + 100, data, READ if i % 2 else WRITE, NONE, 4096, i)
            w.io_operation_complete(at + 300, data, 4096, i)
        # goes on after the thread has handed it over; the next begins meanwhile
        w.io_operation_begin(20000, data, READ, NON_BLOCKING, 8192, 100)
        w.io_operation_issued(20050, data, 100)
        w.io_operation_begin(20100, data, READ, NON_BLOCKING, 8192, 101)
        w.io_operation_issued(20130, data, 101)
        w.io_operation_complete(20400, data, 8192, 100)
        w.io_operation_complete(20500, data, 8192, 101)
        # a region around it is the operation
        w.enter(30000, main)
        w.io_operation_begin(30010, data, WRITE, NONE, 512, 102)
        w.io_operation_complete(30020, data, 512, 102)
        w.leave(30100, main)
        w = trace.event_writer_from_location(device)
        w.io_operation_begin(150, sda, WRITE, NONE, 4096, 1)
        w.io_operation_complete(250, sda, 4096, 1)


with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
    write(os.path.join(scratch, "archive"))
    anchor = os.path.join(scratch, "archive", "traces.otf2")
    text = subprocess.run([DUMP, anchor], capture_output=True, text=True, check=True).stdout
    own = [line.split()[1:] for line in text.splitlines()
           if "POSIX I/O" in line and (" ENTER " in line or " LEAVE " in line)]
    # begin to complete, or to issued where the thread goes on
    spans = [(int(a[0]), int(b[0])) for a, b in zip(own[::2], own[1::2])]
    assert spans == [(1000 * i + 100, 1000 * i + 300) for i in range(10)] + \
        [(20000, 20050), (20100, 20130)], spans
    assert "ENTER POSIX I/O write" in text and "ENTER POSIX I/O read" in text, text
    # the device's requests are no calls of anybody
    assert "block layer I/O" not in text.replace("paradigm", ""), text

    report = json.loads(subprocess.run([ANALYZE, anchor, "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    assert report["trace"]["operations"] == 13, report["trace"]
    assert report["application"]["io_ns"] == 10 * 200 + 50 + 30 + 100, report["application"]
    file, = (f for f in report["files"] if f["path"] == "/data/file")
    assert file["operations"] == 13 and file["bytes_written"] == 5 * 4096 + 512, file
