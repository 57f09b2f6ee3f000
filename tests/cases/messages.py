"""Every message that the commands and tracers print has a row in doc/troubleshooting.md, and no row is of none."""
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import re

SOURCE = os.environ["SCI_SRC"]
CALL = re.compile(r"\b(?:eta_warn|eta_error|eta_note|tracer_warn)\(|\? eta_warn : eta_error\)\(|\breport\(k,")
# what stands for a text in a format
TEXTS = {"ARCHIVE": "unified.otf2", "USER_SPOOL": "user.spool", "KERNEL_SPOOL": "kernel.spool",
         "SPOOL_NAME": "kernel.spool", "SOCKET_NAME": "control", "PRELOAD_NAME": "libsci-posixio.so"}
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\w+)|[^"\w]')
CONVERSION = re.compile(r"%%|%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|j|z)?[a-zA-Z]")


def first_argument(text, at):
    """The argument that begins at AT, up to its comma or bracket."""
    depth, start = 0, at
    while depth or text[at] not in ",)":
        if text[at] == '"':
            at = TOKEN.match(text, at).end()
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
    return text[start:at]


def as_printed(argument):
    """The format with "…" for each value."""
    shown = ""
    for literal, word in (match.groups() for match in TOKEN.finditer(argument)):
        if literal:
            shown += re.sub(r"\\(.)", r"\1", literal)
        elif word:
            # a PRI macro is the letter of a conversion
            shown += "u" if word.startswith("PRI") else TEXTS.get(word, "…")
    return CONVERSION.sub(lambda found: "%" if found[0] == "%%" else "…", shown)


def messages():
    """{message: its file}"""
    found = {}
    for folder in "src", "eta-ext", "plugins":
        for name in sorted(glob.glob(os.path.join(SOURCE, folder, "**", "*.c"), recursive=True)):
            with open(name, encoding="utf-8") as file:
                text = file.read()
            for call in CALL.finditer(text):
                argument = first_argument(text, call.end())
                if '"' not in argument:
                    continue  # a function of the list itself
                shown = as_printed(argument)
                # one that only passes on what was made elsewhere
                if shown.strip("… :") and not shown.startswith("kernel: … …"):
                    found[shown] = os.path.relpath(name, SOURCE)
    # the kernel tracer's sums, by its list
    with open(os.path.join(SOURCE, "plugins/kernelio/shared.h"), encoding="utf-8") as file:
        ends = ["".join(re.findall(r'"([^"]*)"', literals)) for literals in
                re.findall(r'(?:WARN|NOTE|GAP),[\s\\]*((?:"[^"]+"[\s\\]*)+)\)', file.read())]
    assert len(ends) > 8, ends
    return found | {f"kernel: … {end}": "plugins/kernelio/shared.h" for end in ends}


def rows():
    """The messages of the tables of doc/troubleshooting.md: a cell has one or more of them."""
    with open(os.path.join(SOURCE, "doc/troubleshooting.md"), encoding="utf-8") as file:
        for line in file:
            cells = line.split(" | ")
            if line.startswith("| `"):
                assert len(cells) == 2 and len(cells[1].strip(" |\n")) > 10, line
                yield from re.findall(r"`([^`]+)`", cells[0])


def pattern(row):
    return re.compile(".*".join(map(re.escape, row.split("…"))), re.S)


said = messages()
assert len(said) > 200, len(said)
described = {row: pattern(row) for row in rows()}
assert all(len(row.strip("… :")) > 4 for row in described), "a row that fits anything"
unknown = [f"{where}: {message}" for message, where in sorted(said.items())
           if not any(p.fullmatch(message) for p in described.values())]
stale = [row for row, p in described.items() if not any(p.fullmatch(message) for message in said)]
assert not unknown, "not in doc/troubleshooting.md:\n" + "\n".join(unknown)
assert not stale, "rows in doc/troubleshooting.md of messages that there are not:\n" + "\n".join(stale)
