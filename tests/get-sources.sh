# Sourced by ./dev: Debian's sources of programs, whose own tests are run.
# shellcheck shell=sh
: "${jobs:?sourced by ./dev, which sets it}"

# get_sources DIR PACKAGE...: Debian's source of each, unpacked in DIR; coreutils is built
get_sources()
{
	dir=$1
	shift
	mkdir -p "$dir/apt/lists/partial"
	# from where this machine has its packages
	# shellcheck disable=SC2016 # apt-get's own
	apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' | sort -u \
		>"$dir/apt/sources.list"
	set -- "$@" -- -o "Dir::Etc::sourceparts=$dir/apt/none" -o "Dir::Etc::sourcelist=$dir/apt/sources.list" \
		-o "Dir::State::lists=$dir/apt/lists" -o APT::Sandbox::User=root
	wanted=
	while [ "$1" != -- ]; do
		[ -n "$(find "$dir" -maxdepth 1 -name "$1-*" -type d)" ] || wanted="$wanted $1"
		shift
	done
	shift
	if [ -n "$wanted" ]; then
		say "getting the sources of$wanted"
		# shellcheck disable=SC2086 # a list of words
		(cd "$dir" && quietly "$dir/apt/log" apt-get "$@" update &&
			quietly "$dir/apt/log" apt-get "$@" source --download-only $wanted) || return 1
		for package in $wanted; do
			tar -C "$dir" -xf "$(find "$dir" -maxdepth 1 -name "${package}_*.orig.tar.*z*" | head -n 1)" || return 1
		done
	fi
	for source in "$dir"/coreutils-*/; do
		[ -f "$source/built" ] && continue
		say "building the tests of coreutils"
		(cd "$source" && FORCE_UNSAFE_CONFIGURE=1 quietly configure.log ./configure --quiet &&
			quietly make.log make -j"$jobs" &&
			quietly make-tests.log make -C gnulib-tests -j"$jobs" check TESTS= && touch built) || return 1
	done
}
