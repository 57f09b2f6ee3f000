# QEMU without a guest that runs: its disks are used from its monitor.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import socket
import subprocess
import time

from kernel import path, skip


class Machine:
    """QEMU whose CPUs never begin; its disks are used from its monitor."""

    def __init__(self, name, *options):
        where = path(name + ".sock")
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-S", "-accel", "tcg", "-m", "32", "-nodefaults", "-display", "none", *options,
             "-qmp", f"unix:{os.path.relpath(where)},server=on,wait=off"], stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.monitor = socket.socket(socket.AF_UNIX)
        while self.monitor.connect_ex(os.path.relpath(where)):
            if self.process.poll() is not None:
                skip("QEMU does not start: " + self.process.stderr.read())
            time.sleep(0.02)
        self.answers = self.monitor.makefile()
        self.answers.readline()
        self.ask("qmp_capabilities")
        self.pid = self.process.pid

    def ask(self, command, **arguments):
        self.monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.answers.readline())
            if "event" not in answer:
                return answer

    def io(self, disk, *commands):
        for command in commands:
            said = self.ask("human-monitor-command", **{"command-line": f'qemu-io {disk} "{command}"'})
            assert "return" in said and "error" not in said["return"].lower(), said
