#!/bin/sh
# A server with eight clients, killed once in the middle; then its own check of tables and indexes.
: "${SCI_SUITES:?run by ./dev harmless}"
set -- /usr/lib/postgresql/*/bin
[ -x "$1/pg_amcheck" ] || { echo "postgresql is not installed"; exit 77; }
if [ "$(id -u)" -eq 0 ]; then
	chmod 777 .
	exec setpriv --reuid=postgres --regid=postgres --init-groups sh "$0"
fi
PATH=$1:$PATH
say()
{
	echo "$1: $2" >>verdicts
}
initdb -D d -A trust --data-checksums >initdb.log 2>&1
say initdb $?
start()
{
	pg_ctl -s -D d -l server.log -o "-k $PWD -h ''" -w -t 300 start
	say "start $1" $?
}
export PGHOST="$PWD" PGDATABASE=postgres
start first
pgbench -qi -s 2 2>/dev/null
pgbench -n -c 8 -j 2 -t 300 2>/dev/null | sed -n 's/^number of transactions actually processed/transactions/p; s/^number of failed transactions/failed/p' >>verdicts
psql -qc 'CREATE EXTENSION amcheck'
say sums "$(psql -Atc 'SELECT (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(abalance) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_history)')"
pg_amcheck --heapallindexed --parent-check >amcheck.out 2>&1
say pg_amcheck $?
pg_ctl -s -D d -m immediate stop
say crash $?
start "after a crash"
pg_amcheck --heapallindexed >amcheck.out 2>&1
say "pg_amcheck after a crash" $?
pg_dump >dump.sql
say pg_dump $?
pg_ctl -s -D d -m fast stop
say stop $?
pg_checksums -D d >/dev/null 2>&1
say checksums $?
