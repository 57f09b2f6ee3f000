#!/bin/sh
# Usage: kernel.sh DIR. Leaves Debian's kernel in DIR/vmlinuz and the modules the guest loads, in the
# order of DIR/modules/list. Downloaded and unpacked once, never installed. 77: cannot be had here.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

dir=$1
modules='virtio_pci virtio_blk nvme ext4 xfs btrfs crc32c_intel dm_mod raid0 raid1'

[ "$(cat "$dir/wanted" 2>/dev/null)" != "$modules" ] || exit 0
for c in apt-get apt-cache dpkg-deb depmod modprobe; do
	command -v "$c" >/dev/null 2>&1 || {
		echo "$c is not installed"
		exit 77
	}
done
package=$(apt-cache depends linux-image-amd64 2>/dev/null |
	sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
[ -n "$package" ] || {
	echo "no package linux-image-amd64 is known to apt"
	exit 77
}

rm -rf "$dir"
mkdir -p "$dir/new/modules"
cd "$dir/new"
apt-get -o APT::Sandbox::User=root download "$package" >log 2>&1 || {
	echo "$package cannot be downloaded: $(tail -n 1 log)"
	exit 77
}
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x ./boot ./lib
rm -f "$package"_*.deb
version=$(basename lib/modules/*)
mv "boot/vmlinuz-$version" vmlinuz
depmod -b "$PWD" "$version"
for m in $modules; do
	modprobe -d "$PWD" -S "$version" --show-depends "$m" 2>/dev/null || :
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
	cp "$file" modules/
	basename "$file"
done >modules/list
rm -rf boot lib log
cd ..
mv new/vmlinuz new/modules .
rmdir new
echo "$modules" >wanted
