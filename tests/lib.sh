# Sourced by the script tests: a scratch folder that goes away, checks, skipping.
# shellcheck shell=sh
set -eu

: "${SCI_SRC:?run the tests with make check}"
: "${SCI_BUILD:?run the tests with make check}"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sci-test.XXXXXX")
# A test adds what it must undo to `undo`; it runs also when the test fails.
undo=:
trap 'eval "$undo"; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# skip REASON
skip()
{
	echo "skipped: $*"
	exit 77
}

# fail WHAT
fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# need COMMAND...: skip where one is missing
need()
{
	for c in "$@"; do
		command -v "$c" >/dev/null 2>&1 || skip "$c is not installed"
	done
}

# need_tracer: skip where a program cannot be preloaded (a sanitized build)
need_tracer()
{
	[ -z "${SCI_SANITIZED:-}" ] || skip "the tracer is not preloaded in a sanitized build"
}

# kernel_turn: one test that traces the kernel at a time (see tests/kernel_turn.py)
kernel_turn()
{
	need flock
	exec 9>"${TMPDIR:-/tmp}/sci-kernel-tests.lock"
	flock 9
}

# need_kernel: skip where BPF is refused or not built
need_kernel()
{
	kernel_turn
	probed=0
	sh "$SCI_SRC/tests/kernel-probe.sh" "$scratch/need-kernel" >"$scratch/need-kernel.out" || probed=$?
	case $probed in
	0) ;;
	77) skip "no kernel tracer: $(cat "$scratch/need-kernel.out")" ;;
	*) fail "no kernel tracer: $(cat "$scratch/need-kernel.out")" ;;
	esac
}

# disk_scratch: makes $disk, a scratch folder on a disk's file system (/tmp may be memory)
disk_scratch()
{
	disk=$(mktemp -d "$SCI_BUILD/sci-test-disk.XXXXXX")
	undo="$undo; rm -rf '$disk'"
}

# status N COMMAND...: runs it; its output goes to $scratch/out and $scratch/err
status()
{
	want=$1
	shift
	got=0
	"$@" >"$scratch/out" 2>"$scratch/err" || got=$?
	if [ "$got" -ne "$want" ]; then
		cat "$scratch/out" "$scratch/err" >&2
		fail "$*: status $got, expected $want"
	fi
}

# has FILE PATTERN
has()
{
	grep -Eq -- "$2" "$1" || {
		cat "$1" >&2
		fail "$1 has no line with: $2"
	}
}

# one_line FILE: exactly one line, as a good message is
one_line()
{
	[ "$(wc -l <"$1")" -eq 1 ] || {
		cat "$1" >&2
		fail "$1: more or less than one line"
	}
}
