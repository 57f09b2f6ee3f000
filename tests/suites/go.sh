#!/bin/sh
# The Go standard library's tests of files and processes, by Debian's go.
: "${SCI_SUITES:?run by ./dev harmless}"
command -v go >/dev/null || { echo "golang-go is not installed"; exit 77; }
export GOCACHE="$PWD/cache" GOFLAGS=-mod=mod GOPATH="$PWD/path" CGO_ENABLED=1 GOTOOLCHAIN=local
# TestNohup waits by a WaitGroup that its subtests leave before they are reported: 2 of 60 untraced runs lack a verdict.
# unsteady: os-signal: os/signal TestNohup/*
for package in os os/exec os/signal io io/fs io/ioutil bufio path/filepath syscall internal/poll archive/tar log; do
	name=$(echo $package | tr / -)
	case " ${SCI_ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
	go test ${SCI_EACH:+-exec "$SCI_EACH"} -short -json $package >"$name.json" 2>"$name.err"
	echo "$package: $?" >>verdicts
done
