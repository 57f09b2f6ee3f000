# sci-kernel: help, misuse, and what it says where BPF is refused.
# shellcheck shell=sh
. "${SCI_SRC:?}/tests/lib.sh"

status 0 sci-kernel --help
has "$scratch/out" '^Usage: sci-kernel'
has "$scratch/out" 'EXAMPLES'
status 2 sci-kernel
has "$scratch/err" 'a command to run, a process'
status 2 sci-kernel --ring=5000 -- true
has "$scratch/err" 'power of two'
status 2 sci-kernel --poll=x -- true
status 2 sci-kernel -p 1 -- true

# without any capability the program does not run, and one line says what would help
need setpriv
[ "$(id -u)" -eq 0 ] || skip "dropping capabilities needs root"
[ -z "${SCI_SANITIZED:-}" ] || skip "a sanitized program needs more than no capabilities"
status 1 setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all \
	sci-kernel -o "$scratch/refused" -- touch "$scratch/ran"
one_line "$scratch/err"
has "$scratch/err" 'levels vfs, pagecache, fs, block, cpu missing: '
[ ! -e "$scratch/ran" ] || fail "the program ran"
