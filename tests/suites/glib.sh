#!/bin/sh
# GLib's installed tests of files, streams, mapped files, processes and threads (libglib2.0-tests).
: "${SCI_SUITES:?run by ./dev harmless}"
tests=/usr/libexec/installed-tests/glib
[ -d $tests ] || { echo "libglib2.0-tests is not installed"; exit 77; }
export G_TEST_SRCDIR=$tests G_TEST_BUILDDIR=$tests
for name in fileutils mappedfile io-channel spawn-test spawn-singlethread spawn-multithreaded dir file unix-fd \
	unix-streams pollable mem-overflow readwrite g-file g-file-info data-input-stream data-output-stream \
	buffered-input-stream buffered-output-stream memory-input-stream memory-output-stream converter-stream \
	fileattributematcher io-stream live-g-file sleepy-stream socket socket-listener gsubprocess unix pipe \
	thread thread-pool-test mainloop async-close-output-stream filter-streams gdatetime keyfile; do
	[ -x "$tests/$name" ] || continue
	case " ${SCI_ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
	timeout 300 ${SCI_EACH:+"$SCI_EACH"} "$tests/$name" --tap </dev/null >"$name.tap" 2>"$name.err"
	echo "$name: $?" >>verdicts
done
