#!/usr/bin/env bash
# A real Slurm of two nodes on this one machine, on loopback in a folder of its own: slurmctld, slurmd, slurmdbd with MariaDB, sacct, slurmrestd.
# No systemd; memory limits by the kernel where its memory controller of cgroup v1 can be had, as OUT_OF_MEMORY needs.
# For tests on Debian, as root.
#   scripts/slurm_up.sh FOLDER         install what is missing, start; prints `export SLURM_CONF=…`
#   scripts/slurm_up.sh FOLDER --down  stop what it started
#   SLURM_MEMORY=look                  let Slurm look at memory once a second, also where the kernel could limit it
set -euo pipefail
ROOT=$(realpath -m "${1:?a folder for its files}")
HOST=$(hostname -s)
CONF=$ROOT/etc/slurm.conf
PACKAGES=(slurmctld slurmd slurmdbd slurm-client slurmrestd slurm-wlm-basic-plugins
    slurm-wlm-jwt-plugin munge mariadb-server)

down() {
    local pids=() pid
    for file in "$ROOT"/run/*.pid; do
        [ -s "$file" ] && pid=$(cat "$file") && kill "$pid" 2>/dev/null && pids+=("$pid")
    done
    for pid in ${pids[@]+"${pids[@]}"}; do
        for _ in $(seq 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -f "$ROOT"/run/*.pid
}

wait_for() { # WHAT COMMAND…
    local what=$1; shift
    for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.25; done
    echo "slurm_up: $what did not come up; see $ROOT/log" >&2
    tail -n 5 "$ROOT"/log/* >&2 || true
    exit 1
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }
idle() { [ "$(SLURM_CONF=$CONF sinfo -h -N -o %T | grep -cx idle)" = 2 ]; }

if [ "${2:-}" = --down ]; then down; exit; fi
[ "$(id -u)" = 0 ] || { echo "slurm_up: has to run as root" >&2; exit 1; }

if [ ! -e /usr/lib/*/slurm-wlm/auth_jwt.so ] || ! command -v slurmctld slurmdbd slurmd sacct slurmrestd munged mariadbd >/dev/null; then
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${PACKAGES[@]}" >&2
fi
mkdir -p "$ROOT"/{etc,state,spool/node1,spool/node2,log,run,db}
down

mkdir -p /run/munge /var/log/munge /var/lib/munge /etc/munge
[ -s /etc/munge/munge.key ] || dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 status=none
chown -R munge:munge /run/munge /var/log/munge /var/lib/munge /etc/munge
chmod 400 /etc/munge/munge.key
chmod 755 /run/munge
munge -n >/dev/null 2>&1 || su -s /bin/sh munge -c /usr/sbin/munged

[ -d "$ROOT/db/mysql" ] ||
    mariadb-install-db --user=mysql --datadir="$ROOT/db" --auth-root-authentication-method=normal >/dev/null
chown -R mysql "$ROOT/db"
chmod 755 "$ROOT"
chmod 777 "$ROOT/run"
mariadbd --user=mysql --datadir="$ROOT/db" --socket="$ROOT/run/db.sock" --port=23306 --bind-address=127.0.0.1 \
    --innodb-buffer-pool-size=64M >"$ROOT/log/db.log" 2>&1 &
echo $! >"$ROOT/run/db.pid"
wait_for MariaDB mariadb-admin --socket="$ROOT/run/db.sock" ping
mariadb --socket="$ROOT/run/db.sock" -e "
    create database if not exists slurm_acct_db;
    create user if not exists slurm@'127.0.0.1' identified by 'slurm';
    create user if not exists slurm@localhost identified by 'slurm';
    grant all on slurm_acct_db.* to slurm@'127.0.0.1';
    grant all on slurm_acct_db.* to slurm@localhost;"

JWT=$ROOT/etc/jwt.key
[ -s "$JWT" ] || dd if=/dev/urandom of="$JWT" bs=32 count=1 status=none
chmod 600 "$JWT"

cat >"$ROOT/etc/slurmdbd.conf" <<END
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$JWT
DbdHost=$HOST
DbdPort=26819
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=23306
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=$ROOT/log/slurmdbd.log
PidFile=$ROOT/run/slurmdbd.pid
END
chmod 600 "$ROOT/etc/slurmdbd.conf"
# Slurm takes one of the two: the kernel's limit, or its own look at what is used once a second.
TASKS=task/none GATHER=JobAcctGatherParams=OverMemoryKill
rm -f "$ROOT/etc/cgroup.conf"
if [ "${SLURM_MEMORY:-kernel}" = kernel ] && [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
    TASKS=task/cgroup GATHER=
    printf '%s\n' CgroupMountpoint=/sys/fs/cgroup CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes >"$ROOT/etc/cgroup.conf"
fi
cat >"$CONF" <<END
ClusterName=test
SlurmctldHost=$HOST
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$JWT
SlurmctldPort=26817
StateSaveLocation=$ROOT/state
SlurmdSpoolDir=$ROOT/spool/%n
SlurmctldPidFile=$ROOT/run/slurmctld.pid
SlurmdPidFile=$ROOT/run/slurmd-%n.pid
SlurmctldLogFile=$ROOT/log/slurmctld.log
SlurmdLogFile=$ROOT/log/slurmd-%n.log
SlurmdTimeout=10
ProctrackType=proctrack/linuxproc
TaskPlugin=$TASKS
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerNode=500
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
$GATHER
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$HOST
AccountingStoragePort=26819
KillWait=2
InactiveLimit=0
OverTimeLimit=0
SchedulerParameters=bf_interval=2
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=26818 CPUs=8 RealMemory=8000 State=UNKNOWN
NodeName=node2 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=26828 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=node[1-2] Default=YES MaxTime=60 State=UP
END
# slurmdbd looks for its configuration beside the slurm.conf that SLURM_CONF names.
export SLURM_CONF=$CONF
slurmdbd
wait_for slurmdbd listening 26819
{
    sacctmgr -i add cluster test || true
    sacctmgr -i add account acct cluster=test || true
    sacctmgr -i add user root account=acct || true
} >/dev/null 2>&1
slurmctld -f "$CONF"
for node in node1 node2; do slurmd -N "$node" -f "$CONF"; done
wait_for "the nodes" idle
# It refuses to run as root, and asks everything with the token of whoever asks it.
setpriv --reuid nobody --regid nogroup --clear-groups env SLURM_CONF="$CONF" SLURM_JWT=daemon \
    slurmrestd -a rest_auth/jwt -s openapi/dbv0.0.38 127.0.0.1:26820 >"$ROOT/log/slurmrestd.log" 2>&1 &
echo $! >"$ROOT/run/slurmrestd.pid"
wait_for slurmrestd listening 26820
echo "export SLURM_CONF=$CONF"
