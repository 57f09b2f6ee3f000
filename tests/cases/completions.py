"""zsh and fish complete the options that --help has, and behind "--" another program."""
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path, scratch

COMPLETIONS = os.path.join(os.environ["SCI_SRC"], "doc/completions")
COMMANDS = ["sci-analyze", "sci-export", "sci-import", "sci-kernel", "sci-merge", "sci-record"]
if os.path.exists(os.path.join(os.environ["SCI_BUILD"], "src", "sci-top")):
    COMMANDS.append("sci-top")
os.environ["HOME"] = scratch  # of nobody's settings


def options(command):
    """The long ones, as in the test of --help for bash."""
    text = subprocess.run([command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    words = (word for line in text.splitlines() if line.startswith("  ") and line.split()[0][0] == "-"
             for word in line.split()[:2])
    return {word.partition("[")[0].partition("=")[0] for word in words if word.startswith("--")} - {"--"}


def fish(line):
    script = f'source {COMPLETIONS}/sci-record.fish; complete -C "$argv"'
    text = subprocess.run(["fish", "-c", script, line], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {offered.split("\t")[0] for offered in text.splitlines()}


def check_fish():
    for command in COMMANDS:
        assert fish(command + " --") == options(command), (command, fish(command + " --") ^ options(command))
    assert "true" in fish("sci-record -o x -- tru")
    assert not any(word.startswith("--") for word in fish("sci-export ")), fish("sci-export ")


def check_zsh():
    """Keys to a shell in a terminal of its own."""
    tmux = ["tmux", "-f", "/dev/null", "-S", path("tmux")]
    subprocess.run([*tmux, "new-session", "-d", "-x", "200", "-y", "50", "-s", "zsh", "zsh", "-f", "-i"], check=True)
    atexit.register(subprocess.run, [*tmux, "kill-server"], stderr=subprocess.DEVNULL)

    def until(wanted):
        lines = []
        for _ in range(600):
            lines = subprocess.run([*tmux, "capture-pane", "-p", "-t", "zsh"], stdout=subprocess.PIPE, text=True,
                                   check=True).stdout.splitlines()
            if any(line.rstrip() == wanted for line in lines):
                return
            time.sleep(0.1)
        raise AssertionError((wanted, lines))

    def keys(text, *more):
        subprocess.run([*tmux, "send-keys", "-t", "zsh", "-l", text], check=True)
        subprocess.run([*tmux, "send-keys", "-t", "zsh", *more], check=True)

    keys(f"PS1='> '; fpath=({COMPLETIONS} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy", "Enter")
    until("ready")
    for typed, wanted in (("sci-export --len", "> sci-export --lenient"),
                          ("sci-analyze --workl", "> sci-analyze --workload"),
                          ("sci-record -o x -- basenam", "> sci-record -o x -- basename")):
        keys(typed, "Tab")
        until(wanted)
        keys("", "C-u")


for shell, check in (("fish", check_fish), ("zsh", check_zsh)):
    if shutil.which(shell) and shutil.which("tmux"):
        check()
    else:
        print(f"skipped: {shell} or tmux is absent")
