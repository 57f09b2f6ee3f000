#!/usr/bin/python3
# The same as kernel-vm-guest.py with a qcow2 image: whose bytes are where is in the host's recording.
# SPDX-License-Identifier: BSD-3-Clause
import os
import runpy

os.environ["SCI_GUEST_FORMAT"] = "qcow2"
runpy.run_path(os.path.join(os.environ["SCI_SRC"], "tests/cases/kernel-vm-guest.py"), run_name="__main__")
