#!/bin/sh
# Usage: kernel.sh DIR [PACKAGE]. Leaves the kernel that Debian's PACKAGE (linux-image-amd64) stands for in DIR/vmlinuz
# and the modules the guest loads, in the order of DIR/modules/list. Downloaded and unpacked once, never installed.
# APT_CONFIG may say from where. 77: cannot be had here.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

dir=$1 meta=${2-linux-image-amd64}
# of a kernel that has one of these built in there is no module
modules='virtio_pci virtio_blk virtio_scsi sd_mod nvme ext4 crc32c_intel dm_mod raid0 raid1 xfs btrfs'
# and those of DIR/modules/list.nfs: of a server and a client of it
nfs='virtio_pci virtio_blk nfsv4 nfsd'
# and of DIR/modules/list.9p: of a client of QEMU's server
plan9='virtio_pci virtio_blk 9pnet_virtio 9p'

[ "$(cat "$dir/wanted" 2>/dev/null)" != "$modules; $nfs; $plan9" ] || exit 0
for c in apt-get apt-cache dpkg-deb depmod modprobe; do
	command -v "$c" >/dev/null 2>&1 || {
		echo "$c is not installed"
		exit 77
	}
done
# depends PACKAGE PATTERN: the packages like that which it depends on
depends()
{
	apt-cache depends "$1" 2>/dev/null | sed -n "s/.*Depends: \($2\)\$/\1/p"
}
package=$(depends "$meta" 'linux-image-[^ ]*' | head -n 1)
[ -n "$package" ] || {
	echo "no package $meta is known to apt"
	exit 77
}
# kernels of 7.0 on are in several packages
packages="$package $(depends "$package" 'linux-\(base\|binary\|modules\)-[0-9][^ ]*' | tr '\n' ' ')"

rm -rf "$dir"
mkdir -p "$dir/new/modules"
cd "$dir/new"
# shellcheck disable=SC2086 # a list of words
apt-get -o APT::Sandbox::User=root download $packages >log 2>&1 || {
	echo "$package cannot be downloaded: $(tail -n 1 log)"
	exit 77
}
for file in *.deb; do
	dpkg-deb --fsys-tarfile "$file" | tar -x
	rm -f "$file"
done
# since Debian 13 below /usr
mkdir -p lib
[ ! -d usr/lib/modules ] || mv usr/lib/modules lib/
version=$(basename lib/modules/*)
mv "boot/vmlinuz-$version" vmlinuz 2>/dev/null || mv "lib/modules/$version/vmlinuz" vmlinuz
depmod -b "$PWD" "$version"
# take MODULE...: with what they need, in the order that they are loaded
take()
{
	for m; do
		modprobe -d "$PWD" -S "$version" --show-depends "$m" 2>/dev/null || :
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		name=${file##*/}
		[ -e "modules/${name%.xz}" ] || {
			cp "$file" modules/
			case $name in
			*.xz) xz -d "modules/$name" ;;
			esac
		}
		echo "${name%.xz}"
	done
}
# shellcheck disable=SC2086 # lists of words
take $modules >modules/list
# shellcheck disable=SC2086
take $nfs >modules/list.nfs
# shellcheck disable=SC2086
take $plan9 >modules/list.9p
rm -rf boot lib usr log
cd ..
mv new/vmlinuz new/modules .
rm -r new
echo "$modules; $nfs; $plan9" >wanted
