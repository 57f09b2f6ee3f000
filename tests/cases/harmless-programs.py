#!/usr/bin/python3
# Programs of Debian that do their tasks the same, traced or not.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
from harmless import Row  # noqa: E402

TREE = """mkdir -p tree/a/b tree/c; i=0
while [ $i -lt 50 ]; do echo "line $i" >tree/a/$i; i=$((i + 1)); done
head -c 300000 /dev/zero | tr '\\0' x >tree/c/large; ln -s ../a/1 tree/c/link; ln tree/a/2 tree/a/b/hard
chmod 600 tree/a/3; truncate -s 1M tree/c/sparse
touch -h -d @1000000000 tree/*/* tree/*/*/* tree/* tree"""

PYTHON = os.path.realpath("/usr/bin/python3")
# what differs between two untraced runs: times, process ids, salts, random data
NORMAL = {"nginx": [("20.*signal process started", "signal process started")]}
IGNORED = {"git": [r"(^|/)\.git/", r"(^|/)\.git$"], "openssl": ["^key$"], "ssh-keygen": ["^key", "^y$"],
           "gpg": ["^x$", "random_seed", "^private", "^pubring"], "tar-tar": [r"\.tgz$"],
           "sqlite3": ["^db-"], "fio": [r"\.0$"]}
POSTGRES = next(iter(glob.glob("/usr/lib/postgresql/*/bin")), "")
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b", "GIT_AUTHOR_DATE": "@1000000000 +0000",
       "GIT_COMMITTER_DATE": "@1000000000 +0000"}
C = "echo 'int main(void) { return 42; }' >a.c; "

# name, what must be installed, command
TASKS = [
    # shells
    ("dash", "dash", "echo one >x; exec 3<>x; read a <&3; echo two >&3; cat x; (exit 7); echo $?; exit 3"),
    ("dash-closed", "dash", "exec 0<&- 1>&- 2>&-; echo lost; echo kept >x; exec 1>x2 2>&1; echo out; echo err >&2"),
    ("bash", "bash", ["bash", "-c", """printf '%s\\n' {1..2000} >x; mapfile -t a <x; echo ${#a[@]}
exec {fd}>y; echo $fd >&$fd; cat < <(sort -rn x | head -n 3) <<<here; coproc cat; echo hi >&${COPROC[1]}
read -r b <&${COPROC[0]}; echo "$b"; kill -TERM $$"""]),
    ("bash-traps", "bash", ["bash", "-c", "trap 'echo term >>x' TERM; trap 'echo end >>x' EXIT; kill -TERM $$; "
                            "ulimit -n 20; cat x; nothing-such; exit 5"]),
    ("bash-job", "bash", ["bash", "-mc", "sleep 0.1 & wait $!; echo $?; (sleep 5 & kill %1; wait %1; echo $?) 2>&1; "
                          "yes | head -n 3; echo ${PIPESTATUS[@]}"]),
    # copies
    ("tar-tar", "tar", "tar -cf - tree | (mkdir to; tar -xf - -C to); diff -r tree to/tree && tar -czf x.tgz "
     "--sort=name tree; tar -tvzf x.tgz | wc -l; tar -xOzf x.tgz tree/a/7"),
    ("cp-diff", "diff", "cp -a tree cp; diff -r --no-dereference tree cp; diff tree/a/1 tree/a/4; cp --reflink=auto "
     "--sparse=always tree/c/sparse sparse; cmp sparse tree/c/sparse; mv cp moved; rm -r tree"),
    ("rsync", "rsync", "rsync -a --out-format=%n tree/ to; echo changed >tree/a/5; rsync -acH --delete "
     "--out-format=%n tree/ to; diff -r tree to"),
    ("find-xargs", "find", "find tree -type f -print0 | sort -z | xargs -0 -n 7 -P 1 cksum; find tree -size +100k -delete; "
     "find tree -newermt @1000000001"),
    ("compress", "xz", "gzip -kn tree/c/large; bzip2 -k tree/c/large; xz -kT1 tree/c/large; zcat tree/c/large.gz | "
     "cmp - tree/c/large; ls -l tree/c | cut -d' ' -f5"),
    ("dd", "dd", "dd if=tree/c/large of=x bs=4k conv=fsync,notrunc oflag=append status=none; "
     "dd if=x of=y bs=512 skip=3 seek=5 count=7 status=none; truncate -s 100 x; od -c y | tail -n 3; sync x y; cksum x y"),
    ("split-sort", "sort", "seq 20000 | sort -R --random-source=/etc/services | split -l 3000 - part; "
     "sort -n -S 64k -T . part* | cksum; comm -12 partaa partab; tac partaa | tail -n 1; paste partaa partab | head -n 2; "
     "tee copy <partac | wc; shuf --random-source=/etc/services -n 3 partad; sed -i s/1/2/ partae; cksum copy partae"),
    # interpreters
    ("perl", "perl", ["perl", "-e", r"""open F, "+>f" or die; print F "line $_\n" for 1..1000; seek F, 0, 0;
$/ = \64; my $n = 0; $n++ while <F>; print "$n\n"; open P, "-|", "echo out; exit 3"; print <P>; close P; print $? >> 8, "\n";
if (my $p = fork) { waitpid $p, 0; print $?, "\n" } else { open G, ">>f"; syswrite G, "child"; exit 4 }
sysopen H, "h", 0102 or die; flock H, 2; truncate H, 50; print -s "h", "\n"; opendir D, "."; print join(",", sort readdir D), "\n";
open DUP, ">&", \*STDOUT; close STDOUT; print DUP "dup\n"; open my $m, ">", \my $mem; print $m "x"; print DUP $mem, "\n"; die "end"
"""]),
    ("python3", "python3", [PYTHON, "-c", """
import mmap, multiprocessing, os, shutil, subprocess, sys, tempfile, threading
with open('f', 'w+b', 0) as f:
    f.write(b'x' * 10000); m = mmap.mmap(f.fileno(), 10000); m[5:8] = b'abc'; m.flush(); m.close()
    f.seek(5); print(f.read(3), os.pread(f.fileno(), 4, 4), os.preadv(f.fileno(), [bytearray(2)], 5))
print(subprocess.run('cat; echo err >&2; exit 3', shell=True, input=b'in', capture_output=True))
ts = [threading.Thread(target=lambda i=i: open(f't{i}', 'w').write(str(i) * 5000)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
with multiprocessing.Pool(2) as p: print(p.map(len, ['a', 'bb', 'ccc']))
r, w = os.pipe(); os.set_blocking(r, False)
try: os.read(r, 1)
except BlockingIOError as e: print(e)
os.posix_fallocate(w2 := os.open('g', os.O_RDWR | os.O_CREAT), 0, 5000); print(os.sendfile(w2, os.open('f', 0), 0, 100))
print(os.copy_file_range(os.open('f', 0), w2, 50)); shutil.copytree('.', '../copied', dirs_exist_ok=True); shutil.rmtree('../copied')
print(tempfile.TemporaryFile().write(b'1')); sys.exit(3)
"""]),
    ("python3-asyncio", "python3", [PYTHON, "-c", """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1); print(await p.communicate(b'hello'))
    s = await asyncio.start_unix_server(lambda r, w: (w.write(b'served'), w.close()), 'sock')
    r, w = await asyncio.open_unix_connection('sock'); print(await r.read()); w.close(); s.close()
    print(await asyncio.to_thread(lambda: open('x', 'w').write('y')))
asyncio.run(main())
"""]),
    ("awk-m4-bc", "awk", r"""awk 'BEGIN { for (i = 0; i < 500; i++) print i, i * i >"x"; close("x"); while ((getline l <"x") > 0) n++;
print n; "echo cmd" | getline c; print c; print "to sort" | "sort"; close("sort"); system("echo sys; exit 3") }'; tail -n 1 x"""),
    ("node", "node", ["node", "-e", """
const fs = require('fs'), cp = require('child_process'); fs.writeFileSync('x', 'a'.repeat(100000));
fs.createReadStream('x').pipe(fs.createWriteStream('y')).on('finish', async () => {
  console.log(fs.statSync('y').size, cp.execSync('cksum y').toString());
  for (let i = 0; i < 50; i++) await fs.promises.appendFile('z', i + ' ');
  console.log(await fs.promises.readFile('z', 'utf8')); process.exit(3); });
"""]),
    ("java", "java", "echo 'class A { public static void main(String[] a) throws Exception { var p = java.nio.file.Path.of(\"x\"); "
     "java.nio.file.Files.writeString(p, \"abc\".repeat(10000)); try (var f = new java.io.RandomAccessFile(\"x\", \"rw\")) { f.seek(5); "
     "f.write(7); f.getChannel().map(java.nio.channels.FileChannel.MapMode.READ_WRITE, 0, 100).put(0, (byte) 65).force(); } "
     "var t = new Thread(() -> System.out.println(\"thread\")); t.start(); t.join(); System.out.println(java.nio.file.Files.size(p)); "
     "System.out.println(new ProcessBuilder(\"sh\", \"-c\", \"exit 4\").start().waitFor()); System.exit(3); } }' >A.java; "
     "java -Xshare:auto -XX:-UsePerfData -Xmx64m -XX:TieredStopAtLevel=1 A.java"),
    # data bases
    ("sqlite3", "sqlite3", ["sqlite3", "db", "PRAGMA journal_mode=WAL; CREATE TABLE t(a, b); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "
                            "SELECT i + 1 FROM c WHERE i < 2000) INSERT INTO t SELECT i, i * i FROM c; UPDATE t SET b = b + 1; "
                            "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA integrity_check; SELECT sum(b) FROM t; .backup copy"]),
    # building, versions
    ("gcc", "gcc", C + "gcc -O2 -g -c a.c; gcc -o a a.o; ./a; echo $?; gcc -c absent.c; ar rcD lib.a a.o; nm lib.a | grep main; "
     "objdump -d a.o | tail -n 2; strip a.o; ls"),
    ("make", "make", "printf 'all: %s\\nx%%:\\n\\techo $@ >$@\\n' \"$(seq -f x%g -s ' ' 40)\" >Makefile; make -sj4 && cat x7; make -s; "
     "make absent; touch -d @1 x3; rm x4; make -j2 | wc -l"),
    ("git", "git", "git init -q .; git add tree; git commit -qm one; echo new >tree/a/1; git commit -qam two; git clone -q . to 2>&1; "
     "cd to; git log --format='%h %s'; git fsck --full 2>&1; git gc -q; git count-objects -v | grep in-pack; git diff --stat HEAD~1; "
     "git checkout -q HEAD~1; cat tree/a/1; git status --short; cd ..; rm -rf .git/hooks to/.git/hooks"),
    # others
    ("openssl", "openssl", "openssl enc -aes-128-cbc -K 00 -iv 00 -in tree/c/large -out x 2>&1; openssl dgst -sha256 x tree/c/large; "
     "openssl genpkey -algorithm ed25519 -out key; openssl pkey -in key -noout && ls -l key | cut -c1-10"),
    ("gpg", "gpg", "gpg --batch --homedir . --no-permission-warning -o x --symmetric --passphrase p --pinentry-mode loopback tree/c/large "
     "2>/dev/null; gpg --batch --homedir . --no-permission-warning --passphrase p --pinentry-mode loopback -d x 2>/dev/null | cksum; "
     "gpgconf --homedir . --kill gpg-agent"),
    ("file", "file", "file tree/c/* tree/a/1 /bin/ls /usr/bin/python3; file -z -S tree/c/large"),
    ("man", "man", "man --pager=cat -l /usr/share/man/man1/ls.1.gz 2>&1 | head -n 20; groff -Tascii -man </dev/null"),
    ("ssh-keygen", "ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -C c -f key; ssh-keygen -y -f key >y; cut -d' ' -f1 y; "
     "ssh-keygen -l -f key | cut -c1-10; eval $(ssh-agent -s) >/dev/null; ssh-add -q key; ssh-add -l | wc -l; kill $SSH_AGENT_PID"),
    ("fio", "fio", "fio --name=w --rw=randrw --bs=4k --size=1m --numjobs=2 --ioengine=psync --verify=crc32c --randseed=1 "
     "--output=log --minimal; echo $?; fio --name=m --rw=randwrite --bs=4k --size=1m --ioengine=mmap --randseed=2 --output=log --minimal; "
     "fio --name=a --rw=randread --bs=4k --size=1m --ioengine=libaio --iodepth=8 --output=log --minimal; echo $?; rm log"),
    ("busybox", "busybox", "busybox tar -cf x.tar tree; busybox tar -tf x.tar | busybox wc -l; busybox find tree -type l; rm x.tar"),
    ("crond", "flock", "flock -n lock sh -c 'flock -n lock true; echo $?'; flock lock timeout 0.1 sleep 5; echo $?; nohup setsid sh -c "
     "'echo daemon >of-daemon' </dev/null >/dev/null 2>&1 & wait; cat of-daemon"),
    ("script", "script", "script -qec 'tty >/dev/null; stty size; echo in terminal; exit 3' log </dev/null | tr -d '\\r'; rm -f log"),
    ("setpriv", "setpriv", "setpriv --no-new-privs sh -c 'id -u; echo x >y'; setpriv --bounding-set=-all cat y"),
]
# daemons, with what they need first; nothing of them is left
if os.geteuid() == 0 and POSTGRES:
    TASKS.append(("postgres", "setpriv", f"""chown postgres .; exec setpriv --reuid=postgres --regid=postgres --init-groups sh -c '
PATH={POSTGRES}:$PATH; initdb -D d -A trust --no-sync >log && pg_ctl -s -D d -l log2 -o "-k $PWD -h \\"\\"" -w start || cat log log2
psql -h $PWD -qAtc "create table t as select i, i * i as b from generate_series(1, 5000) i; create index on t(b)" postgres
pgbench -qi -h $PWD postgres 2>/dev/null; pgbench -n -c 4 -t 50 -h $PWD postgres 2>&1 | grep processed
psql -h $PWD -Atc "select sum(b) from t" postgres; psql -h $PWD -qc "create extension amcheck" postgres
pg_amcheck -h $PWD -d postgres; echo $?; pg_ctl -s -D d -m fast stop; rm -r d log log2'"""))
if os.geteuid() == 0:
    TASKS.append(("nginx", "nginx", """mkdir c; head -c 100000 /dev/zero >c/f; cat >conf <<END
pid $PWD/pid; error_log $PWD/log; worker_processes 2; user root; events {}
http { access_log off; server { listen unix:$PWD/sock; location / { root $PWD/c; } } }
END
nginx -c $PWD/conf -p $PWD; i=0; while [ $i -lt 20 ]; do curl -s --unix-socket sock http://x/f | cksum; i=$((i + 1)); done | sort | uniq -c
curl -s -o /dev/null -w '%{http_code}\\n' --unix-socket sock http://x/absent; nginx -c $PWD/conf -p $PWD -s reload
kill -QUIT $(cat pid); while [ -e pid ]; do sleep 0.02; done; rm log"""))
    TASKS.append(("redis", "redis-server", """redis-server --port 0 --unixsocket $PWD/sock --dir $PWD --daemonize yes --appendonly yes --logfile log \\
--save '' >/dev/null; while ! redis-cli -s sock ping >/dev/null 2>&1; do sleep 0.02; done
seq -f 'SET k%g v%g' 500 | redis-cli -s sock | sort | uniq -c; redis-cli -s sock save; redis-cli -s sock get k77
redis-cli -s sock shutdown; rm -r log *.rdb appendonlydir"""))

ROWS = [Row(name, command, prepare=TREE if "tree" in str(command) else "", env=GIT if name == "git" else {},
            # man reads its pages in a sandbox, where nothing can be opened
            whole=name != "man", others=name == "postgres", normal=NORMAL.get(name, []), ignored=IGNORED.get(name, [])) for name, needed, command in TASKS
        if shutil.which(needed)]

if __name__ == "__main__":
    missing = [name for name, needed, _ in TASKS if not shutil.which(needed)]
    if missing:
        print("not installed, not run:", *missing)
    harmless.main(ROWS)
