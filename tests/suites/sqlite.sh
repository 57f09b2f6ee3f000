#!/bin/sh
# Four processes write to one data base, in each kind of journal; then its own check of integrity.
: "${SCI_SUITES:?run by ./dev harmless}"
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }
for journal in WAL DELETE TRUNCATE PERSIST; do
	sqlite3 "$journal.db" "PRAGMA journal_mode=$journal; CREATE TABLE t(who, i, text); CREATE INDEX x ON t(who, i);" \
		>/dev/null
	pids=
	for who in 1 2 3 4; do
		i=0
		while [ $i -lt 200 ]; do
			echo "BEGIN IMMEDIATE; INSERT INTO t VALUES ($who, $i, hex(zeroblob(300))); UPDATE t SET text = 'a' || i"
			echo "WHERE who = $who AND i % 17 = 3; DELETE FROM t WHERE who = $who AND i = $i - 50; COMMIT;"
			i=$((i + 1))
		done | ${SCI_EACH:+"$SCI_EACH"} sqlite3 -cmd ".timeout 60000" "$journal.db" 2>>"$journal.err" &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || echo "writer of $journal: $?" >>verdicts
	done
	{
		echo "$journal integrity: $(sqlite3 "$journal.db" 'PRAGMA integrity_check;')"
		echo "$journal rows: $(sqlite3 "$journal.db" 'SELECT count(*), sum(i), count(DISTINCT text) FROM t;')"
		echo "$journal errors: $(wc -l <"$journal.err")"
	} >>verdicts
done
