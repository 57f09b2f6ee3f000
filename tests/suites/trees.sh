#!/bin/sh
# A tree of some thousand files, copied in each way, and looked at by others. It is of packages that are always
# small; what else is installed may be ten times as much.
: "${SCI_SUITES:?run by ./dev harmless}"
say()
{
	echo "$1: $2" >>verdicts
}
mkdir from
cp -a /usr/include/linux /usr/include/c++ /usr/share/perl /usr/share/perl5 /usr/share/zoneinfo from 2>/dev/null
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
	# no gc behind the clone's back
	cd git && git init -q . && git config gc.auto 0 && cp -r ../from . && git add -A &&
		git -c user.name=a -c user.email=a@b commit -qm one
) >/dev/null 2>&1
say "git commit" "$? $(cd git && git ls-tree -r HEAD | sha256sum)"
git clone -q --no-local git clone >/dev/null 2>&1
say "git clone" "$? $(diff -rq -x .git git clone | wc -l)"
(cd clone && git fsck --full >/dev/null 2>&1 && git repack -adq && git gc -q && git fsck --full >/dev/null 2>&1)
say "git fsck, gc" $?
tar -cf - from | xz -T2 -0 | xz -d | tar -tf - | wc -l >count
say "tar | xz" "$(cat count)"
