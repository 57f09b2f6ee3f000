#!/bin/sh
# Usage: postgres.sh DIR              makes a small database in DIR/pg
#        postgres.sh DIR CLIENTS N    its server runs N transactions of each of CLIENTS
# SPDX-License-Identifier: BSD-3-Clause
if [ "$(id -u)" -eq 0 ]; then
	mkdir -p "$1/pg" && chown postgres: "$1/pg" || exit
	exec setpriv --reuid=postgres --regid=postgres --init-groups sh "$0" "$@"
fi
clients=$2 transactions=$3
cd "$1/pg" || exit
set -- /usr/lib/postgresql/*/bin
PATH=$1:$PATH
PGHOST=$PWD PGDATABASE=postgres
export PATH PGHOST PGDATABASE
start()
{
	pg_ctl -s -D d -l server.log -o "-k $PWD -h ''" -w -t 60 start
}
stop()
{
	pg_ctl -s -D d -m fast stop
}
if [ -z "$clients" ]; then
	initdb -D d -A trust >initdb.log 2>&1 && start && pgbench -qi -s 2 2>pgbench.log && stop
	exit
fi
start || exit
pgbench -n -c "$clients" -j 1 -t "$transactions" >pgbench.log 2>&1
status=$?
stop && exit $status
