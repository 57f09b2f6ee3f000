"""--help, the man page and completion of each command have the options of its table, and no others."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess

SOURCE = os.environ["SCI_SRC"]
# where each command's table is
TABLES = {"sci-record": "sci-record.c", "sci-kernel": "sci-kernel.c", "sci-merge": "sci-merge.c",
          "sci-import": "sci-import.c", "sci-export": "sci-export.c",
          "sci-analyze": "analyze-options.c"}
# built where ncursesw is
if os.path.exists(os.path.join(os.environ["SCI_BUILD"], "src", "sci-top")):
    TABLES["sci-top"] = "sci-top.c"
# argp's own
OF_ALL = {"help": ("?", ""), "usage": ("", ""), "version": ("V", "")}


def source(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def output(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


# tables that others have parts of
PARTS = {"kernel_option_rows": "src/kernel-options.c", "merging_rows": "src/merging.c"}


def table(name, variable):
    """{heading: {option: (letter, "", "=" or "[=": has it an argument?)}}, without what is hidden."""
    rows = re.search(variable + r"\[\] = \{\n(.*?)\n\t\{ 0 \},\n", source(name), re.S)[1]
    groups = {}
    for row in re.finditer(
            r'HEADING\("(?P<heading>[^"]*):"\)|PART\([^()]*, (?P<part>\w+)\)|(?P<filters>FILTERS\(X\))'
            r"""|\{ "(?P<name>[\w-]+)", (?:0|'(?P<letter>.)'), (?P<argument>NULL|"[^"]+"),\s*"""
            r'(?P<help>NULL|[A-Z_]+_HELP|")(?P<rest>.*?) \},$', rows, re.S | re.M):
        if row["heading"]:
            group = groups.setdefault(row["heading"], {})
        elif row["part"]:
            groups.update(table(PARTS[row["part"]], row["part"]))
            group = list(groups.values())[-1]
        elif row["filters"]:
            group.update({name: ("", "=") for name in re.findall(
                r'X\(\w+, "([\w-]+)", "\w+"', source("plugins/kernelio/filters.h"))})
        elif row["help"] != "NULL":
            optional = re.search(r"\.(optional|otherwise) = ", row["rest"])
            group[row["name"]] = (row["letter"] or "", "" if row["argument"] == "NULL" else
                                  "[=" if optional else "=")
    return groups


def shown(command):
    """The same from --help; what stands below no heading has the heading ""."""
    groups, heading = {"": {}}, ""
    for line in output(command, "--help").splitlines():
        if not line:
            heading = ""
        elif re.fullmatch(r" \S.*:", line):
            heading = line[1:-1]
            groups[heading] = {}
        option = re.match(r"  (?:-(.), |    )--([\w-]+)(\[?=)?", line)
        if option:
            groups[heading][option[2]] = option[1] or "", option[3] or ""
    return groups


def flags(line):
    """(name, has it an argument?) of the Fl of a line of a man page, letters and long ones."""
    for part in re.split(r"\bFl ", line)[1:]:
        words = part.split()
        while words and not re.fullmatch("[A-Z][a-z]", words[0]):
            word = words.pop(0)
            if word != ",":
                rest = " ".join(words)
                yield word, ("[=" if rest.startswith("Ns Op =") else
                             "=" if rest.startswith(("Ns =", "Ar")) else "")


def described(command):
    """The options that have a row in the man page: {option: (letter, has it an argument?)}"""
    options = {}
    for line in re.findall(r"^\.It (Fl .*)", source(f"doc/man/{command}.1"), re.M):
        letter = ""
        for name, argument in flags(line):
            if name.startswith("-"):
                options[name[1:]] = letter, argument
                letter = ""
            else:
                letter = name
    return options


def synopsis(command):
    page = source(f"doc/man/{command}.1")
    text = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", page, re.S | re.M)[1]
    for line in text.splitlines():
        for name, argument in flags(line.replace("|", ",")):
            if name.startswith("-"):
                if name != "-":
                    yield name[1:], argument
            else:
                yield from ((letter, None) for letter in name)


def completed(*words):
    """What completion offers for the last of the words."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sci "$1"; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    path = os.path.join(SOURCE, "doc/completions/sci-record")
    return output("bash", "-c", script, "bash", path, *words).split()


def offered(options):
    return sorted(f"--{name}" + ("=" if argument == "=" else "")
                  for name, (_letter, argument) in options.items())


def check(command, name):
    groups = shown(command)
    assert groups.pop("") == OF_ALL, (command, groups)
    wanted = table("src/" + name, "struct option_row rows")
    assert groups == wanted and list(groups) == list(wanted), (command, groups, wanted)
    assert all(groups.values()), (command, groups)
    options = {option: form for group in groups.values() for option, form in group.items()}
    assert len(options) == sum(map(len, groups.values())), (command, groups)
    page = described(command)
    assert page == options, (command, sorted(page.items() ^ options.items()))
    letters = {letter for letter, _argument in options.values()}
    for option, argument in synopsis(command):
        if argument is None:
            assert option in letters, (command, option)
        else:
            assert option in options and options[option][1] == argument, (command, option)
    assert sorted(completed(command, "--")) == offered(options | OF_ALL), command
    assert "true" in completed(command, "--", "tru"), command
    check_misspelt(command, options)
    return options


def refused(*words):
    """What is said of a misuse: the first of two lines."""
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    lines = result.stderr.splitlines()
    assert result.returncode == 2 and len(lines) == 2 and not result.stdout, (words, result)
    return lines[0]


def check_misspelt(command, options):
    """An option that there is not is answered with the one that it is like."""
    for name in sorted(options)[::6]:
        wrong = name[1] + name[0] + name[2:]
        if len(name) < 4 or wrong[0] == wrong[1]:
            continue
        said = refused(command, f"--{wrong}")
        assert said == f"{command}: unknown option --{wrong}; did you mean --{name}?", said
        # a name of a file may be behind it
        said = refused(command, f"--{wrong}=a'b\n'c")
        assert said.startswith(f"{command}: unknown option --{wrong}=a'b"), said
        assert "\\nc" in said or "\\n'c" in said, said
    said = refused(command, "--zzzzzzzz")
    assert said == f"{command}: unknown option --zzzzzzzz", said


def check_pages(known):
    """What pages and examples give to a command is an option of it. KNOWN: {command: its options}"""
    pages = ["README.md"] + [
        os.path.join("doc", name) for name in os.listdir(os.path.join(SOURCE, "doc"))
        if name.endswith((".md", ".json"))]
    pages += [f"doc/man/{name}" for name in os.listdir(os.path.join(SOURCE, "doc/man"))]
    texts = {page: source(page) for page in pages}
    texts |= {f"{command} --help": output(command, "--help") for command in known}
    given = [(page, command, option) for page, text in texts.items()
             for command, line in re.findall(rf"\b({'|'.join(known)})\b([^`|;&\n)\"]*)", text)
             for option in re.findall(r"(?<![\w-])--([a-z][\w-]*)", line.split(" -- ")[0])]
    given += [(page, "sci-analyze", option) for page, text in texts.items()
              if page.startswith("doc/sci-analyze") for option in re.findall(r"--([a-z-]+)", text)]
    of_verbs = {("sci-kernel", "extents")}  # sci-kernel vms --extents
    wrong = [where for where in given if where[2] not in known[where[1]] | OF_ALL and where[1:] not in of_verbs]
    assert len(given) >= 40 and not wrong, wrong


def check_plot():
    """Those of a plot stand in the text about it."""
    plots = completed("sci-plot", "")
    page = source("doc/man/sci-plot.1").split(".Sh DESCRIPTION")[1]
    assert plots == re.findall(r"^\.It Cm (\w+) Ar", page, re.M), plots
    options = {}
    for plot in plots:
        said = re.findall(r"^  (?:-. [A-Z]+, )?--([\w-]+)( [A-Z])?",
                          output("sci-plot", plot, "--help"), re.M)
        mine = {name: ("", "=" if argument else "") for name, argument in said}
        assert sorted(completed("sci-plot", plot, "--")) == offered(mine | {"help": ("", "")}), plot
        options |= mine
    there = {name[1:] for line in page.splitlines() for name, _argument in flags(line)
             if name.startswith("-")}
    assert there == set(options), there ^ set(options)


check_pages({command: check(command, name) for command, name in TABLES.items()})
check_plot()
