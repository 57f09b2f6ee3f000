"""sci-top: names who holds up whom, on a screen, in text, json and metrics; reads a spool that is being written."""
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import datetime
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import SCI_KERNEL, need, need_bpf, path, scratch, skip

SCI_TOP = os.path.join(os.environ["SCI_BUILD"], "src", "sci-top")
if not os.path.exists(SCI_TOP):
    skip("built without ncursesw")

# a process keeps the lock of a file for as long as it writes much, another one wants to write little
HELD = r"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
def be(name):
    with open("/proc/self/comm", "w") as file:
        file.write(name)
parent = os.getpid()
if not os.fork():
    be("topwaiter")
    while os.getppid() == parent:
        os.pwrite(fd, b"x" * 512, 0)
        time.sleep(0.002)
    os._exit(0)
if not os.fork():
    be("topsyncer")  # a device has something to do
    own = os.open(sys.argv[1] + ".synced", os.O_WRONLY | os.O_CREAT, 0o644)
    while os.getppid() == parent:
        os.pwrite(own, b"x", 0)
        os.fdatasync(own)
        time.sleep(0.1)
    os._exit(0)
be("topholder")
much = b"y" * (64 << 20)
while True:
    os.pwrite(fd, much, 0)
    time.sleep(0.02)  # the test is not alone on this machine
"""


def hold():
    process = subprocess.Popen(["/usr/bin/python3", "-c", HELD, path("held")])
    atexit.register(process.wait)
    atexit.register(process.kill)


def top(*options, status=0, **more):
    result = subprocess.run([SCI_TOP, *options], capture_output=True, text=True, **more)
    assert result.returncode == status, (options, result)
    return result


def check_usage():
    for wrong in (["x"], ["--by=files"], ["--batch", "--json"], ["--level=user space"], ["--sort=nothing"],
                  ["--filter=pid"], ["--interval=0"]):
        said = top(*wrong, status=2).stderr
        assert len(said.splitlines()) == 2, (wrong, said)
    said = top("--batch", "--openmetrics", path("no/x.prom"), status=1).stderr
    assert "no" in said and len(said.splitlines()) == 1, said


def check_rights():
    """Who may not look at the machine gets a message."""
    result = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                             "/proc/self/fd/3", "--batch"] if os.geteuid() == 0 else [SCI_TOP, "--batch"],
                            capture_output=True, text=True, preexec_fn=lambda: os.dup2(program, 3), close_fds=False)
    assert result.returncode == 1 and re.fullmatch(r"[\w-]*: only root, .*sudo sci-top.*\n", result.stderr), result


def is_named(frame):
    """On a busy machine others are named beside the holder: who had the CPU that it needed."""
    return any(row["process"] == "topwaiter" and row["sci"] > 0.02 and
               any(culprit["name"].startswith("topholder") and culprit["ns"] > 1000000 for culprit in row["culprits"])
               for row in frame["processes"])


def check_metrics(text):
    """Prometheus' own readers take it, both of OpenMetrics and of the older form, which node_exporter reads."""
    try:
        from prometheus_client import openmetrics, parser
        import prometheus_client.openmetrics.parser  # noqa: F401
    except ImportError:
        print("skipped: python3-prometheus-client is absent")
    else:
        found = [[(f.name, f.type, f.documentation, [s[:3] for s in f.samples]) for f in read(text)]
                 for read in (openmetrics.parser.text_string_to_metric_families, parser.text_string_to_metric_families)]
        assert found[0] == found[1] and {"sci_score", "sci_process_score"} <= {f[0] for f in found[0]}, found
        labels = [sample[1] for f in found[0] if f[0] == "sci_process_score" for sample in f[3]]
        assert any(label["process"] == "topwaiter" for label in labels), labels


def check_exporter(metrics, text):
    """node_exporter passes each of them on, and finds nothing wrong with the file."""
    exporter = os.path.join(os.environ["SCI_SRC"], "build/viewers/exporter/usr/bin/prometheus-node-exporter")
    if not os.path.exists(exporter):
        print("skipped: ./dev check has not unpacked prometheus-node-exporter")
        return
    # a port that nobody has now
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "127.0.0.1:%d" % server.getsockname()[1]
    with open(path("exporter.log"), "w", encoding="utf-8") as log:
        running = subprocess.Popen([exporter, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory",
                                    os.path.dirname(metrics), "--web.listen-address", address], stderr=log)
    atexit.register(running.wait)
    atexit.register(running.kill)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(f"http://{address}/metrics") as answer:
                served = answer.read().decode()
            break
        except urllib.error.URLError:
            assert running.poll() is None, open(path("exporter.log"), encoding="utf-8").read()
            time.sleep(0.05)
    running.kill()
    assert "\nnode_textfile_scrape_error 0\n" in served, open(path("exporter.log"), encoding="utf-8").read()
    wanted = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith("sci_")}
    found = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in served.splitlines() if line.startswith("sci_")}
    # it puts labels in the order of their names
    assert len(found) == len(wanted) and sorted(found.values()) == sorted(wanted.values()), (found, wanted)


def check_schema(lines):
    """Each line has the keys that doc/sci-top.schema.json documents, no other and none less."""
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is absent")
        return
    with open(os.path.join(os.environ["SCI_SRC"], "doc/sci-top.schema.json"), encoding="utf-8") as file:
        schema = jsonschema.Draft202012Validator(json.load(file))
    for line in lines:
        frame = json.loads(line)
        schema.validate(frame)
        assert not schema.is_valid(dict(frame, other=1))
        for key in frame.keys() - {"most_slowed"}:
            assert not schema.is_valid({name: value for name, value in frame.items() if name != key}), key
        for rows in "processes", "threads", "devices":
            for key in frame[rows][0] if frame[rows] else ():
                short = [{name: value for name, value in frame[rows][0].items() if name != key}]
                assert not schema.is_valid({**frame, rows: short}), (rows, key)


def check_forms():
    """The holder is named in each form, within three intervals, on the third at the latest."""
    lines = top("--json", "--full", "-n", "3", "-d", "1").stdout.splitlines()
    frames = [json.loads(line) for line in lines]
    assert len(frames) == 3 and is_named(frames[-1]), lines[-1]
    check_schema(lines)
    last = frames[-1]
    assert last["processes"] and last["threads"] and last["devices"] and last["most_slowed"], last
    assert last["version"] == 1 and last["window_s"] > 2.5 and last["window_s"] > frames[0]["window_s"], last
    assert last["light"] is False, last
    waiter = next(row for row in last["threads"] if row["thread"].startswith("topwaiter"))
    assert 0 < waiter["per_s"] < 501 and waiter["bytes_per_s"] > 0 and waiter["p99_ns"] > 1000000, waiter
    metrics = path("sci.prom")
    shown = top("--batch", "--full", "-n", "1", "-d", "2", "--by=thread", "--filter=thread=topwaiter*",
                "--openmetrics", metrics).stdout
    assert re.search(r"^[01]\.\d\d .* topwaiter tid \d+$", shown, re.M), shown
    assert len(re.findall(r"^[01]\.\d\d .*$", shown, re.M)) == 1 and "\033" not in shown, shown
    with open(metrics, encoding="utf-8") as file:
        text = file.read()
    assert os.stat(metrics).st_mode & 0o777 == 0o644 and text.endswith("# EOF\n"), text
    for line in text.splitlines():
        assert re.fullmatch(r'#.*|[a-z0-9_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? \d+\.?\d*', line), line
    assert re.search(r'^sci_process_score\{process="topwaiter",pid="\d+",level="\w+",reason="[^"]*"\} [01]\.\d*[1-9]', text, re.M)
    assert os.listdir(scratch).count("sci.prom") == 1
    check_metrics(text)
    check_exporter(metrics, text)


def check_follow():
    """A spool that is read while it is written has the same score as when it is complete; scored slice by slice,
    as sci-top does it, nearly the same."""
    out, copy, slice_ = path("recorded"), path("copied"), path("slice")
    os.mkdir(copy)
    os.mkdir(slice_)
    kernel = subprocess.Popen([SCI_KERNEL, "-q", "-o", out, "--all", "--duration=2"])
    spool = os.path.join(out, "kernel.spool")
    while kernel.poll() is None and len(glob.glob(spool + "/cpu.*")) < os.sysconf("SC_NPROCESSORS_CONF"):
        time.sleep(0.01)
    follow = subprocess.Popen([os.path.join(os.environ["SCI_BUILD"], "tests/programs/follow-spool"), spool, copy, slice_],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert kernel.wait() == 0
    sliced = follow.communicate()[0]
    assert follow.returncode == 0
    scores = []
    for each in (spool, copy):
        text = subprocess.run(["sci-analyze", "--json", each], stdout=subprocess.PIPE, check=True).stdout
        scored = json.loads(text)
        assert scored["trace"]["bad"] == 0, scored["trace"]
        scores.append({(thread["name"], thread["location"]): (thread["sci"], thread["operations"]) for thread in scored["threads"]})
    assert scores[0].keys() == scores[1].keys() and any(name.startswith("topwaiter") for name, _place in scores[0]), scores
    for name, (sci, operations) in scores[0].items():
        assert abs(scores[1][name][0] - sci) < 0.05 and scores[1][name][1] == operations, (name, sci, scores[1][name])
    # each operation is in one slice; a thread's tracks have its number
    wanted, found = {}, {}
    for thread in scored["threads"]:
        wanted[thread["tid"]] = wanted.get(thread["tid"], 0) + thread["operations"]
    for line in sliced.splitlines():
        tid, operations, sci, name = line.split(" ", 3)
        found[int(tid)] = found.get(int(tid), 0) + int(operations)
        if name.startswith("topwaiter"):
            whole = next(score for (name_, _place), (score, _n) in scores[0].items() if name_ == name)
            assert abs(float(sci) - whole) < 0.05 and whole > 0.02, (sci, whole)
    assert found == {tid: n for tid, n in wanted.items() if n}, (found, wanted)
    assert "topwaiter" in sliced, sliced


def check_same():
    """What it says of some seconds is what sci-analyze says of a recording of the same ones."""
    out = path("beside")
    kernel = subprocess.Popen([SCI_KERNEL, "-q", "-o", out, "--all"])
    spool = os.path.join(out, "kernel.spool")
    while kernel.poll() is None and len(glob.glob(spool + "/cpu.*")) < os.sysconf("SC_NPROCESSORS_CONF"):
        time.sleep(0.01)
    text = top("--batch", "-n", "1", "-d", "5", "--by=thread", "--filter=thread=topwaiter*").stdout
    kernel.send_signal(signal.SIGINT)
    assert kernel.wait() == 0
    clock, seconds = re.match(r"(\d\d:\d\d:\d\d\.\d{3}), last (\d+\.\d+) s: ", text).groups()
    window_s = float(seconds)
    shown = float(re.search(r"^([01]\.\d\d) .* topwaiter tid \d+$", text, re.M)[1])
    # the last time that the clock of the wall showed this
    now = datetime.datetime.now()
    end = datetime.datetime.combine(now, datetime.time.fromisoformat(clock))
    if end > now:
        end -= datetime.timedelta(days=1)
    # --from and --to count from the first event; times of records are those of the monotonic clock
    end_ns = int(end.timestamp() * 1e3) * 10 ** 6 - time.clock_gettime_ns(time.CLOCK_REALTIME) + time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    dump = subprocess.run([os.path.join(os.environ["SCI_BUILD"], "tests/programs/dump-trace"), spool], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    start = min(int(time) for time in re.findall(r"^\d+ (\d+) [A-Z]+", dump, re.M))
    # a call counts there when it has ended
    location = re.search(r"^location (\d+) topwaiter", dump, re.M)[1]
    to = max(int(time) for time in re.findall(rf"^{location} (\d+) LEAVE", dump, re.M) if int(time) < end_ns) - start
    report = subprocess.run(["sci-analyze", "--json", f"--from={end_ns - int(window_s * 1e9) - start}ns", f"--to={to}ns",
                             spool], stdout=subprocess.PIPE, check=True).stdout
    score = next(thread["sci"] for thread in json.loads(report)["threads"] if thread["name"].startswith("topwaiter"))
    print(f"of the same {window_s:.2f} s: sci-top {shown:.2f}, sci-analyze {score:.3f}")
    assert abs(score - shown) < 0.05 and shown > 0, (score, text)


def check_light():
    """Who waits for a lock, and who has it, is known without a probe on system calls."""
    lines = top("--json", "-n", "3", "-d", "1").stdout.splitlines()
    check_schema(lines)
    last = json.loads(lines[-1])
    assert last["light"] is True and is_named(last), lines[-1]
    shown = top("--batch", "-n", "1", "-d", "2").stdout
    assert re.search(r"; only calls that waited \(--full: all\); pressure: ", shown, re.M), shown


class Screen:
    """sci-top in a terminal of its own."""
    def __init__(self, *options, name="tmux", **environment):
        self.tmux = ["tmux", "-f", "/dev/null", "-S", path(name)]
        subprocess.run([*self.tmux, "new-session", "-d", "-x", "80", "-y", "24", "-s", "top",
                        "sh", "-c", '"$0" "$@" 2>err; echo "status $?" >ended', SCI_TOP, *options],
                       check=True, cwd=scratch, env={**os.environ, **environment})
        atexit.register(subprocess.run, [*self.tmux, "kill-server"], stderr=subprocess.DEVNULL)

    def keys(self, *keys):
        subprocess.run([*self.tmux, "send-keys", "-t", "top", *keys], check=True)

    def lines(self):
        return subprocess.run([*self.tmux, "capture-pane", "-p", "-t", "top"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.rstrip("\n").split("\n")

    def has_colour(self):
        text = subprocess.run([*self.tmux, "capture-pane", "-e", "-p", "-t", "top"], stdout=subprocess.PIPE, check=True).stdout
        return re.search(rb"\033\[(\d+;)*3[1-7]m", text) is not None

    def until(self, holds, what):
        """What the screen shows when it is so; the test's end where it never is."""
        lines = []
        for _ in range(600):
            lines = self.lines()
            if holds(lines):
                return lines
            time.sleep(0.1)
        raise AssertionError((what, lines))


def check_screen():
    screen = Screen("-d", "1")
    screen.until(lambda lines: any(line.endswith(" topwaiter") for line in lines), "who is held up")
    shown = screen.lines()
    # what the screen has no room for is not had by an option
    assert all(len(line) <= 80 for line in shown) and not any("--top" in line for line in shown), shown
    assert screen.has_colour()
    subprocess.run([*screen.tmux, "resize-window", "-t", "top", "-x", "120", "-y", "40"], check=True)
    screen.until(lambda lines: len(lines) == 40 and lines[-1].startswith("q quit"), "the larger screen")
    screen.keys("Space")
    frozen = screen.until(lambda lines: lines[-1].startswith("frozen"), "frozen")
    time.sleep(2)
    assert screen.lines() == frozen, "it goes on although it is frozen"
    screen.keys("Space")
    screen.until(lambda lines: lines[0] != frozen[0] and not lines[-1].startswith("frozen"), "it goes on")
    screen.keys("h")
    screen.until(lambda lines: any("Any key goes back" in line for line in lines), "help")
    screen.keys("h", "T")
    screen.until(lambda lines: any(re.match(r"topwaiter pid \d+: SCI 0", line) for line in lines), "the tree")
    screen.keys("T", "v")
    screen.until(lambda lines: any(re.search(r"culprit +thread$", line) for line in lines), "threads")
    screen.keys("f")
    screen.keys("-l", "thread=topw*")
    screen.keys("Enter")
    screen.until(lambda lines: sum(" tid " in line for line in lines[2:-1]) == 1, "the filter")
    screen.keys("l")
    screen.until(lambda lines: any("filter lets through" in line for line in lines), "level user: nobody")
    screen.keys("q")
    ended = ""
    while not ended.endswith("\n"):  # the shell creates the file before it writes
        time.sleep(0.01)
        if os.path.exists(path("ended")):
            with open(path("ended"), encoding="utf-8") as file:
                ended = file.read()
    assert ended == "status 0\n", ended
    with open(path("err"), encoding="utf-8") as file:
        said = file.read()
    assert said == "", said


def check_no_color():
    """https://no-color.org: where it is there and not empty."""
    for value in "1", "":
        screen = Screen("-d", "1", name=f"tmux{value}.colour", NO_COLOR=value)
        screen.until(lambda lines: any(line.endswith(" topwaiter") for line in lines), "who is held up")
        assert screen.has_colour() == (value == ""), value
        screen.keys("q")


check_usage()
program = os.open(SCI_TOP, os.O_RDONLY)
check_rights()
need_bpf()
hold()
check_follow()
check_forms()
check_same()
check_light()
if shutil.which("tmux"):
    check_screen()
    check_no_color()
else:
    print("skipped: tmux is absent")
