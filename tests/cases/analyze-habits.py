"""sci-analyze's first screen of logs made by hand: where the time went, advice where its premise was seen."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import re
import subprocess
import tempfile


class Log:
    """Calls of one thread one after the other, as strace -ttt -T -yy writes them."""

    def __init__(self, path, tid=100):
        self.path, self.tid, self.at, self.lines = path, tid, 0, []  # us

    def call(self, text, us):
        self.lines.append("%d %d.%06d %s <%d.%06d>\n" % (self.tid, 1700000000 + self.at // 1000000,
                                                         self.at % 1000000, text, us // 1000000, us % 1000000))
        self.at += us
        return self

    def rest(self, us):
        self.at += us
        return self

    def open(self, path, us=5):
        return self.call('openat(AT_FDCWD, "%s", O_RDWR) = 3<%s>' % (path, path), us)

    def close(self, path, us=5):
        return self.call("close(3<%s>) = 0" % path, us)

    def write(self, path, size, us=5):
        return self.call('write(3<%s>, "x"..., %d) = %d' % (path, size, size), us)

    def read(self, path, size, us=5):
        return self.call('read(3<%s>, "x"..., %d) = %d' % (path, size, size), us)

    def analyze(self, *arguments):
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines(self.lines)
        text = subprocess.run(["sci-analyze", *arguments, self.path], stdout=subprocess.PIPE, text=True,
                              check=True, env=dict(os.environ, COLUMNS="0")).stdout
        return text

    def screen(self):
        """The lines before the table of levels."""
        return self.analyze().split("\n\n")[0].split("level   ")[0].splitlines()

    def premises(self):
        return {p["name"]: p for p in json.loads(self.analyze("--json"))["premises"]}


def time_of(screen):
    lines = [line for line in screen if line.startswith("time: ")]
    assert len(lines) == 1, screen
    return lines[0]


def synced(log):
    """Nobody interferes, and the answer is there all the same."""
    log.open("/data/log")
    for _ in range(300):
        log.write("/data/log", 512, 20).call("fsync(3</data/log>) = 0", 180)
    screen = log.screen()
    assert "verdict: none" in screen, screen
    assert time_of(screen) == "time: 90 % in fsync (300 calls, 180 us each); " \
        "10 % in write (300 calls of 512 B, 20.0 us each)", screen
    assert any("/data/log is synced 300 times, after each write of 512 B, and waits 180 us each time" in line
               for line in screen), screen
    assert set(log.premises()) == {"synced often"}
    # one fsync for many writes is as it should be
    few = Log(log.path).open("/data/log")
    for i in range(2000):
        few.write("/data/log", 8192, 10)
        if i % 100 == 99:
            few.call("fsync(3</data/log>) = 0", 5000)
    assert "fsync (20 calls, 5.00 ms each)" in time_of(few.screen())
    assert not few.premises()


def tiny(log):
    log.open("/data/tiny")
    for _ in range(20000):
        log.write("/data/tiny", 1, 2)
    screen = log.screen()
    assert "100 % in write (20 k calls of 1 B, 2.00 us each)" in time_of(screen), screen
    assert any("20 k writes of 1 B to /data/tiny: 64 KiB at a time would be 1 call " in line
               for line in screen), screen
    # never for large ones, however many
    large = Log(log.path).open("/data/large")
    for _ in range(20000):
        large.write("/data/large", 1 << 20, 200)
    assert not large.premises()
    assert len(large.screen()) == 4, large.screen()


def elsewhere(log):
    """What a program does besides is a part, too, and is not blamed on its I/O."""
    log.open("/data/log")
    for _ in range(2000):
        log.write("/data/log", 1, 2).rest(98)
    screen = log.screen()
    assert time_of(screen) == "time: 98 % outside of I/O calls", screen
    assert not log.premises()


def waiting_parent(log):
    """Who only waits for the one that works is no part of where the time went."""
    log.open("/data/log")
    for _ in range(100):
        log.write("/data/log", 8192, 1000)
    parent = Log(log.path, 99)
    parent.call('openat(AT_FDCWD, "/etc/x", O_RDONLY) = 3</etc/x>', 5).rest(100000)
    parent.call("close(3</etc/x>) = 0", 5)
    log.lines = sorted(log.lines + parent.lines, key=lambda line: line.split()[1])
    assert time_of(log.screen()) == "time: 100 % in write (100 calls of 8 KiB, 1.00 ms each)", log.screen()


def opened(log):
    for _ in range(50):
        for name in "/data/a", "/data/b":
            log.open(name, 50).write(name, 4096, 10).close(name, 20)
    found = log.premises()
    assert set(found) == {"opened often"} and found["opened often"]["files"] == 2
    assert found["opened often"]["advice"].startswith("/data/a is opened 50 times, 1.0 reads and writes each"), found
    assert found["opened often"]["advice"].endswith("The same of 1 more file."), found
    # each of many processes opens its files once
    many = Log(log.path)
    for tid in range(100, 150):
        many.tid = tid
        many.open("/data/a", 50).read("/data/a", 8192, 10).close("/data/a", 20)
    assert not many.premises()


def small_files(log):
    for i in range(600):
        log.open("/data/%03d" % i, 50).write("/data/%03d" % i, 4096, 10).close("/data/%03d" % i, 20)
    found = log.premises()
    assert set(found) == {"small files"} and found["small files"]["files"] == 600, found


def again(log):
    log.open("/data/index")
    for _ in range(8):
        for i in range(256):
            log.call('pread64(3</data/index>, "x"..., 4096, %d) = 4096' % (4096 * i), 3)
    found = log.premises()
    assert set(found) == {"read again"}, found
    assert "8 MiB are read of /data/index's first 1 MiB, 8.0 times as much" in found["read again"]["advice"], found
    once = Log(log.path).open("/data/index")
    for i in range(2048):
        once.call('pread64(3</data/index>, "x"..., 4096, %d) = 4096' % (4096 * i), 3)
    assert not once.premises()


def flagged(log):
    """What O_DSYNC and O_DIRECT of an open file make of its writes."""
    log.call('openat(AT_FDCWD, "/data/s", O_WRONLY|O_DSYNC) = 3</data/s>', 5)
    for _ in range(100):
        log.write("/data/s", 512, 200)
    assert set(log.premises()) == {"synchronous writes"}, log.premises()
    for step, aligned in (512, False), (8192, True):
        log.lines = []
        log.call('openat(AT_FDCWD, "/data/d", O_WRONLY|O_DIRECT) = 3</data/d>', 5)
        for i in range(200):
            log.call('pwrite64(3</data/d>, "x"..., 8192, %d) = 8192' % (step * i), 200)
        found = log.premises()
        assert set(found) == (set() if aligned else {"misaligned"}), found


def headline(log):
    """A large part of a short lifetime is no headline beside one that lost much more."""
    # 200 and 201 meet on a file for long, 300 for a moment of a short lifetime
    for tid, begin, n, slow in (200, 0, 100, 4000), (201, 0, 100, 4000), (300, 0, 10, 4000):
        log.tid = tid
        for i in range(n):
            log.at = (1000 if tid == 300 else 10000) * i + begin
            met = i % 2 or tid == 300 and i > 8
            log.call('pwrite64(3</data/x>, "x", 8192, 0) = 8192', slow if met else 100)
    log.lines.sort(key=lambda line: line.split()[1])
    report = json.loads(log.analyze("--json"))
    app = report["application"]
    lost = {t["tid"]: t["interference_ns"] for t in report["threads"]}
    assert app["sci_max_tid"] == 300 and max(lost, key=lost.get) != 300, (app["sci_max_tid"], lost)
    assert app["headline"]["tid"] == max(lost, key=lost.get), (app["headline"], lost)
    assert ": tid %d lost most, " % app["headline"]["tid"] in log.screen()[0], log.screen()
    table = log.analyze("--csv", "--fields=tid,interference").splitlines()[1:]
    assert [int(row.split(",")[1]) for row in table] == sorted(lost.values(), reverse=True)


def advised(log):
    """Two threads on one file: advice has its name and their sizes, and larger requests only where they are small."""
    for size, larger in (512, True), (1 << 20, False):
        log.lines = []
        for tid, begin in (200, 0), (201, 1):
            log.tid = tid
            for i in range(40):
                log.at = 10000 * i + begin
                log.call('pwrite64(3</data/x>, "x", %d, 0) = %d' % (size, size), 4000 if i % 2 else 100)
                log.at = 10000 * i + 5000 + 2000 * begin
                log.call('pwrite64(3</data/x>, "x", %d, 0) = %d' % (size, size), 100)
        log.lines.sort(key=lambda line: line.split()[1])
        report = json.loads(log.analyze("--json"))
        advice = report["verdict"]["advice"]
        assert report["verdict"]["level"] == "vfs" and report["verdict"]["share"] > 0, report["verdict"]
        assert "/data/x" in advice and ("larger" in advice) == larger, advice
        assert ("512 B" in advice) == larger, advice
        assert advice in " ".join(log.screen()), (advice, log.screen())
        # the rows of tables keep the general one, as does version 1
        assert "fewer, larger calls" in json.loads(log.analyze("--json=1"))["verdict"]["advice"]


def longer(log):
    """What took longer between the calls than in the baseline is not in the score, but said, and in its interval."""
    alone = Log(log.path + ".alone")

    def line(rest, calls=2000, *, threads=1, uneven=1, again=(), more=()):
        for run, us in (alone, 98), (log, rest):
            run.at, run.lines = 0, []
            for run.tid in range(100, 100 + threads):
                run.at = 0
                for _ in range((calls if run is log else 2000) // uneven**(run.tid - 100)):
                    run.write("/data/log", 1, 2).rest(us)
        log.lines += again
        alone.analyze()
        found = [text for text in log.analyze("--baseline=" + alone.path, *more).splitlines()
                 if text.startswith("longer: ")]
        assert len(found) <= 1, found
        return found[0] if found else None

    assert line(130) == "longer: 64.0 ms more than in the baseline outside of I/O calls, at work or in futex, 1.33 times as long, " \
        "of it 0 ns ready without a CPU; not in the score, but in its interval"
    for high, options in (64 / 263.9, ["--json"]), (0, ["--json=1"]):
        thread = json.loads(log.analyze("--baseline=" + alone.path, *options))["threads"][0]
        assert abs(thread["sci_high"] - high) < 0.005 and thread["sci"] == 0, (options, thread)
    assert line(196, threads=2).startswith("longer: 392 ms more "), line(196, threads=2)
    # each is compared with the one that did as much; one with next to nothing of the I/O need not have any
    assert line(130, threads=2, uneven=4).startswith("longer: 79.9 ms more "), line(130, threads=2, uneven=4)
    threads = json.loads(log.analyze("--baseline=" + alone.path, "--json"))["threads"]
    assert len(threads) == 2 and all(abs(thread["sci_high"] - 32 / 132) < 0.01 for thread in threads), threads
    assert line(130, again=[text.replace("100 ", "102 ", 1) for text in log.lines[:20]]).startswith("longer: 64.0 ms more ")
    # as long, shorter, a little longer; other work; a part of it
    for other in line(98), line(60), line(105), line(130, 1500), line(130, more=("--from=0.1", )):
        assert other is None, other
    assert line(130, calls=2050)
    # one more thread that does its part is another run
    assert not line(130, calls=1000, again=[text.replace("100 ", "102 ", 1) for text in log.lines[:1000]])
    # as a whole, where what a thread did cannot be compared, and its calls do not explain it; not of a window
    whole = line(200, 1800)
    assert re.fullmatch(r"longer: \S.* took 363 ms, in the baseline 200 ms; of that its I/O calls and waits for a CPU "
                        r"explain 0 ns: the rest .*", whole), whole
    assert not line(200, 1100) and not line(200, 1800, more=("--from=0.1", ))
    assert "longer: " not in log.analyze()


def nothing_below_nothing(log):
    """What was faster than its reference is no negative time; csv has the number."""
    # the quantile's reference is longer than most of the calls
    for i in range(200):
        log.call('pwrite64(3</data/x>, "x", 8192, 0) = 8192', 900 if i % 10 == 9 else 100)
    lowest = 0
    for view in "thread", "process", "file", "class", "timeline", "device":
        text = log.analyze("--reference=quantile:0.95", "--by=" + view)
        assert not re.search(r"(?<![\w.])-\d", text), text
        for row in csv.DictReader(io.StringIO(log.analyze("--reference=quantile:0.95", "--csv", "--by=" + view))):
            lowest = min(lowest, int(row["lost_ns"]))
    assert lowest < -100000000, lowest


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        for test in synced, tiny, elsewhere, waiting_parent, opened, small_files, again, flagged, headline, \
                advised, longer, nothing_below_nothing:
            test(Log(os.path.join(scratch, test.__name__ + ".strace")))


main()
