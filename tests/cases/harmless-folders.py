# Root and a user who shares the output folder: he puts links at all names, swaps folders, leaves folders
# of his own. No file of root's changes, he learns nothing of it, what root records is refused or whole.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel
from scratch import need, skip

if os.getuid() != 0:
    skip("acting as two users needs root")
if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
need("otf2-print")

# an account is not needed: a number is enough
STRANGER = 54321
BIN = os.path.join(os.environ["SCI_BUILD"], "src")
RECORD, KERNEL, MERGE, IMPORT, EXPORT, PLOT, ANALYZE = (
    os.path.join(BIN, "sci-" + name)
    for name in ("record", "kernel", "merge", "import", "export", "plot", "analyze"))

# where the other user can go
place = tempfile.mkdtemp(prefix="sci-harmless.", dir="/tmp")
atexit.register(shutil.rmtree, place, ignore_errors=True)
os.chmod(place, 0o755)
os.chdir(place)
os.environ.pop("SUDO_UID", None)
os.umask(0o022)


def run(*command, status=None, **more):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    if status is not None:
        assert result.returncode == status, (command, result)
    return result


def as_stranger(act, *arguments):
    """Runs ACT as the other user; whether it could do it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            act(*arguments)
            code = 0
        except OSError:
            pass
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def folder(name, mode, owner=0):
    os.mkdir(name)
    os.chown(name, owner, owner)
    os.chmod(name, mode)
    return name


# what root does not want to lose
victims = folder("victims", 0o755)
for number in range(50):
    with open(f"victims/{number}", "wb") as file:
        file.write(b"root's" * 10000)


def state_of(top):
    return sorted((path, entry, os.lstat(os.path.join(path, entry)).st_size)
                  for path, folders, files in os.walk(top) for entry in folders + files)


before = state_of(victims)


def victims_are_whole():
    assert state_of(victims) == before, "files of root's were changed"


def modes_of(top):
    return {os.path.join(path, entry): stat.S_IMODE(os.lstat(os.path.join(path, entry)).st_mode)
            for path, folders, files in os.walk(top) for entry in folders + files}


def all_have(top, files, folders):
    for name, mode in {top: stat.S_IMODE(os.stat(top).st_mode), **modes_of(top)}.items():
        wanted = folders if os.path.isdir(name) else files
        assert mode == wanted, f"{name}: mode {mode:03o}, not {wanted:03o}"


# ---- who may read ----

def check_modes():
    """0700 and 0600 whatever the umask says, and what --mode says."""
    os.umask(0)
    run(RECORD, "-q", "--no-kernel", "--keep-spools", "-o", "private", "--", "dd", "if=/dev/zero", "of=data",
        "bs=4096", "count=8", status=0)
    all_have("private", 0o600, 0o700)
    assert os.path.exists("private/user.spool") and os.path.exists("private/unified.otf2")
    run(MERGE, "-q", "private", "-o", "merged.otf2", status=0)
    run(EXPORT, "private", "-o", "exported.json", status=0)
    for name in "merged.otf2", "merged.def", "exported.json":
        assert stat.S_IMODE(os.stat(name).st_mode) == 0o600, name
    all_have("merged", 0o600, 0o700)
    with open("log.strace", "w") as file:
        file.write('100 1700000000.000000 write(1, "x", 1) = 1 <0.000010>\n')
    run(IMPORT, "-q", "log.strace", "-o", "imported.otf2", status=0)
    assert stat.S_IMODE(os.stat("imported.otf2").st_mode) == 0o600
    os.umask(0o077)
    run(RECORD, "-q", "--no-kernel", "--keep-spools", "--mode=644", "-o", "public", "--", "true", status=0)
    all_have("public", 0o644, 0o755)
    run(MERGE, "-q", "--mode=640", "public", "-o", "grouped.otf2", status=0)
    all_have("grouped", 0o640, 0o750)
    run(EXPORT, "--mode=604", "public", "-o", "others.csv", status=0)
    assert stat.S_IMODE(os.stat("others.csv").st_mode) == 0o604
    os.umask(0o022)
    for command in (RECORD, "-o", "no"), (KERNEL, "-o", "no"), (MERGE, "-o", "no.otf2"), (EXPORT, "-o", "no.csv"):
        for mode in "666", "400", "0700", "rw", "", "-600":
            result = run(*command, "--mode=" + mode, "public", status=2)
            assert len(result.stderr.splitlines()) == 2 and "MODE is 600" in result.stderr, result
    assert not os.path.exists("no")


def check_kernel_modes():
    os.umask(0)
    run(KERNEL, "-q", "-o", "kernel-private", "--", "true", status=0)
    all_have("kernel-private", 0o600, 0o700)
    run(KERNEL, "-q", "--mode=644", "-o", "kernel-public", "--", "true", status=0)
    all_have("kernel-public", 0o644, 0o755)
    os.umask(0o022)


# ---- folders that are refused ----

def check_refused():
    """Nothing is made in a folder that is another's, or that others may write to; the message says why."""
    folder("others", 0o755, STRANGER)
    folder("open", 0o777)
    folder("sticky", 0o1777)
    folder("group", 0o775)
    os.chown("group", 0, STRANGER)
    folder("owned", 0o700)
    os.symlink("owned", "own-link")
    folder("mixed", 0o777)
    assert as_stranger(os.symlink, os.path.abspath("victims"), "mixed/in-place")
    cases = (("others", f"belongs to uid {STRANGER}"), ("open", "mode 0777.*chmod go-w"),
             ("sticky", "mode 1777.*chmod go-w"), ("group", "mode 0775.*chmod go-w"),
             ("own-link", "is a link"), ("mixed/in-place", "is a link"),
             ("mixed/in-place/below", f"a link of uid {STRANGER}"))
    commands = [((RECORD, "-q", "--no-kernel", "-f"), cases)]
    if with_kernel:
        commands += [((RECORD, "-q"), cases[:1]), ((KERNEL, "-q"), cases)]
    for command, tried in commands:
        for name, said in tried:
            was = state_of(".")
            result = run(*command, "-o", name, "--", "touch", "it-ran", status=1)
            assert re.search(f"{name}: .*{said}", result.stderr) and len(result.stderr.splitlines()) == 1, result
            assert state_of(".") == was, (command, name)
    victims_are_whole()


def check_not_led_away():
    """-f in a folder of others' removes nothing, there or elsewhere; of one's own the recording alone."""
    shared = folder("shared", 0o1777)

    def plant():
        os.symlink(os.path.abspath("victims"), shared + "/unified")
        os.symlink(os.path.abspath("victims"), shared + "/kernel.spool")
        os.mkdir(shared + "/user.spool")
        for name in os.listdir("victims"):
            os.symlink(os.path.abspath("victims/" + name), f"{shared}/user.spool/user.{name}")
        open(shared + "/unified.otf2", "w").close()

    assert as_stranger(plant)
    was = state_of(shared)
    run(RECORD, "-q", "--no-kernel", "-f", "-o", shared, "--", "true", status=1)
    assert state_of(shared) == was
    # a folder of root's own with such links: they go, not what they lead to
    folder("linked", 0o700)
    os.symlink(os.path.abspath("victims"), "linked/unified")
    os.symlink(os.path.abspath("victims"), "linked/user.spool")
    run(RECORD, "-q", "--no-kernel", "-f", "-o", "linked", "--", "true", status=0)
    assert os.path.isfile("linked/unified.otf2") and not os.path.islink("linked/unified")
    # what is no part of a recording is no part of it in its folders, either
    for member, strange in ("unified", "notes"), ("user.spool", "my data"), ("kernel.spool", "sub"):
        name = "noted-" + member
        run(RECORD, "-q", "--no-kernel", "--keep-spools", "-o", name, "--", "true", status=0)
        os.makedirs(f"{name}/{member}", exist_ok=True)
        with open(f"{name}/{member}/{strange}", "w") as file:
            file.write("mine")
        was = state_of(name)
        result = run(RECORD, "-q", "--no-kernel", "-f", "-o", name, "--", "true", status=1)
        assert f'holds "{strange}"' in result.stderr, result
        assert state_of(name) == was, "a part of the recording was removed"
    victims_are_whole()


# ---- while it is recorded ----

def check_swapped(command, spools, to_folder=False):
    """A folder swapped for one with links at all names while the program runs: nothing is written through them."""
    top = folder(f"swap-{os.path.basename(command[0])}-{len(spools)}-{to_folder}", 0o777)
    rec = os.path.join(top, "rec")
    tracer = subprocess.Popen([*command, "-o", rec, "--", "/usr/bin/python3", "-c",
                               "import os, sys\nopen('in-it', 'w').write('x')\nprint('ready', flush=True)\n"
                               # a child makes files of its own, and the spool grows
                               "sys.stdin.read()\nif os.fork(): os.wait()\n"
                               "for _ in range(20000): open('in-it', 'a').close()\n"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert tracer.stdout.readline() == "ready\n"
    # the names are not secret: he is given them
    names = {spool: os.listdir(os.path.join(rec, spool)) for spool in spools}
    assert all(names.values()), names
    planted = 0

    def swap():
        nonlocal planted
        os.rename(rec, rec + ".away")
        os.mkdir(rec, 0o777)
        for spool in spools:
            if to_folder:
                os.symlink(os.path.abspath("victims"), os.path.join(rec, spool))
                continue
            os.mkdir(os.path.join(rec, spool), 0o777)
            for name in names[spool]:
                os.symlink(os.path.abspath(f"victims/{planted}"), os.path.join(rec, spool, name))
                planted += 1
        for name in "unified", "unified.def", "unified.otf2":
            os.symlink(os.path.abspath("victims"), os.path.join(rec, name))
        os.chmod(rec, 0o777)

    assert as_stranger(swap), "the folder is his to rename"
    out, err = tracer.communicate("", timeout=120)
    victims_are_whole()
    assert tracer.returncode == 0, (tracer.returncode, err)
    if command[0] == RECORD:
        assert os.path.isfile(os.path.join(top, "rec.away", "unified.otf2")), "the recording is where its folder is"
        for name in "unified", "unified.def", "unified.otf2":
            assert os.path.islink(os.path.join(rec, name)), "through the links nothing went"


def check_swapped_all_the_time():
    """The same in a loop, from before the folder is made until the command has ended."""
    top = folder("loop", 0o777)
    rec = os.path.join(top, "rec")
    going = os.path.join(top, "going")
    open(going, "w").close()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        number = 0
        while os.path.exists(going):
            number += 1
            # a link in place of the folder, none, its folder away, his own with a link in place of a spool
            for act in (lambda: os.symlink(os.path.abspath("victims"), rec),
                        lambda: os.rename(rec, f"{rec}.{number}"),
                        lambda: os.rename(rec, f"{rec}.own.{number}"),
                        lambda: os.mkdir(rec),
                        lambda: os.symlink(os.path.abspath("victims"), rec + "/user.spool"),
                        lambda: os.rename(rec, f"{rec}.his.{number}")):
                try:
                    act()
                except OSError:
                    pass
                time.sleep(0.004)
        os._exit(0)
    try:
        for _ in range(16):
            # refused or recorded or lost, as it falls; never a crash, never root's files
            result = run(RECORD, "-q", "-f", "--no-kernel", "-o", rec, "--", "dd", "if=/dev/zero", "of=/dev/null",
                         "bs=512", "count=500")
            assert result.returncode in (0, 1), result
            victims_are_whole()
    finally:
        os.unlink(going)
        os.waitpid(child, 0)
    victims_are_whole()


def check_shared_parent():
    """In a sticky folder that all share root records into a new folder of its own; nobody else gets in."""
    top = folder("tmp-like", 0o1777)
    rec = os.path.join(top, "rec")
    tracer = subprocess.Popen([RECORD, "-q", "--no-kernel", "-o", rec, "--", "sh", "-c",
                               "echo ready; read x; exit 3"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert tracer.stdout.readline() == "ready\n"
    for act in (lambda: os.listdir(rec), lambda: os.listdir(rec + "/user.spool"), lambda: os.rename(rec, rec + "2"),
                lambda: os.symlink("/etc/passwd", rec + "/unified.otf2")):
        assert not as_stranger(act)
    tracer.communicate("\n", timeout=120)
    assert tracer.returncode == 3 and os.path.isfile(rec + "/unified.otf2")
    assert not as_stranger(lambda: open(rec + "/unified.otf2").close())


# ---- archives, exports, figures ----

def refused(command, said):
    was, result = state_of("."), run(*command)
    assert result.returncode == 1 and re.search(said, result.stderr), (command, result)
    assert len(result.stderr.splitlines()) == 1, result
    assert state_of(".") == was, (command, "something was made or changed")
    victims_are_whole()


def check_merge():
    run(RECORD, "-q", "--no-kernel", "--keep-spools", "-o", "source", "--", "cat", "/etc/passwd", status=0)
    inputs = "source/user.spool"
    shared = folder("archives", 0o777)

    def plant():
        os.symlink(os.path.abspath("victims/1"), "archives/a.otf2")
        os.symlink(os.path.abspath("victims"), "archives/b")
        os.symlink(os.path.abspath("victims/2"), "archives/c.def")
        # as if a merge of root's had been killed while it moved its archive
        os.mkdir("archives/.d.unfinished.abcdef12")
        with open("archives/.d.unfinished.abcdef12/d.otf2", "w") as file:
            file.write("not root's")
        os.symlink(os.path.abspath("victims"), "archives/.d.unfinished.abcdef12/link")

    assert as_stranger(plant)
    for name in "abc":
        refused((MERGE, "-q", inputs, "-o", f"{shared}/{name}.otf2"), f"belongs to uid {STRANGER}")
    run(MERGE, "-q", inputs, "-o", f"{shared}/d.otf2", status=0)
    assert os.stat(f"{shared}/d.otf2").st_uid == 0
    assert os.path.exists(f"{shared}/.d.unfinished.abcdef12/d.otf2"), "another's is not ours to clear up"
    # an archive of the other user stays his
    run(MERGE, "-q", inputs, "-o", f"{shared}/e.otf2", status=0)
    for entry in "e.otf2", "e.def", "e":
        os.chown(os.path.join(shared, entry), STRANGER, STRANGER)
    refused((MERGE, "-q", inputs, "-o", f"{shared}/e.otf2"), f"belongs to uid {STRANGER}")
    # what was put beside the events stays
    run(MERGE, "-q", inputs, "-o", "kept.otf2", status=0)
    with open("kept/notes", "w") as file:
        file.write("mine")
    refused((MERGE, "-q", inputs, "-o", "kept.otf2"), 'holds "notes"')
    os.unlink("kept/notes")
    run(MERGE, "-q", inputs, "-o", "kept.otf2", status=0)
    # a way through a link of his
    assert as_stranger(os.symlink, os.path.abspath("victims"), "archives/way")
    refused((MERGE, "-q", inputs, "-o", "archives/way/x.otf2"), f"link of uid {STRANGER}")
    refused((EXPORT, inputs, "-o", "archives/way/x.csv"), f"link of uid {STRANGER}")
    assert not [name for name in os.listdir(".") if "unfinished" in name]


def check_single(command, suffix):
    """Commands that write one file; COMMAND ends in -o."""
    shared = folder("files" + suffix, 0o777)
    name = os.path.join(shared, "%s" + suffix)

    def plant():
        os.symlink(os.path.abspath("victims/3"), name % "link")
        os.mkfifo(name % "fifo")
        os.symlink(os.path.abspath(name % "fifo"), name % "to-fifo")
        os.symlink("/dev/null", name % "to-null")
        with open(name % "file", "w") as file:
            file.write("his")

    assert as_stranger(plant)
    # a reader: what root writes there he would get
    reader = os.open(name % "fifo", os.O_RDONLY | os.O_NONBLOCK)
    for entry in "link", "fifo", "to-fifo", "to-null", "file":
        refused((*command, name % entry), f"belongs to uid {STRANGER}: choose another name|is there already and no ")
    assert os.read(reader, 1) == b""
    os.close(reader)
    # root's own link is not written through, nor taken away
    os.symlink(os.path.abspath("victims/4"), name % "own")
    refused((*command, name % "own"), "is a link|is there already and no ")
    run(*command, name % "new", status=0)
    assert stat.S_IMODE(os.stat(name % "new").st_mode) == 0o600
    run(*command, name % "new", status=0)  # one's own older one is replaced
    assert sorted(os.listdir(shared)) == sorted(os.path.basename(name % entry) for entry in (
        "link", "fifo", "to-fifo", "to-null", "file", "own", "new")), os.listdir(shared)


def check_plot():
    if run("/usr/bin/python3", "-c", "import matplotlib").returncode:
        return
    with open("run.json", "w") as file:
        file.write(run(ANALYZE, "--json", "source", status=0).stdout)
    os.environ["SCI_PLOT_DIR"] = os.path.join(os.environ["SCI_SRC"], "src", "plot")
    check_single(("/usr/bin/python3", PLOT, "levels", "--of=io", "run.json", "-o"), ".svg")


# ---- reading ----

def check_read():
    """What another left is read, and said to be his; what he put beside root's files is not."""
    run(RECORD, "-q", "--no-kernel", "--keep-spools", "-o", "his", "--", "cat", "/etc/passwd", status=0)
    for top, folders, files in os.walk("his"):
        for entry in [".", *files]:
            os.chown(os.path.join(top, entry), STRANGER, STRANGER)
    for command in (ANALYZE, "his/unified.otf2"), (EXPORT, "-f", "csv", "his/user.spool"), (ANALYZE, "his"):
        result = run(*command, status=0)
        lines = [line for line in result.stderr.splitlines() if f"belongs to uid {STRANGER}" in line]
        assert len(lines) == 1, result
    own = run(ANALYZE, "source/unified.otf2", status=0)
    assert "belongs to" not in own.stderr, own

    # a spool that others may write to
    shutil.copytree("source/user.spool", "mixed.spool")
    os.chmod("mixed.spool", 0o777)
    file = next(name for name in os.listdir("mixed.spool") if name.startswith("user."))
    events = run(MERGE, "mixed.spool", "-o", "mixed-before.otf2", status=0).stdout

    def plant():
        os.symlink(os.path.abspath("mixed.spool/" + file), "mixed.spool/user.9.9.9")
        os.mkfifo("mixed.spool/user.8.8.8")
        shutil.copyfile("copy", "mixed.spool/user.7.7.7")

    shutil.copyfile("mixed.spool/" + file, "copy")
    assert as_stranger(plant)
    result = run(MERGE, "mixed.spool", "-o", "mixed-after.otf2", status=0)
    for said in "user.9.9.9: is a link", "user.8.8.8: is no regular file", f"user.7.7.7: belongs to uid {STRANGER}":
        assert said in result.stderr, result
    assert "3 bad" in result.stdout, result
    counted = [re.search(r"(\d+) events?, \d+ threads?", text).group(1) for text in (events, result.stdout)]
    assert counted[0] == counted[1], counted
    # many are counted, and not each named
    for number in range(100):
        os.symlink("/etc/passwd", f"mixed.spool/user.{number}.1.1")
    result = run(MERGE, "mixed.spool", "-o", "mixed-more.otf2", status=0)
    assert len(result.stderr.splitlines()) < 20 and "more files are left out" in result.stderr, result


# ---- root for another user ----

def check_for_another():
    """--run-as and sudo: all is made as that user, whose links lead nowhere that he could not go himself."""
    import pwd
    user = pwd.getpwnam("nobody")
    top = folder("theirs", 0o755, user.pw_uid)
    plugins = shutil.copytree(os.environ["SCI_PLUGIN_DIR"], "plugins")
    environment = {**os.environ, "SCI_PLUGIN_DIR": os.path.abspath(plugins)}

    def record(name, *options, status):
        return run(RECORD, "-q", *options, "-o", name, "--run-as=nobody", "--", "true", status=status,
                   env=environment)

    record("theirs/run", status=0)
    all_have("theirs/run", 0o600, 0o700)
    for name in modes_of("theirs/run"):
        assert os.lstat(name).st_uid == user.pw_uid, name
    # their links: to a folder of root's, in place of a recording's parts, on the way
    for name in "in-place", "way":
        os.symlink(os.path.abspath("victims"), f"theirs/{name}")
        os.lchown(f"theirs/{name}", user.pw_uid, user.pw_gid)
    assert "is a link" in record("theirs/in-place", status=1).stderr
    assert "ermission denied" in record("theirs/way/below", status=1).stderr
    folder("theirs/parts", 0o700, user.pw_uid)
    for name in "unified", "user.spool", "kernel.spool":
        os.symlink(os.path.abspath("victims"), f"theirs/parts/{name}")
        os.lchown(f"theirs/parts/{name}", user.pw_uid, user.pw_gid)
    record("theirs/parts", "-f", status=0)
    assert os.path.isfile("theirs/parts/unified.otf2")
    # a tracer that they cannot read is not preloaded: ld.so would say so on the program's stderr
    os.chmod(plugins, 0o700)
    done = subprocess.run([RECORD, "-q", "-o", "theirs/closed", "--run-as=nobody", "--", "true"], env=environment,
                          capture_output=True, text=True, check=False)
    assert "user level missing: libsci-posixio.so" in done.stderr and "ermission denied" in done.stderr, done
    assert "ld.so" not in done.stderr, done
    os.chmod(plugins, 0o755)
    # root's own folder is not theirs
    folder("roots", 0o755)
    assert "belongs to root" in record("roots", status=1).stderr
    assert "ermission denied" in record("roots/below", status=1).stderr
    victims_are_whole()


with_kernel = not kernel.missing()
check_modes()
if with_kernel:
    check_kernel_modes()
check_refused()
check_not_led_away()
check_swapped((RECORD, "-q", "--no-kernel"), ("user.spool",))
check_swapped((RECORD, "-q", "--no-kernel"), ("user.spool",), to_folder=True)
if with_kernel:
    check_swapped((KERNEL, "-q"), ("kernel.spool",))
    check_swapped((RECORD, "-q"), ("user.spool", "kernel.spool"))
check_swapped_all_the_time()
check_shared_parent()
check_merge()
check_single((EXPORT, "-f", "csv", "source/user.spool", "-o"), ".csv")
check_plot()
check_read()
check_for_another()
if not with_kernel:
    print("the kernel's side was not tried: BPF is refused here")
