#!/bin/sh
# Debian's test-suite of python3 (libpython3.11-testsuite): what of it does I/O, threads and processes.
: "${SCI_SUITES:?run by ./dev harmless}"
/usr/bin/python3 -c 'import test.test_io' || { echo "libpython3.11-testsuite is not installed"; exit 77; }
for name in io os fileio mmap subprocess threading asyncio file largefile bufio fileinput tempfile shutil glob \
	posix fcntl pty select poll epoll selectors signal thread fork1 wait3 wait4 popen pipes mailbox \
	zipfile tarfile gzip sqlite3 dbm shelve logging pathlib multiprocessing_fork concurrent_futures; do
	/usr/bin/python3 -m test --junit-xml="$PWD/$name.xml" --timeout 600 "test_$name" >"$name.log" 2>&1
	echo "$name: $?" >>verdicts
done
