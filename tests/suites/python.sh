#!/bin/sh
# Debian's test-suite of python3 (libpython3.11-testsuite): what of it does I/O, threads and processes.
: "${SCI_SUITES:?run by ./dev harmless}"
/usr/bin/python3 -c 'import test.test_io' || { echo "libpython3.11-testsuite is not installed"; exit 77; }
# asyncio: what of it does I/O; the rest computes, or waits
for name in io os fileio mmap subprocess threading asyncio.test_subprocess asyncio.test_unix_events \
	asyncio.test_streams asyncio.test_sendfile asyncio.test_sock_lowlevel asyncio.test_server \
	file bufio fileinput tempfile shutil glob posix fcntl pty select poll epoll signal thread fork1 wait3 wait4 \
	popen pipes mailbox zipfile tarfile gzip dbm shelve pathlib; do
	case " ${SCI_ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
	${SCI_EACH:+"$SCI_EACH"} /usr/bin/python3 -m test --junit-xml="$PWD/$name.xml" --timeout 300 "test_$name" >"$name.log" 2>&1
	echo "$name: $?" >>verdicts
done
