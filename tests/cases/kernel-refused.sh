# sci-kernel: help, misuse, and what it says where BPF is refused.
# shellcheck shell=sh
. "${SCI_SRC:?}/tests/lib.sh"

status 0 sci-kernel --help
has "$scratch/out" '^Usage: sci-kernel'
has "$scratch/out" 'EXAMPLES'
has "$scratch/out" '--drain-timeout=MS'
! grep -q -e --settle "$scratch/out" || fail "--settle is in the help"
status 2 sci-kernel
has "$scratch/err" 'a command to run, a process'
status 2 sci-kernel --ring=5000 -- true
has "$scratch/err" 'power of two'
status 2 sci-kernel --poll=x -- true
status 2 sci-kernel -p 1 -- true
# --settle is the former name of --drain-timeout
for option in drain-timeout settle; do
	status 2 sci-kernel --$option=0 -- true
	has "$scratch/err" 'MS'
done

# without any capability the program does not run, and one line says what would help
need setpriv
[ "$(id -u)" -eq 0 ] || skip "dropping capabilities needs root"
[ -z "${SCI_SANITIZED:-}" ] || skip "a sanitized program needs more than no capabilities"
status 1 setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all \
	sci-kernel -o "$scratch/refused" -- touch "$scratch/ran"
one_line "$scratch/err"
has "$scratch/err" 'levels vfs, pagecache, fs, block, cpu missing: '
[ ! -e "$scratch/ran" ] || fail "the program ran"

# in a kernel that is locked down, or looks so, that is the reason given
cat >"$scratch/locked" <<'END'
mount -t tmpfs none /sys/kernel/security && echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown || exit 77
exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all sci-kernel -o "$1" -- true
END
got=0
unshare -m sh "$scratch/locked" "$scratch/refused-locked" 2>"$scratch/err" || got=$?
[ "$got" -eq 77 ] || {
	[ "$got" -eq 1 ] || fail "status $got: $(cat "$scratch/err")"
	one_line "$scratch/err"
	has "$scratch/err" 'locked down .confidentiality.'
}
