# Guests that are booted in QEMU for a test: what they boot from, and their monitors.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time

from kernel import SCI_KERNEL, cgroup, inside, need, need_bpf, path, skip, unmount

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
GUEST = os.path.join(BUILD, "guest")
BUSYBOX = "/bin/busybox"
PROGRAMS = "workload", "host-clock"


def need_guests():
    if os.environ.get("SCI_SANITIZED"):
        skip("the guest runs what the normal build made")
    need("qemu-system-x86_64", "cpio", "gzip", "mkfs.ext4")
    need_bpf()
    if os.uname().machine != "x86_64":
        skip("the guest is an x86-64 one")
    if not os.path.exists(BUSYBOX) or b"statically linked" not in subprocess.run(
            ["file", "-L", BUSYBOX], capture_output=True).stdout:
        skip("busybox-static is not installed")


def run(*command, status=0, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    assert result.returncode == status, (command, result.stdout, result.stderr)
    return result


def make_initrd(init, programs=()):
    """initrd.gz in the scratch folder, whose first program is tests/guest/INIT; it has PROGRAMS, too."""
    got = subprocess.run(["sh", os.path.join(SRC, "tests/guest/kernel.sh"), GUEST], capture_output=True, text=True)
    if got.returncode == 77:
        skip(got.stdout.strip())
    assert got.returncode == 0, got.stderr
    root = path("root")
    for name in ("bin", "dev", "proc", "sys", "mnt", "out"):
        os.makedirs(os.path.join(root, name))
    shutil.copytree(os.path.join(GUEST, "modules"), os.path.join(root, "modules"))
    shutil.copy(os.path.join(SRC, "tests/guest", init), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    for program in SCI_KERNEL, *(os.path.join(BUILD, "tests/guest", name) for name in PROGRAMS), *programs:
        shutil.copy(program, os.path.join(root, "bin"))
        for library in re.findall(r"(/\S+) \(0x", run("ldd", program).stdout):
            os.makedirs(os.path.dirname(root + library), exist_ok=True)
            shutil.copy(library, root + library)
    run("sh", "-c", f"cd '{root}' && find . | cpio -o -H newc --quiet | gzip -1 >../initrd.gz")
    shutil.rmtree(root)


def boot_alone(*options, seconds=600):
    """Boots a guest that does by itself what its first program says: the tar archive on its first disk becomes results."""
    with open("out.img", "wb") as image:
        image.truncate(64 << 20)
    result = subprocess.run(
        ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024", "-nographic",
         "-nodefaults", "-no-reboot", "-serial", "stdio", "-kernel", os.path.join(GUEST, "vmlinuz"),
         "-initrd", "initrd.gz", "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr",
         "-drive", "file=out.img,if=virtio,format=raw,cache=unsafe", *options],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    print(result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"))
    assert result.returncode == 0, "the guest did not run"
    with tarfile.open("out.img") as results:
        results.extractall("results")


def report_of(name, program, *options):
    """Of the recording NAME among results: the report on it, and its threads named PROGRAM by time in I/O."""
    print(name, open(f"results/{name}.said").read())
    assert open(f"results/{name}.status").read().strip() == "0", name
    report = json.loads(run(os.path.join(BUILD, "src/sci-analyze"), "--json", *options, f"results/{name}").stdout)
    threads = sorted((t for t in report["threads"] if t["name"].startswith(program + " ")),
                     key=lambda t: -sum(t["io_levels"].values()))
    for thread in threads:
        print(name, thread["io_levels"], thread["reasons"], thread["blame"])
    return report, threads


def ask(monitor, answers, command):
    monitor.sendall(json.dumps({"execute": command}).encode())
    while "event" in (answer := json.loads(answers.readline())):
        pass
    return answer


def connect(where, qemu, console):
    """The monitor of QEMU at the socket WHERE: (socket, its answers)."""
    monitor = socket.socket(socket.AF_UNIX)
    while monitor.connect_ex(where):
        if qemu.poll() is not None:
            skip("QEMU does not start: " + open(console).read())
        time.sleep(0.02)
    answers = monitor.makefile()
    answers.readline()
    ask(monitor, answers, "qmp_capabilities")
    return monitor, answers


def images_on_one_device(formatted=False):
    """
    images/a.img and images/b.img, on one device: the one below it. FORMATTED: each has a file system, else it has random bytes.
    """
    need("losetup")
    with open("disk", "wb") as file:
        file.truncate(300 << 20)

    def loop(*words):
        device = run("losetup", "--find", "--show", *words).stdout.strip()
        atexit.register(subprocess.run, ["losetup", "--detach", device])
        return device

    # a limit of the device below: requests wait at the one above, whoever they are of
    below = loop("disk")
    device = loop("--direct-io=on", below)
    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
    os.mkdir("images")
    run("mount", device, "images")
    atexit.register(unmount, path("images"))
    for name in "a.img", "b.img":
        with open(f"images/{name}", "wb") as file:
            file.write(os.urandom(1 << 20) * 80)
        if formatted:
            run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", f"images/{name}")
    run("sync")
    return below


def limited_images(per_second, direction="read", formatted=False):
    """The same; the device reads, or writes, so often in a second for the control group that is returned."""
    number = os.stat(images_on_one_device(formatted)).st_rdev
    return cgroup("blkio", **{f"blkio__throttle__{direction}_iops_device": f"{os.major(number)}:{os.minor(number)} {per_second}"})


class Unheard(Exception):
    """A guest that does not say what it should."""


def second_line(letter):
    """The option of a guest that has a second serial line."""
    return ["-serial", f"unix:line-{letter}.sock,server=on,wait=off"]


class Guest:
    """
    A guest called LETTER that reads the image images/LETTER.img as ARGUMENTS of its kernel say (tests/guest/vm-score-init), in
    the control group GROUP, None: in ours. LAST: the image that it leaves its results on, made if it is not given.
    """
    LIMIT_SECONDS = 600

    def __init__(self, letter, arguments, group, options=(), prefix=(), last=None):
        self.name = f"sci-{letter}-{os.getpid()}"
        self.letter, self.host = letter, f"guest-{letter}"
        if not last:
            last = f"out-{letter}.img"
            with open(last, "wb") as file:
                file.truncate(64 << 20)
        with open(f"console-{letter}", "w") as console:
            self.qemu = subprocess.Popen((inside(group) if group else []) + [
                *prefix, "qemu-system-x86_64", "-S", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "512",
                "-nographic", "-nodefaults", "-no-reboot", "-serial", f"file:serial-{letter}",
                "-name", f"guest={self.name},debug-threads=on", "-kernel", os.path.join(GUEST, "vmlinuz"),
                "-initrd", "initrd.gz", "-append",
                f"console=ttyS0 quiet panic=-1 mitigations=off nokaslr hostname={self.host} {arguments}",
                "-object", "iothread,id=io0",
                "-drive", f"file=images/{letter}.img,if=none,id=d0,format=raw,cache=none,aio=threads",
                "-device", "virtio-blk-pci,drive=d0,iothread=io0", "-drive", f"file={last},if=virtio,format=raw",
                "-qmp", f"unix:q-{letter}.sock,server=on,wait=off", *options],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        atexit.register(self.qemu.kill)
        self.monitor = connect(f"q-{letter}.sock", self.qemu, f"console-{letter}")

    def begin(self):
        ask(*self.monitor, "cont")

    def open_line(self):
        """Its second serial line (an option of it): for tell() and hear()."""
        self.line = socket.socket(socket.AF_UNIX)
        self.line.settimeout(self.LIMIT_SECONDS)
        self.line.connect(f"line-{self.letter}.sock")
        self.answers = self.line.makefile()

    def tell(self, text):
        self.line.sendall(text.encode() + b"\n")

    def hear(self, word):
        """The words behind WORD, which its next line has to begin with; Unheard."""
        try:
            said = self.answers.readline().split()
        except TimeoutError:
            raise Unheard(f"a guest did not answer within {self.LIMIT_SECONDS} s") from None
        if not said or said[0] != word:
            raise Unheard(f"a guest said {said} in place of {word}")
        return said[1:]

    def said(self):
        return open(f"serial-{self.letter}", errors="replace").read()

    def wait_for(self, text):
        while text not in self.said():
            assert self.qemu.poll() is None, self.said()
            time.sleep(0.05)

    def end(self):
        """Its spool, once it has ended."""
        try:
            self.qemu.wait(self.LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            sys.exit(f"a guest did not end within {self.LIMIT_SECONDS} s:\n" + self.said())
        with tarfile.open(f"out-{self.letter}.img") as results:
            results.extractall(f"results-{self.letter}")
        assert open(f"results-{self.letter}/status").read().strip() == "0", open(f"results-{self.letter}/said").read()
        return f"results-{self.letter}/guest/kernel.spool"


def run_guests(guests, options=()):
    """Runs GUESTS at once, traced inside and outside: their spools; the host's is host/kernel.spool."""
    tracer = subprocess.Popen([SCI_KERNEL, "--vm=" + ",".join(guest.name for guest in guests), "-o", "host", *options],
                              stderr=subprocess.PIPE, text=True)
    while subprocess.run([SCI_KERNEL, "status", "host"], capture_output=True).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.02)
    for guest in guests:
        guest.begin()
    for guest in guests:
        guest.wait_for("guest: begins")
    for guest in guests:
        guest.threads = {int(tid) for tid in os.listdir(f"/proc/{guest.qemu.pid}/task")}
        with open(f"out-{guest.letter}.img", "r+b") as file:
            file.write(b"go\n")
    spools = [guest.end() for guest in guests]
    complaints = tracer.communicate()[1]
    assert tracer.returncode == 0, complaints
    print(complaints)
    return spools


class Phases:
    """
    Guests a and b of tests/guest/phases-init in the control group GROUP, booted: they work at the same time, again and again.
    """
    def __init__(self, group):
        self.guests = []
        for letter in "ab":
            with open(f"trace-{letter}.img", "wb") as file:
                file.truncate(256 << 20)
            run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", f"trace-{letter}.img")
            # it is the device that they compete for: what else this machine does has its CPUs after them
            self.guests.append(Guest(letter, "", group, second_line(letter), ("nice", "-n", "-19"), f"trace-{letter}.img"))
        for guest in self.guests:
            guest.open_line()
            guest.begin()
        for guest in self.guests:
            guest.hear("ready")
            guest.threads = {int(tid) for tid in os.listdir(f"/proc/{guest.qemu.pid}/task")}

    def run(self, name, what, count, others):
        """
        A thread of a does WHAT (reads, syncs) COUNT times while OTHERS threads of b do so. The host's spool is
        host-NAME/kernel.spool, after end() those of the guests are of-a/NAME/kernel.spool and of-b/NAME/kernel.spool.
        """
        host = f"host-{name}"
        a, b = self.guests
        a.tell(f"{name} {what} 1 {count}")
        b.tell(f"{name} {what} {others} 0")
        for guest in self.guests:
            guest.hear("begun")
        tracer = subprocess.Popen([SCI_KERNEL, "-q", "--vm=" + ",".join(guest.name for guest in self.guests), "-o", host],
                                  stderr=subprocess.PIPE, text=True)
        while subprocess.run([SCI_KERNEL, "status", host], capture_output=True, check=False).returncode:
            assert tracer.poll() is None, tracer.stderr.read()
            time.sleep(0.02)
        b.tell("go")
        # B's threads are at it when A begins
        time.sleep(0.5)
        a.tell("go")
        assert a.hear("done") == ["0"]
        b.tell("stop")
        assert b.hear("done") == ["0"]
        run(SCI_KERNEL, "stop", host)
        said = tracer.communicate()[1]
        assert tracer.returncode == 0, said

    def end(self):
        for guest in self.guests:
            guest.tell("over")
            guest.qemu.wait(guest.LIMIT_SECONDS)
            os.mkdir(f"of-{guest.letter}")
            run("debugfs", "-R", f"rdump / of-{guest.letter}", f"trace-{guest.letter}.img")

    @staticmethod
    def merge(name):
        """The three spools of the run NAME, as NAME.otf2."""
        said = run(os.path.join(BUILD, "src", "sci-merge"), f"host-{name}/kernel.spool", f"of-a/{name}/kernel.spool",
                   f"of-b/{name}/kernel.spool", "-o", f"{name}.otf2").stderr
        print(said)
        # also of one that did nothing
        assert said.count("virtual machine") == 2, said


def blame_by_guest(report, thread, guests):
    """
    Who THREAD of REPORT (sci-analyze --json) was slowed by, in ns: guests, with the threads of their QEMUs; "unknown";
    "others", of this machine, and those that are too many to be named.
    """
    here = os.uname().nodename
    # and those that QEMU has started meanwhile
    qemus = {guest.host: set(guest.threads) | {other["tid"] for other in report["threads"]
                                               if other["host"] == here and other["pid"] in guest.threads}
             for guest in guests}
    blame = {}
    for row in thread["blame"]:
        who = row["name"] if row["name"] == "unknown" else "others"
        for guest in guests:
            if row["host"] == guest.host or (row["host"] == here and row["tid"] in qemus[guest.host]):
                who = guest.host
        blame[who] = blame.get(who, 0) + row["ns"]
    return blame
