# Runs programs untraced and under each tracer, and compares all that can be seen of them: status or
# signal, output, the files they leave with bytes, modes, owners, links. A test has a table of rows,
# and calls main(ROWS); tests/cases/harmless-both.py takes the same tables for both sides.
# SPDX-License-Identifier: BSD-3-Clause
import concurrent.futures
import dataclasses
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from reach import closed_folder

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["SCI_BUILD"]
PROGRAMS = os.path.join(BUILD, "tests/programs")
PLUGINS = os.path.join(BUILD, "plugins")
PRELOADED = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
# what no program is to see of the caller's
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "TZ": "UTC", "USER": "root", "LOGNAME": "root"}


@dataclasses.dataclass
class Row:
    """One program, how it is run, and what may differ.

    NAME            of the row; {programs} in COMMAND and PREPARE is the folder of tests/programs
    COMMAND         a list of words, or a text for sh
    prepare         text for sh, run untraced in the fresh folder before each run
    env, stdin      more variables; bytes or text of the standard input
    normal          [(pattern, replacement)] for output and files: what differs between two untraced
                    runs, and nothing else
    ignored         patterns of names of files left that differ between two untraced runs
    recorded        the recording must hold calls (False: it may be empty)
    whole           and nothing may be lost (False: the row's point is that something is)
    under           the tracers that can see this program
    seconds         for each run
    others          another user runs, who must be able to load the tracer
    """
    name: str
    command: object
    prepare: str = ""
    env: dict = dataclasses.field(default_factory=dict)
    stdin: str = ""
    normal: list = dataclasses.field(default_factory=list)
    ignored: list = dataclasses.field(default_factory=list)
    recorded: bool = True
    whole: bool = True
    under: tuple = ("preload", "eztrace", "both")
    seconds: int = 60
    others: bool = False

    def words(self):
        words = self.command if isinstance(self.command, list) else ["sh", "-c", self.command]
        return [word.replace("{programs}", PROGRAMS) for word in words]


class Runs:
    """The runs of one row, below TOP: `at` is where the program works, NAME.at what it left there."""

    def __init__(self, row, top):
        self.row, self.top = row, os.path.join(top, row.name)
        self.at = os.path.join(self.top, "at")
        os.makedirs(self.top, exist_ok=True)
        os.chmod(self.top, 0o711)

    def path(self, how, what):
        return os.path.join(self.top, f"{how}.{what}")

    def run(self, how, before=(), env=None):
        """Runs the program once; BEFORE are the words of the tracer, ENV its variables."""
        os.mkdir(self.at)
        os.chmod(self.at, 0o777)
        own = dict(ENVIRONMENT, HOME=self.at, TMPDIR=self.at, PWD=self.at)
        if self.row.prepare:
            subprocess.run(["sh", "-ec", self.row.prepare.replace("{programs}", PROGRAMS)],
                           cwd=self.at, env=own, check=True, stdout=subprocess.DEVNULL)
        own.update(self.row.env, **(env or {}))
        with open(self.path(how, "out"), "wb") as out, open(self.path(how, "err"), "wb") as err, \
                tempfile.TemporaryFile() as given:
            given.write(self.row.stdin.encode())
            given.seek(0)
            program = subprocess.Popen(list(before) + self.row.words(), cwd=self.at, env=own,
                                       stdin=given, stdout=out, stderr=err, start_new_session=True)
            try:
                status = program.wait(self.row.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
                status = f"not ended after {self.row.seconds} s"
        with open(self.path(how, "status"), "w", encoding="ascii") as file:
            file.write(str(status))
        os.rename(self.at, self.path(how, "at"))

    def preload(self):
        spool = self.path("preload", "spool")
        os.mkdir(spool)
        self.run("preload", env={"LD_PRELOAD": PRELOADED, "SCI_SPOOL_DIR": spool})
        return spool

    def eztrace(self):
        trace = self.path("eztrace", "trace")
        os.mkdir(trace)
        self.run("eztrace", ["eztrace", "-t", "posixio", "-o", trace],
                 {"EZTRACE_LIBRARY_PATH": PLUGINS})
        return trace

    # ---- what is compared ----

    def normal(self, data):
        for pattern, replacement in self.row.normal:
            data = re.sub(pattern.encode(), replacement.encode(), data)
        return data

    def seen(self, how):
        """{what: value} of a run."""
        seen = {}
        for what in ("status", "out", "err"):
            with open(self.path(how, what), "rb") as file:
                seen[what] = self.normal(file.read())
        if how == "eztrace":
            # under EZTrace nobody else is there to tell it
            seen["err"] = re.sub(rb"(?m)^eztrace-posixio: (.* \(sci-merge and sci-analyze read it together with the "
                                 rb"archive\)|.*calls and events that could not be recorded: .*|forked "
                                 rb"children whose calls are not in this archive: .*)\n", b"",
                                 seen["err"])
        top = self.path(how, "at")
        for folder, folders, files in os.walk(top):
            for name in folders + files:
                path = os.path.join(folder, name)
                short = os.path.relpath(path, top)
                if not any(re.search(pattern, short) for pattern in self.row.ignored):
                    seen["file " + short] = self.file(path)
        return seen

    def file(self, path):
        found = os.lstat(path)
        text = f"{stat.filemode(found.st_mode)} {found.st_nlink} {found.st_uid}:{found.st_gid} "
        if stat.S_ISLNK(found.st_mode):
            return (text + os.readlink(path)).encode()
        if not stat.S_ISREG(found.st_mode):
            return text.encode()
        with open(path, "rb") as file:
            data = self.normal(file.read())
        text += f"{len(data)} {hashlib.sha256(data).hexdigest()[:16]} "
        return text.encode() + (data if len(data) < 200 else b"")

    def differences(self, how):
        """What of the run HOW is not as it was untraced, a line each."""
        plain, traced = self.seen("plain"), self.seen(how)
        return [f"{what}: {shown(traced.get(what), plain.get(what))}, "
                f"untraced {shown(plain.get(what), traced.get(what))}"
                for what in sorted(plain.keys() | traced.keys())
                if plain.get(what) != traced.get(what)]

    def unsteady(self):
        """What differs between two untraced runs: a difference there says nothing of a tracer."""
        self.run("again")
        return self.differences("again")


def shown(data, other):
    """DATA, from shortly before where it differs from OTHER."""
    if data is None:
        return "absent"
    data, other = data.decode(errors="replace"), (other or b"").decode(errors="replace")
    at = max(0, len(os.path.commonprefix([data, other])) - 60)
    return repr(data[at:at + 400]) + (f" (from {at})" if at else "")


def lacks(row, trace):
    """What the recording TRACE lacks, or nothing."""
    done = subprocess.run([os.path.join(BUILD, "src/sci-analyze"), "--json", *trace], check=False,
                          capture_output=True, text=True)
    if not row.recorded:
        return ""
    if done.returncode:
        return "the recording cannot be read: " + done.stderr.strip()
    counted = json.loads(done.stdout)["trace"]
    if not counted["operations"]:
        return "no call is recorded"
    if row.whole and counted["lost_events"]:
        return f"{counted['lost_events']} calls are lost"
    return ""


def under_preload(runs):
    lack = lacks(runs.row, [runs.preload()])
    return runs.differences("preload") + ([lack] if lack else [])


def under_eztrace(runs):
    trace = runs.eztrace()
    parts = glob.glob(trace + "/*/eztrace_log.otf2") + glob.glob(trace + "/*/children.spool")
    status = runs.seen("plain")["status"]
    # what a signal ends leaves no archive
    lack = "" if status.startswith(b"-") else lacks(runs.row, parts) if parts else "no archive"
    return runs.differences("eztrace") + ([lack] if lack and runs.row.recorded else [])


def compare(row, top, under):
    """Runs ROW; [(tracer, [what differs])]."""
    runs = Runs(row, top)
    runs.run("plain")
    found = []
    for how, run in under.items():
        if how in row.under:
            found.append((how, run(runs)))
    if any(differences for _, differences in found):
        unsteady = runs.unsteady()
        if unsteady:
            found.append(("plain", ["two untraced runs differ: " + unsteady[0]]))
    if not any(differences for _, differences in found):
        # what a program leaves running (gpg-agent) may still begin a file of its recording there
        for left in reversed(range(100)):
            shutil.rmtree(runs.top, ignore_errors=left > 0)
            if not os.path.exists(runs.top):
                break
            time.sleep(0.1)
    return found


def tell(results):
    """Prints RESULTS, [(row's name, tracer, [what differs])]; how many differ."""
    bad = 0
    for name, how, differences in results:
        bad += bool(differences)
        print(f"{name:32} {how:8} {'differs' if differences else 'same'}")
        for line in differences:
            print("    " + line)
    print(f"{len(results)} runs, {len(results) - bad} as untraced, {bad} not")
    return bad


def user_side(rows, top):
    """Each of ROWS alone, under the preload and under EZTrace."""
    under = {"preload": under_preload}
    if shutil.which("eztrace") and os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")):
        under["eztrace"] = under_eztrace
    # wide enough that rows that sleep do not add up
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for row, found in zip(rows, pool.map(lambda row: compare(row, top, under), rows)):
            for how, differences in found:
                yield row.name, how, differences


# ---- both sides: all rows within one recording, as starting the kernel's takes longer than a row ----


def inside(path):
    """What runs in the recording: each row that is listed in PATH, its outcome left for outside()."""
    with open(path, encoding="utf-8") as file:
        listed = json.load(file)
    # what is prepared and read is not the program's
    tracer = {name: os.environ.pop(name) for name in list(os.environ)
              if name == "LD_PRELOAD" or name.startswith("SCI_SPOOL")}
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        list(pool.map(lambda fields: Runs(Row(**fields), listed["top"]).run("both", env=tracer),
                      listed["rows"]))


def recorded(rows, top, name):
    """Runs ROWS in one recording of both sides; what is wrong with it."""
    listed = os.path.join(top, name + ".json")
    with open(listed, "w", encoding="utf-8") as file:
        json.dump({"top": top, "rows": [dataclasses.asdict(row) for row in rows]}, file)
    trace = os.path.join(top, name + ".recording")
    done = subprocess.run(
        [os.path.join(BUILD, "src/sci-record"), "-q", "--wait-writeback=0", "-o", trace, "--",
         sys.executable, os.path.join(HERE, "harmless.py"), listed],
        check=False, capture_output=True, text=True)
    found = []
    if done.returncode:
        found.append(f"sci-record: status {done.returncode}: {done.stdout}{done.stderr}")
    lack = lacks(Row(name, "", whole=False), [os.path.join(trace, "unified.otf2")])
    return found + ([lack] if lack else [])


def both_sides(rows, top):
    """All of ROWS, under sci-record; a table that is recorded whole."""
    rows = [row for row in rows if "both" in row.under]
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        list(pool.map(lambda row: Runs(row, top).run("plain"), rows))
    yield "the recording of all", "both", recorded(rows, top, "all")
    for row in rows:
        runs = Runs(row, top)
        differences = runs.differences("both")
        yield row.name, "both", differences
        unsteady = differences and runs.unsteady()
        if unsteady:
            yield row.name, "plain", ["two untraced runs differ: " + unsteady[0]]


def main(rows, how=user_side):
    """The whole test: exits 0 if nothing differs. Words on the command line: only rows of these names."""
    sys.path.insert(0, HERE)
    import scratch  # noqa: E402  makes the folder, which is not wanted inside a recording

    if os.environ.get("SCI_SANITIZED"):
        scratch.skip("a sanitized program cannot preload the tracer")
    os.chmod(scratch.scratch, 0o711)
    names = [row.name for row in rows]
    assert len(set(names)) == len(names), "two rows of one name"
    if len(sys.argv) > 1:
        rows = [row for row in rows if row.name in sys.argv[1:]]
    closed = closed_folder(BUILD)
    if closed:
        print(f"not run, as other users cannot enter {closed}:", *(row.name for row in rows if row.others))
        rows = [row for row in rows if not row.others]
    bad = tell(list(how(rows, scratch.scratch)))
    sys.exit(1 if bad or not rows else 0)


if __name__ == "__main__":
    inside(sys.argv[1])
