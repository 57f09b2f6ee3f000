#!/usr/bin/python3
"""Options of each command by chance, with values that fit and that do not: no command crashes, hangs or fails without a
line that says why. Prints how many were run. Root runs them as nobody, who may trace nothing of others."""
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMMANDS = ("sci-analyze", "sci-export", "sci-import", "sci-kernel", "sci-merge", "sci-record", "sci-top")
# what a command is given to work on, by chance
INPUTS = {"sci-analyze": ["TRACE", "TRACE TRACE", "RUN", ""], "sci-export": ["TRACE", "RUN", ""],
          "sci-import": ["LOG", "LOG LOG", "TRACE", ""], "sci-kernel": ["-- true", "-p 1", "status RUN", ""],
          "sci-merge": ["RUN", "TRACE", "TRACE RUN", ""], "sci-record": ["-- true", "-- false", "true", ""],
          "sci-top": ["", "", "", "true"]}
# without which nothing is done, nearly always given
NEEDED = {"sci-export": ["-f csv", "-f chrome -o out", "-f perfetto -o out", "-f paje", "-f folded"],
          "sci-import": ["-o out.otf2", "-o out.otf2 -f strace"], "sci-merge": ["-o out.otf2"]}
# words that some option takes
WORDS = """thread process file device class callsite timeline blame rank node level json csv chrome perfetto paje folded
    wait time bytes lost score none page disk write read open posixio kernelio net block vfs strace otf2 spool paper
    solo baseline:TRACE idle similar TRACE RUN LOG . .. / - -- out out/x /dev/null /dev/full /proc/self/mem /missing/x
    nobody root file=* level==posix file==x&&thread!=y (((( !!!! [ * 1:1 0:0 0:-1 0:LOG x:y , ,, a,b,,c""".split()
NUMBERS = ["", "0", "1", "-1", "2", "7", "100", "1e3", "1e308", "-1e-308", "nan", "inf", "0x10", "007", "777", "0600",
           "65536", "2147483648", "4294967296", "9223372036854775807", "18446744073709551616", "1" * 400]
UNITS = ["", "", "ns", "us", "ms", "s", "m", "h", "d", "k", "K", "KiB", "M", "MiB", "G", "T", "%", "x", " s"]
LIMIT_S = 60


class Fuzz:
    def __init__(self, scratch, seed):
        self.rng, self.scratch = random.Random(seed), scratch
        self.options = {name: self.options_of(name) for name in COMMANDS}
        self.good = {}  # values that an option took
        self.user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}

    @staticmethod
    def options_of(name):
        """[(option, takes a value)], as its help has them."""
        shown = subprocess.run([name, "--help"], check=True, capture_output=True, text=True).stdout
        found = re.findall(r"^ +(?:-(\w), +)?(--[a-z-]+)(\[?=)?", shown, re.MULTILINE)
        # usage and help print a page and end
        return [(word, bool(value)) for letter, long, value in found if long not in ("--usage", "--help", "--version")
                for word in ([f"-{letter}", long] if letter else [long])]

    def prepare(self):
        """A recording, its archive and a log."""
        subprocess.run(["sci-record", "-q", "--no-kernel", "--keep-spools", "-o", self.path("RUN"), "--",
                        "dd", "if=/dev/zero", f"of={self.path('data')}", "bs=4k", "count=16", "status=none"], check=True)
        with open(self.path("LOG"), "w", encoding="ascii") as file:
            file.write('7 1.000001 openat(AT_FDCWD, "/x", O_RDONLY) = 3 <0.000010>\n'
                       '7 1.000100 read(3, "x"..., 4096) = 4096 <0.000200>\n')
        for folder, _, names in os.walk(self.scratch):
            for path in folder, *(os.path.join(folder, name) for name in names):
                os.chown(path, self.user.get("user", -1), -1)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def value(self, option=""):
        kind = self.rng.random()
        if option in self.good and self.rng.random() < 0.7:
            return self.rng.choice(self.good[option])
        if kind < 0.45:
            value = self.rng.choice(WORDS)
        elif kind < 0.85:
            value = self.rng.choice(NUMBERS) + self.rng.choice(UNITS)
        elif kind < 0.95:
            value = "".join(chr(self.rng.choice((*range(1, 256), 0x2028, 0x1F600)))
                            for _ in range(self.rng.randrange(20)))
        else:
            value = self.rng.choice("a/%,.:") * self.rng.choice((255, 4096, 100000))
        if self.rng.random() < 0.1:
            value += self.rng.choice(",:=&") + self.value()[:1000]
        return value[:120000]  # of a word the kernel allows 128 KiB

    def words(self, name):
        """The words of a command, and which values are in them."""
        words, given = [], []
        if name in NEEDED and self.rng.random() < 0.8:
            words += self.rng.choice(NEEDED[name]).split()
        for _ in range(self.rng.choice((1, 1, 2, 2, 3, 4, 6))):
            option, takes = self.rng.choice(self.options[name])
            if option.startswith("--") and self.rng.random() < 0.1:  # cut or misspelt
                cut = self.rng.randrange(2, len(option))
                option = option[:cut] + self.rng.choice(("", option[cut + 1:]))
            if self.rng.random() < 0.05:
                takes = not takes
            if takes:
                value = self.value(name + option)
                given.append((name + option, value))
                words += [f"{option}={value}"] if option.startswith("--") else [option, value]
            else:
                words.append(option)
        words += self.rng.choice(INPUTS[name]).split()
        return [self.place(word) for word in words], given

    def place(self, word):
        return os.fsencode(re.sub("TRACE|RUN|LOG", lambda found: self.path(
            "RUN/unified.otf2" if found[0] == "TRACE" else found[0]), word))

    def run(self):
        """What is wrong with one, None where nothing is; and the words."""
        name = self.rng.choice(COMMANDS)
        words, given = self.words(name)
        at = self.path("work")
        shutil.rmtree(at, ignore_errors=True)
        os.mkdir(at)
        os.chown(at, self.user.get("user", -1), -1)
        try:
            done = subprocess.run([name, *words], cwd=at, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  timeout=LIMIT_S, **self.user)
        except subprocess.TimeoutExpired:
            return "hangs", name, words
        if done.returncode != 2:
            for option, value in given:
                self.good.setdefault(option, []).append(value)
        wrong = None
        if done.returncode < 0 or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
            wrong = f"crashes (status {done.returncode})"
        elif done.returncode and not done.stderr.strip() and name != "sci-record":  # whose program may be false
            wrong = f"fails without a word (status {done.returncode})"
        elif len(done.stderr) > 16384 or len(done.stderr.splitlines()) > 40:
            wrong = "says too much"
        return wrong and f"{wrong}: {done.stderr[:2000].decode(errors='replace')}", name, words


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for how long (60)")
    parser.add_argument("--runs", type=int, help="how many, in place of a time")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="repeats what was by chance")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-options.") as scratch:
        fuzz = Fuzz(scratch, chosen.seed)
        fuzz.prepare()
        try:
            subprocess.run(["sci-export", "--version"], check=True, stdout=subprocess.DEVNULL, **fuzz.user)
        except (OSError, subprocess.CalledProcessError):
            print("skipped: nobody may not run the commands where they are")
            return 77
        found, done, until = 0, 0, time.monotonic() + chosen.seconds
        while done < chosen.runs if chosen.runs else time.monotonic() < until:
            wrong, name, words = fuzz.run()
            done += 1
            if wrong:
                found += 1
                print(name, *(repr(word[:200]) for word in words), wrong, flush=True)
    print(f"options: {done} commands, {found} wrong (seed {chosen.seed})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
