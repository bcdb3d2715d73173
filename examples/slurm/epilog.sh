#!/bin/sh
# EpilogSlurmctld=/etc/slurm/attribution-epilog.sh
# Attributes each job that failed, right after its end, on the machine of slurmctld. Runs apart from Slurm: an epilog
# that waits would keep the nodes from their next job.
case "${SLURM_JOB_EXIT_CODE2:-${SLURM_JOB_EXIT_CODE:-}}" in
    0 | 0:0 | '') exit 0 ;;
esac
CONFIG=${ATTRIBUTION_CONFIG:-/etc/attribution/job.toml}
LOG=${ATTRIBUTION_LOG:-/var/log/attribution.log}
JOB=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}}
JOB=${JOB:-$SLURM_JOB_ID}
# Accounting learns of the end some seconds later.
(
    sleep "${ATTRIBUTION_DELAY:-20}"
    PATH=/opt/attribution/bin:/usr/local/bin:/usr/bin:/bin
    exec attribution run --configs "$CONFIG" --connector eca slurm ids "$JOB"
) </dev/null >>"$LOG" 2>&1 &
exit 0
