#!/bin/sh
# SPDX-License-Identifier: MIT
# one-node.sh start|stop|kill|node FOLDER - a Slurm cluster of this one machine, for tests (as root; Debian's slurm-wlm
# and munge, 22.05 or later). `kill` kills slurmd, `node` starts it again. Without accounting: that needs a database.
#
#   tests/slurm/one-node.sh start /tmp/cluster && export SLURM_CONF=/tmp/cluster/slurm.conf
set -eu
mkdir -p "$2"
d=$(cd "$2" && pwd)
PATH=$PATH:/usr/sbin

node()
{
	SLURM_CONF=$d/slurm.conf slurmd -f "$d/slurm.conf" -L "$d/node.log" -N localhost
}

case $1 in
start)
	mkdir -p "$d/state" "$d/spool"
	# ports of this folder's own, so that two may run
	port=$((20000 + $(cksum <<-E | cut -d ' ' -f 1
		$d
	E
	) % 10000))
	memory=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
	cat >"$d/slurm.conf" <<-E
		ClusterName=one
		SlurmctldHost=localhost
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$d/munge.sock
		CryptoType=crypto/munge
		StateSaveLocation=$d/state
		SlurmdSpoolDir=$d/spool
		SlurmctldPidFile=$d/controller.pid
		SlurmdPidFile=$d/node.pid
		SlurmctldPort=$port
		SlurmdPort=$((port + 1))
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		ReturnToService=2
		SlurmdTimeout=20
		MinJobAge=10
		MaxArraySize=20001
		MaxJobCount=30000
		NodeName=localhost CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
		PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	E
	[ -s "$d/key" ] || head -c 1024 /dev/urandom >"$d/key"
	chmod 400 "$d/key"
	munged --force --key-file="$d/key" --socket="$d/munge.sock" --pid-file="$d/munge.pid" \
		--log-file="$d/munge.log" --seed-file="$d/seed" 2>>"$d/munge.err"
	export SLURM_CONF="$d/slurm.conf"
	slurmctld -f "$SLURM_CONF" -L "$d/controller.log"
	node
	for i in $(seq 100); do
		sinfo -h -o %t 2>/dev/null | grep -q idle && exit 0
		sleep 0.2
	done
	echo "one-node.sh: the node is not idle after 20 s; see $d/*.log" >&2
	exit 1;;
node)	node;;
kill)	[ ! -s "$d/node.pid" ] || kill -9 "$(cat "$d/node.pid")" 2>/dev/null || :;;
stop)
	for p in node controller munge; do
		[ ! -s "$d/$p.pid" ] || kill "$(cat "$d/$p.pid")" 2>/dev/null || :
	done;;
*)	echo "usage: one-node.sh start|stop|kill|node FOLDER" >&2; exit 2;;
esac
