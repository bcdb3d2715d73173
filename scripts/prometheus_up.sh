#!/usr/bin/env bash
# A real Prometheus on loopback that scrapes one exporter every second. For tests on Debian, as root.
#   scripts/prometheus_up.sh FOLDER EXPORTER_PORT  install if missing, start on port 29090
#   scripts/prometheus_up.sh FOLDER --down         stop it
set -euo pipefail
ROOT=$(realpath -m "${1:?a folder for its files}")
PORT=29090
if [ -s "$ROOT/pid" ]; then
    kill "$(cat "$ROOT/pid")" 2>/dev/null || true
    for _ in $(seq 40); do kill -0 "$(cat "$ROOT/pid")" 2>/dev/null || break; sleep 0.25; done
    rm -f "$ROOT/pid"
fi
[ "${2:-}" = --down ] && exit
if ! command -v prometheus >/dev/null; then
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >&2
fi
rm -rf "$ROOT/data"
mkdir -p "$ROOT"
cat >"$ROOT/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 900ms}
scrape_configs:
  - job_name: dcgm
    static_configs:
      - targets: ["127.0.0.1:${2:?the exporter\'s port}"]
END
prometheus --config.file="$ROOT/prometheus.yml" --storage.tsdb.path="$ROOT/data" \
    --web.listen-address="127.0.0.1:$PORT" >"$ROOT/log" 2>&1 &
echo $! >"$ROOT/pid"
for _ in $(seq 120); do
    (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && exit
    sleep 0.25
done
echo "prometheus did not come up; see $ROOT/log" >&2
exit 1
