#!/usr/bin/python3
"""pack.py FILE... >INPUT: files of a trace as one input of the fuzzers of otf2 (X.otf2 X.def X/0.evt
X/0.def) and spool (meta process.* user.* cpu.*); "-" for one that is missing. Zeros at the end go."""
import struct
import sys

for name in sys.argv[1:]:
    data = b"" if name == "-" else open(name, "rb").read()
    data = data.rstrip(b"\0") if not name.endswith((".otf2", ".def", ".evt")) else data
    sys.stdout.buffer.write(struct.pack("<I", len(data)) + data)
