# A program that writes and syncs a file by three names in turn: most of its time is spent by the second one, "log".
# SPDX-License-Identifier: BSD-3-Clause
RENAMES = """
import os, sys
os.chdir(sys.argv[1])
def use(name, times):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
    for i in range(times):
        os.pwrite(fd, bytes(4096), 0)
        os.fsync(fd)
    os.close(fd)
use("draft", 1)
os.rename("draft", "log")
use("log", 100)
os.rename("log", "late")
use("late", 1)
"""
