#!/bin/sh
# Installs the packages of ./dev deb into a fresh Debian tree, runs their tests there (autopkgtest), purges them, and
# lists what is left. As root; DIR is where ./dev deb left them.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

[ "${2-}" = inside ] || exec unshare --mount --propagation private sh "$0" "$1" inside

dir=$1 root=$1/root
set -- "$dir"/*.deb
[ -f "$1" ] || {
	echo "try.sh: no packages in $dir: ./dev deb" >&2
	exit 1
}
rm -rf "${root:?}"

echo "== a fresh Debian tree: $root"
# from where this machine has its packages
# shellcheck disable=SC2016 # apt-get's own
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | head -n 1)
. /etc/os-release
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" >"$dir/debootstrap.log" 2>&1 || {
	tail -n 20 "$dir/debootstrap.log" >&2
	exit 1
}
for name in proc sys dev; do
	mount --rbind --make-rslave "/$name" "$root/$name"
done
mount -t tmpfs none "$root/tmp"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || :

within()
{
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

# All files but those of the package manager itself.
list_files()
{
	(cd "$root" && find . -xdev \( -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt \
		-o -path ./var/lib/dpkg \) -prune -o -path "./etc/*-" -o -printf '%M %u %g %p\n' | sort)
}

mkdir "$root/packages"
for package; do
	case $package in
	*-dbgsym_*) ;;
	*) cp "$package" "$root/packages/" ;;
	esac
done
echo "== what they depend on"
depends=$(for package in "$root"/packages/*.deb; do dpkg-deb -f "$package" Depends; done |
	tr ',' '\n' | grep -v 'libeta-ext1\|eztrace-sci' | sed 's/^ *//' | sort -u | paste -sd ,)
within apt-get satisfy -y --no-install-recommends "$depends, eztrace, libcap2-bin, adduser" >"$dir/depends.log" 2>&1 || {
	tail -n 20 "$dir/depends.log" >&2
	exit 1
}
list_files >"$dir/files.before"

echo "== apt-get install"
within sh -c 'apt-get install -y --no-install-recommends /packages/*.deb' >"$dir/install.log" 2>&1 || {
	tail -n 20 "$dir/install.log" >&2
	exit 1
}
within sci-analyze --version
list_files >"$dir/files.installed"

echo "== a group that may trace the kernel"
echo 'eztrace-sci eztrace-sci/group boolean true' | within debconf-set-selections
within dpkg-reconfigure eztrace-sci
within sh -c 'ls -l /usr/bin/sci-record /usr/bin/sci-analyze; getcap /usr/bin/sci-*'
within sh -c 'adduser --quiet --disabled-password --gecos "" member && adduser --quiet member sci &&
	cd /home/member && runuser -u member -- sci-record -o run -- dd if=/dev/zero of=data bs=4k count=10 &&
	runuser -u member -- sci-analyze --by=class run/unified.otf2
	! runuser -u nobody -- sci-record -o /tmp/run -- true'
within deluser --quiet --remove-home member >/dev/null
echo 'eztrace-sci eztrace-sci/group boolean false' | within debconf-set-selections
within dpkg-reconfigure eztrace-sci

echo "== purge"
within apt-get purge -y eztrace-sci-mpi eztrace-sci libeta-ext1 libeta-ext-dev >"$dir/purge.log" 2>&1
list_files >"$dir/files.after"
if ! diff "$dir/files.before" "$dir/files.after"; then
	echo "try.sh: the purge has left or taken the above" >&2
	exit 1
fi
echo "as before: $(wc -l <"$dir/files.after") files and folders ($(wc -l <"$dir/files.installed") when installed)"

echo "== autopkgtest"
rm -rf "$root/packages"
rm -rf "$dir/autopkgtest"
autopkgtest --no-built-binaries "$@" "$dir/tree/" --output-dir "$dir/autopkgtest" -- chroot "$root" \
	>"$dir/autopkgtest.log" 2>&1 && status=0 || status=$?
cat "$dir/autopkgtest/summary"
# 2, 8: tests were skipped
[ "$status" -eq 0 ] || [ "$status" -eq 2 ] || [ "$status" -eq 8 ]
