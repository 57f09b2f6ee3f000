#!/bin/sh
# A tree of some thousand files, copied in each way, and looked at by others. It is of packages that are always
# small; what else is installed may be ten times as much.
: "${SCI_SUITES:?run by ./dev harmless}"
say()
{
	echo "$1: $2" >>verdicts
}
each()
{
	${SCI_EACH:+"$SCI_EACH"} "$@"
}
mkdir from
cp -a /usr/include/linux /usr/include/c++ /usr/share/perl /usr/share/perl5 /usr/share/zoneinfo from 2>/dev/null
mkdir tar cpio git
(cd from && each tar -cf - .) | (cd tar && each tar -xpf -)
say "tar | tar" $?
each diff -r --no-dereference from tar >diff.out 2>&1
say "diff -r" "$? $(wc -l <diff.out)"
if command -v rsync >/dev/null; then
	each rsync -aH from/ rsync
	say rsync $?
	each rsync -acnH --delete --itemize-changes from/ rsync >changes
	say "rsync -c" "$? $(wc -l <changes)"
fi
(cd from && find . -depth -print0 | each cpio -0pdm --quiet ../cpio) 2>/dev/null
say cpio "$? $(diff -rq --no-dereference from cpio | wc -l)"
each cp -a --reflink=never from copy
say "cp -a" "$? $(diff -rq --no-dereference from copy | wc -l)"
(
	# no gc behind the clone's back
	cd git && git init -q . && git config gc.auto 0 && cp -r ../from . && each git add -A &&
		each git -c user.name=a -c user.email=a@b commit -qm one
) >/dev/null 2>&1
say "git commit" "$? $(cd git && git ls-tree -r HEAD | sha256sum)"
each git clone -q --no-local git clone >/dev/null 2>&1
say "git clone" "$? $(diff -rq -x .git git clone | wc -l)"
(cd clone && each git fsck --full >/dev/null 2>&1 && each git repack -adq && each git gc -q && each git fsck --full >/dev/null 2>&1)
say "git fsck, gc" $?
each tar -cf - from | each xz -T2 -0 | each xz -d | each tar -tf - | wc -l >count
say "tar | xz" "$(cat count)"
