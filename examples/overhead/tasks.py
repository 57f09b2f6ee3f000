# What is traced to see what tracing costs: everyday work on files.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import random
import re
import shutil
import subprocess

from cells import Failed
from fio import throughput_mib_s


def must(*command, **more):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if result.returncode:
        raise Failed(f"{command[0]}: {(result.stderr or result.stdout).strip().splitlines()[-1]}")


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            raise Failed(f"{command} is not installed")


class Task:
    """
    COMMAND() is what is timed. prepare() is called once, reset() before each run; both in the folder
    `data`. SCALE: 1 for a measurement of seconds, less for a shorter one.
    """
    name = ""
    processes = 2  # that exist in all, about

    def __init__(self, data, scale):
        self.data, self.scale = data, scale

    def path(self, *names):
        return os.path.join(self.data, *names)

    def amount(self, full, least=1):
        return max(int(full * self.scale), least)

    def prepare(self):
        pass

    def reset(self):
        pass

    def seconds(self, elapsed_s, log):
        """What the run took; for a task of a fixed time, the time for a fixed amount."""
        return elapsed_s


def make_tree(folder, files, rng):
    """Source files as they are: most small, some large, in folders of 50."""
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz_", k=rng.randint(2, 12)))
             for _ in range(500)]
    for i in range(files):
        where = os.path.join(folder, f"d{i // 50}")
        os.makedirs(where, exist_ok=True)
        with open(os.path.join(where, f"f{i}.c"), "wb") as f:
            f.write(b" ".join(rng.choices(words, k=int(rng.lognormvariate(6.5, 1)))))


class TarCreate(Task):
    name = "tar create"

    def prepare(self):
        need("tar")
        make_tree(self.path("tree"), self.amount(8000, 50), random.Random(1))

    def reset(self):
        if os.path.exists(self.path("out.tar")):
            os.unlink(self.path("out.tar"))

    def command(self):
        return ["tar", "-C", self.data, "-cf", self.path("out.tar"), "tree"]


class TarExtract(Task):
    """
    What was extracted before stays, at the side: ext4 looks for an inode that was not freed within the
    last minutes, one after the other, as long as their blocks are in memory. That would be most of
    the time, and depend on the runs before.
    """
    name = "tar extract"
    runs = 0

    def prepare(self):
        need("tar")
        make_tree(self.path("tree"), self.amount(8000, 50), random.Random(1))
        must("tar", "-C", self.data, "-cf", self.path("in.tar"), "tree")

    def reset(self):
        if os.path.exists(self.path("tree")):
            os.rename(self.path("tree"), f"{self.data}.{self.runs}")
            self.runs += 1

    def command(self):
        return ["tar", "-C", self.data, "-xf", self.path("in.tar")]


class Compile(Task):
    name = "compile"

    @property
    def processes(self):
        return 10 + 6 * self.amount(40, 2)

    def prepare(self):
        need("gcc", "make")
        names = [f"part{i}" for i in range(self.amount(40, 2))]
        for name in names:
            with open(self.path(name + ".c"), "w", encoding="ascii") as f:
                f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                        + "".join(f"int {name}_{i}(int n)\n{{\n\tint a[64];\n\tmemset(a, n, "
                                  f"sizeof(a));\n\treturn a[n & 63] * {i};\n}}\n"
                                  for i in range(60)))
        with open(self.path("Makefile"), "w", encoding="ascii") as f:
            f.write("CFLAGS = -O1\nall: " + " ".join(name + ".o" for name in names) + "\n")

    def reset(self):
        for name in glob.glob(self.path("*.o")):
            os.unlink(name)

    def command(self):
        return ["make", "-s", "-C", self.data]


class Gzip(Task):
    name = "gzip"

    def prepare(self):
        need("gzip")
        rng = random.Random(2)
        block = bytes(rng.choices(b"etaoin shrdlu\n", k=1 << 20))
        with open(self.path("text"), "wb") as f:
            for _ in range(self.amount(48, 2)):
                f.write(block)

    def command(self):
        return ["gzip", "-1", "-kf", self.path("text")]


class Sqlite(Task):
    name = "sqlite3"

    def prepare(self):
        need("sqlite3")
        with open(self.path("inserts.sql"), "w", encoding="ascii") as f:
            f.write("create table t (id integer primary key, text);\n")
            # a transaction each: a journal and two fsyncs
            for i in range(self.amount(1500, 20)):
                f.write(f"insert into t values ({i}, 'row {i * 7919}');\n")

    def reset(self):
        for name in glob.glob(self.path("db*")):
            os.unlink(name)

    def command(self):
        return ["sqlite3", self.path("db"), f".read {self.path('inserts.sql')}"]


class Pgbench(Task):
    name = "pgbench"
    processes = 40

    def __init__(self, data, scale):
        super().__init__(data, scale)
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        self.where = os.path.dirname(found[-1]) if found else ""
        # the server refuses root
        self.drop = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.geteuid() == 0 else []

    def prepare(self):
        if not self.where:
            raise Failed("postgres is not installed")
        os.chmod(self.data, 0o777)
        must(*self.drop, os.path.join(self.where, "initdb"), "-D", self.path("db"), "--no-sync",
             "-A", "trust", "-U", "postgres", "--locale=C", cwd=self.data)
        with open(self.path("run"), "w", encoding="ascii") as f:
            f.write(f"""set -u
cd '{self.data}'
PATH={self.where}:$PATH PGUSER=postgres PGHOST='{self.data}'
export PATH PGUSER PGHOST
postgres -D db -k "$PWD" -h '' -c log_min_messages=fatal &
until pg_isready -q; do sleep 0.05; done
"$@"
status=$?
pg_ctl -D db -m fast -w stop
wait
exit $status
""")
        must(*self.drop, "sh", self.path("run"), "pgbench", "-q", "-i", "-s", "1", "postgres")

    def command(self):
        return self.drop + ["sh", self.path("run"), "pgbench", "-n", "-c", "2", "-j", "2", "-t",
                            str(self.amount(2000, 20)), "postgres"]

    def seconds(self, elapsed_s, log):
        """Start and end of the server apart: the time for a transaction, as pgbench measures it."""
        found = re.search(r"tps = ([0-9.]+)", log)
        if not found:
            raise Failed("pgbench: no rate in its output")
        return 1 / float(found.group(1))


class Fio(Task):
    direct, mib = 0, 0

    def prepare(self):
        need("fio")

    def reset(self):
        for name in glob.glob(self.path("w.*")):
            os.unlink(name)

    def command(self):
        return ["fio", "--name=w", f"--directory={self.data}", "--rw=write", "--bs=4k",
                "--ioengine=sync", "--thread", "--numjobs=4", "--group_reporting",
                f"--size={self.amount(self.mib * 1024, 64)}k", f"--direct={self.direct}",
                "--output-format=json"]

    def seconds(self, elapsed_s, log):
        """The time for a MiB: the start of fio is not what is asked for."""
        return 1 / throughput_mib_s(log)


class FioBuffered(Fio):
    name, mib = "fio buffered", 256


class FioDirect(Fio):
    name, direct, mib = "fio O_DIRECT", 1, 16


class Dbench(Task):
    name = "dbench"
    processes = 8

    def prepare(self):
        need("dbench")

    def command(self):
        return ["dbench", "-D", self.data, "-t", str(self.amount(10, 3)), "-c",
                "/usr/share/dbench/client.txt", "2"]

    def seconds(self, elapsed_s, log):
        """It runs for a fixed time (it wants 3 s to say how fast it was): the time for a MB."""
        found = re.search(r"Throughput ([0-9.]+) MB/sec", log)
        if not found or float(found.group(1)) == 0:
            raise Failed("dbench: no throughput in its output")
        return 1 / float(found.group(1))


TASKS = [TarCreate, TarExtract, Compile, Gzip, Sqlite, Pgbench, FioBuffered, FioDirect, Dbench]
