#!/bin/sh
# sci-analyze --by=container: what ran in a control group and a pid namespace of its own is a row.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need sci-record unshare
need_tracer
need_kernel
disk_scratch
root=$(findmnt -t cgroup2 -n -o TARGET | head -n 1)
[ -n "$root" ] || skip "no cgroup2 file system is mounted"
group=$root/sci-test.$$
mkdir "$group" 2>/dev/null || skip "no control group can be made here"
undo="rmdir '$group'; $undo"
id=$(stat -c %i "$group")

# $0: the control group's file, $1: a folder; expanded by the shell that runs it
# shellcheck disable=SC2016
program='dd if=/dev/zero of="$1/a" bs=4k count=30 status=none
sh -c "echo \$\$ >\"$0\"; exec unshare --pid --fork sh -c \"
dd if=/dev/zero of=$1/b bs=4k count=20 status=none
dd if=/dev/zero of=$1/c bs=4k count=20 status=none\""'
status 0 sci-record -q -o "$disk/run" -- sh -c "$program" "$group/cgroup.procs" "$disk"

status 0 sci-analyze --by=container --csv --fields=cgroup,inside,processes,operations,lost \
	"$disk/run/unified.otf2"
cp "$scratch/out" "$scratch/containers"
# the namespace's process 1 stands for it; unshare, sh and two dd were there
awk -F, -v id="$id" '$1 == id && $2 == 1 && $3 >= 3 && $4 >= 40 { n++ } END { exit n != 1 }' \
	"$scratch/containers" || fail "control group $id is no row: $(cat "$scratch/containers")"
grep -v "^$id," "$scratch/containers" | awk -F, 'NR > 1 && $4 >= 30 { n++ } END { exit !n }' ||
	fail "the rest of the program is no row: $(cat "$scratch/containers")"
# with the group's rows, all operations are there
status 0 sci-analyze --by=process --csv --fields=operations,lost "$disk/run/unified.otf2"
awk -F, 'FNR > 1 && NR == FNR { o += $4; l += $5 } FNR > 1 && NR != FNR { o -= $1; l -= $2 }
	END { exit o || l }' "$scratch/containers" "$scratch/out" ||
	fail "containers and processes have other sums"
