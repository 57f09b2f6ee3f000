#!/bin/sh
# Wherever it is installed: what sci-record --env prints is one word to a shell, LD_PRELOAD is not split.
# shellcheck source=tests/lib.sh
. "$SCI_SRC/tests/lib.sh"

need_tracer
cd "$scratch"
newline='
'
plugins=$SCI_PLUGIN_DIR

# install NAME: the plugins in a folder of that name
install_in()
{
	mkdir -p "$1"
	cp -L "$plugins"/*.so "$1"
}

# What a shell makes of it is the folder, and nothing is run.
# shellcheck disable=SC2016,SC2089 # names, not code
for name in plain "it's" '`touch made`' "a${newline}touch made" '"double"' 'semi;touch made&' '\back\slash' '*?[x]' "''"; do
	case $name in
	*' '*) folder=$scratch/$(printf %s "$name" | tr ' ' '_') ;;
	*) folder=$scratch/$name ;;
	esac
	install_in "$folder"
	SCI_PLUGIN_DIR=$folder
	# shellcheck disable=SC2090
	export SCI_PLUGIN_DIR
	status 0 sci-record --env
	# shellcheck disable=SC2016 # the inner shell's
	got=$(sh -c 'eval "$1"; printf %s "$EZTRACE_LIBRARY_PATH"' sh "$(cat out)")
	[ "$got" = "$folder" ] || fail "$folder became $got"
	[ ! -e made ] || fail "$folder: code was run"
	status 0 sci-record -q --no-kernel -o "run $name" -- cat /etc/passwd
	[ ! -s err ] || fail "$folder: $(cat err)"
	status 0 sci-analyze --workload "run $name"
	has out 'operations'
	rm -rf "run $name"
done

# A list cannot hold these: a link without them in the recording's folder, which children go through, too.
# shellcheck disable=SC2016 # names, not variables
for name in 'a blank' 'a:colon' '$LIB' 'all of: $ORIGIN'; do
	install_in "$scratch/$name"
	SCI_PLUGIN_DIR=$scratch/$name
	status 0 sci-record -q --no-kernel --callstack -o linked -- sh -c 'cat /etc/passwd; exec cat /etc/hostname'
	[ ! -s err ] || fail "$name: $(cat err)"
	status 0 sci-analyze --csv --by=process linked
	[ "$(grep -c '^\(sh\|cat\),\|,\(sh\|cat\),' out)" -ge 2 ] || fail "$name: $(cat out)"
	rm -rf linked
	# where there is none such, it is said, once, and the program is not run untraced in silence
	status 1 sci-record -q --no-kernel -o 'my run' -- touch ran
	has err 'user level missing: .* LD_PRELOAD cannot hold .*-o names another'
	[ ! -e ran ] || fail "run without any tracer"
	[ ! -e 'my run' ] || fail "a folder is left"
	# eztrace makes such a list itself
	status 1 sci-record --env
	[ ! -s out ] || fail "printed all the same"
	one_line err
	has err 'make a link to it'
	ln -sfn "$SCI_PLUGIN_DIR" good-name
	SCI_PLUGIN_DIR=$scratch/good-name
	status 0 sci-record --env
	if command -v eztrace >/dev/null 2>&1; then
		eval "$(cat out)"
		status 0 eztrace -o ez -t posixio cat /etc/passwd
		status 0 sci-analyze --workload ez/cat_trace
		has out 'read'
		rm -rf ez
	fi
done
