#!/bin/sh
# Usage: cross.sh ARCHITECTURE DIR. Cross-compiles all for arm64 (with BPF programs) or s390x (big-endian, without)
# against Debian's libraries of it, runs the unit tests under qemu-user, and compares what is read of an archive that
# was written there with the same written here. In a Debian tree of its own, DIR/tree, so that this machine's packages
# stay as they are; what is built is in DIR/tree/build. As root; what was built for this machine is in SCI_BUILD.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

[ "${3-}" = inside ] || exec unshare --mount --propagation private sh "$0" "$1" "$2" inside

architecture=$1 dir=$2 tree=$2/tree
source=$(cd "$(dirname "$0")/.." && pwd)
# tools of this machine, libraries of the other
packages="crossbuild-essential-$architecture,autoconf,automake,pkg-config,make,qemu-user-static"
packages="$packages,protobuf-c-compiler,uthash-dev,eztrace:$architecture"
libraries='libotf2-trace libjansson zlib1g libeztrace libelf libunwind libdw libbabeltrace2 libprotobuf-c libncurses
	libcmocka'
case $architecture in
arm64)
	host=aarch64 bpf=--with-bpf
	packages=$packages,clang,llvm,bpftool
	libraries="$libraries libbpf"
	;;
s390x) host=s390x bpf=--without-bpf ;;
*)
	echo "cross.sh: $architecture: only arm64 and s390x" >&2
	exit 2
	;;
esac
for library in $libraries; do
	packages=$packages,$library-dev:$architecture
done

mkdir -p "$dir"
if [ "$(cat "$dir/packages" 2>/dev/null)" != "$packages" ]; then
	echo "== a Debian tree with the libraries of $architecture: $tree"
	rm -rf "${tree:?}" "$dir/packages"
	. /etc/os-release
	# from where this machine has its packages; not the updates, which Debian no longer has for all architectures:
	# a library must be the same there and here
	# shellcheck disable=SC2016 # apt-get's own
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | head -n 1)
	# and a locale of its byte order
	# shellcheck disable=SC2016 # the hook's own
	mmdebstrap --quiet --customize-hook='mkdir "$1/foreign" &&
		chroot "$1" sh -c "cd /foreign && apt-get -o APT::Sandbox::User=root download libc-bin:'"$architecture"' &&
			dpkg -x libc-bin_*.deb . && rm libc-bin_*.deb"' \
		--variant=minbase --architectures="amd64,$architecture" --include="$packages" "$VERSION_CODENAME" \
		"$tree" "$mirror" >"$dir/mmdebstrap.log" 2>&1 || {
		tail -n 20 "$dir/mmdebstrap.log" >&2
		exit 1
	}
	echo "$packages" >"$dir/packages"
fi
mkdir -p "$tree/source" "$tree/build"
mount --bind "$source" "$tree/source"
for name in proc dev; do
	mount --rbind --make-rslave "/$name" "$tree/$name"
done

within()
{
	chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
		LOCPATH=/foreign/usr/lib/locale PKG_CONFIG_LIBDIR="/usr/lib/$host-linux-gnu/pkgconfig:/usr/share/pkgconfig" "$@"
}
# quietly NAME COMMAND...: output to DIR/NAME.log, shown only when it fails
quietly()
{
	log=$dir/$1.log
	shift
	within "$@" >"$log" 2>&1 || {
		tail -n 40 "$log" >&2
		echo "cross.sh: failed: $* (all of it: $log)" >&2
		exit 1
	}
}

echo "== building"
[ -n "$(find "$tree/build/Makefile" -newer "$source/configure" 2>/dev/null)" ] ||
	quietly configure sh -c "cd build && /source/configure --host=$host-linux-gnu --enable-werror $bpf"
grep -E '^  (kernel tracer|user tracer, EZTrace plugin|call stacks|unit tests)' "$dir/configure.log"
quietly make make -C build -j"$(nproc)"
quietly make-check make -C build -j"$(nproc)" check TESTS=
file -b "$tree/build/src/sci-analyze" | sed 's/,[^,]*interpreter.*//'

echo "== unit tests under qemu-user"
within make -C build check-unit "LOG_COMPILER=qemu-$host-static" >"$dir/check.log" 2>&1 || :
grep -E '^(PASS|FAIL|XPASS|ERROR|SKIP):' "$dir/check.log" || {
	tail -n 40 "$dir/check.log" >&2
	exit 1
}

echo "== an archive that is written there and read here"
rm -rf "$tree/archives" "$dir/here"
mkdir "$tree/archives" "$dir/here"
within "qemu-$host-static" build/tests/programs/random-trace 1 5 /archives/trace.otf2
"${SCI_BUILD:?}/tests/programs/random-trace" 1 5 "$dir/here/trace.otf2"
# --json names the archive, which is in another folder
(cd "$tree/archives" && "$SCI_BUILD/src/sci-analyze" --json trace.otf2) >"$dir/there.json"
(cd "$dir/here" && "$SCI_BUILD/src/sci-analyze" --json trace.otf2) >"$dir/here.json"
cmp "$dir/there.json" "$dir/here.json"
echo "the same, of $(find "$tree/archives" -type f | wc -l) files"
! grep -qE '^(FAIL|ERROR):' "$dir/check.log"
