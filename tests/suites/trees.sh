#!/bin/sh
# A tree of some thousand files, copied in each way, and looked at by others.
: "${SCI_SUITES:?run by ./dev harmless}"
say()
{
	echo "$1: $2" >>verdicts
}
mkdir from
cp -a /usr/include /usr/lib/python3/dist-packages /usr/share/perl from 2>/dev/null
mkdir tar cpio git
(cd from && tar -cf - .) | (cd tar && tar -xpf -)
say "tar | tar" $?
diff -r --no-dereference from tar >diff.out 2>&1
say "diff -r" "$? $(wc -l <diff.out)"
if command -v rsync >/dev/null; then
	rsync -aH from/ rsync
	say rsync $?
	say "rsync -c" "$(rsync -acnH --delete --itemize-changes from/ rsync | wc -l)"
fi
(cd from && find . -depth -print0 | cpio -0pdm --quiet ../cpio) 2>/dev/null
say cpio "$? $(diff -rq --no-dereference from cpio | wc -l)"
cp -a --reflink=never from copy
say "cp -a" "$? $(diff -rq --no-dereference from copy | wc -l)"
(
	cd git && git init -q . && cp -r ../from . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one
) >/dev/null 2>&1
say "git commit" "$? $(cd git && git ls-tree -r HEAD | sha256sum)"
git clone -q --no-local git clone >/dev/null 2>&1
say "git clone" "$? $(diff -rq -x .git git clone | wc -l)"
(cd clone && git fsck --full >/dev/null 2>&1 && git repack -adq && git gc -q && git fsck --full >/dev/null 2>&1)
say "git fsck, gc" $?
tar -cf - from | xz -T2 -0 | xz -d | tar -tf - | wc -l >count
say "tar | xz" "$(cat count)"
