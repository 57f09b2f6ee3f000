#!/bin/sh
# stress-ng's class of file systems, each stressor for a second, with its own verification.
: "${SCI_SUITES:?run by ./dev harmless}"
command -v stress-ng >/dev/null || { echo "stress-ng is not installed"; exit 77; }
class=$(stress-ng --class filesystem? 2>&1 | sed 's/^class.*stressors: *//; t; d')
for name in $class mmap mmapaddr mmapfork msync memfd pipe fifo sendfile splice tee vm-splice; do
	case $name in
	# they look for what changes meanwhile, or write to the disk itself
	*smart | fanotify | binderfs | ramfs | mlockmany) continue ;;
	esac
	case " ${SCI_ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
	timeout -k 5 60 ${SCI_EACH:+"$SCI_EACH"} stress-ng --"$name" 2 --verify -t 1s --temp-path "$PWD" --no-rand-seed --log-brief >"$name.log" 2>&1
	status=$?
	echo "$name: $status $(grep -c ' fail: ' "$name.log")" >>verdicts
done
