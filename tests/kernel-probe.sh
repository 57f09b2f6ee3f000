#!/bin/sh
# Can the kernel be traced here? FOLDER: a new one. Exits 0; 77 where it says what is missing; else 1.
# A yes is kept with what it hangs on (the command, the boot, the rights): loading the tracer's programs,
# a second and a half, would else come twice in each test.
set -eu
command=$SCI_BUILD/src/sci-kernel
known=$SCI_BUILD/kernel-probe
on=$(
	cat /proc/sys/kernel/random/boot_id
	stat -Lc '%i %Y %s' "$command"
	grep -E '^(Uid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status
	readlink /proc/self/ns/user /proc/self/ns/pid /proc/self/ns/mnt
)
[ ! -f "$known" ] || [ "$(cat "$known")" != "$on" ] || exit 0
said=$("$command" -q -o "$1" -- true 2>&1) || {
	printf '%s\n' "$said" | head -n 1
	# what this machine or this build does not have; all else is a failure of the tracer's
	case $said in
	*"built without the kernel tracer"* | *"the kernel is locked down"* | *"the kernel refuses BPF programs"* | \
		*"no kernel type information"* | *"is not in this kernel"*) exit 77 ;;
	*) exit 1 ;;
	esac
}
# in one step: a test of a user's own may read it
printf '%s\n' "$on" >"$known.$$"
mv "$known.$$" "$known"
