#!/usr/bin/python3
"""pack.py FILE... >INPUT: files of a trace as one input of the fuzzers of otf2 (X.otf2 X.def X/0.evt
X/0.def X/0.runs X/times.index), spool (meta process.* user.* cpu.*; zeros at their ends go) and ctf (metadata and two streams);
"-" for one that is missing."""
import os
import struct
import sys

for name in sys.argv[1:]:
    data = b"" if name == "-" else open(name, "rb").read()
    if os.path.basename(name).split(".")[0] in ("meta", "process", "user", "cpu"):
        data = data.rstrip(b"\0")
    sys.stdout.buffer.write(struct.pack("<I", len(data)) + data)
