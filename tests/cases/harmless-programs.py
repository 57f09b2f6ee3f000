#!/usr/bin/python3
# Programs of Debian that do their tasks the same, traced or not.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
from harmless import Row  # noqa: E402

TREE = """mkdir -p tree/a/b tree/c; i=0
while [ $i -lt 50 ]; do echo "line $i" >tree/a/$i; i=$((i + 1)); done
head -c 300000 /dev/zero | tr '\\0' x >tree/c/large; ln -s ../a/1 tree/c/link; ln tree/a/2 tree/a/b/hard
chmod 600 tree/a/3; truncate -s 1M tree/c/sparse
touch -h -d @1000000000 tree/*/* tree/*/*/* tree/* tree"""

ROWS = [
    # shells
    Row("dash", "echo one >x; exec 3<>x; read a <&3; echo two >&3; cat x; (exit 7); echo $?; exit 3"),
    Row("dash-closed", "exec 0<&- 1>&- 2>&-; echo lost; echo kept >x; exec 1>x2 2>&1; echo out; echo err >&2"),
    Row("bash", ["bash", "-c", """printf '%s\\n' {1..2000} >x; mapfile -t a <x; echo ${#a[@]}
exec {fd}>y; echo $fd >&$fd; cat < <(sort -rn x | head -n 3) <<<here; coproc cat; echo hi >&${COPROC[1]}
read -r b <&${COPROC[0]}; echo "$b"; kill -TERM $$"""]),
    Row("bash-traps", ["bash", "-c", "trap 'echo term >>x' TERM; trap 'echo end >>x' EXIT; kill -TERM $$; "
                       "ulimit -n 20; cat x; nothing-such; exit 5"]),
    # copies
    Row("tar-tar", "tar -cf - tree | (mkdir to; tar -xf - -C to); diff -r tree to/tree && cp -a tree cp; "
        "diff -r --no-dereference tree cp; tar -czf x.tgz --sort=name tree; tar -tvzf x.tgz | wc -l; "
        "tar -xOzf x.tgz tree/a/7", prepare=TREE),
]

if __name__ == "__main__":
    harmless.main(ROWS)
