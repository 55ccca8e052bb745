#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Monitoring of nomora schedd: the page, top, the metrics in a real Prometheus.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-watch.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
at_exit bash -c "cd $dir; for file in *.pid; do kill -9 \$(cat \$file); done; rm -rf $dir"

cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h1", "rack": "r1", "slots": 2}, {"name": "h2", "rack": "r1", "slots": 2},
 {"name": "h3", "rack": "r2", "slots": 2}, {"name": "h4", "rack": "r2", "slots": 2}]}
TEXT
{
	echo "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
	for a in 1 2 3 4; do for b in 1 2 3 4; do [ $a = $b ] || echo "h$a,h$b,20,20,20,0,100,$(date +%s)"; done; done
} >"$dir/latency.csv"
echo secret >"$dir/token"
chmod 600 "$dir/token"
# If another program takes the port meanwhile, try the next one.
for attempt in 1 2 3 4 5; do
	port=$((20000 + RANDOM % 10000))
	"$bin/nomora-schedd" schedd --state "$dir/state" --listen "127.0.0.1:$port" --token-file "$dir/token" --cluster "$dir/cluster.json" \
		--curves "$source_root/curves" --latency "$dir/latency.csv" --max-age 0 --no-executor 2>"$dir/log" &
	daemon=$!
	echo $daemon >"$dir/schedd.pid"
	wait_for 30 grep -qE 'serving on|in use' "$dir/log"
	grep -q 'serving on' "$dir/log" && break
	wait "$daemon"
done
# ask METHOD PATH [BODY]
ask() { curl -s -H 'Authorization: Bearer secret' -X "$1" ${3+-H "Content-Type: application/json" --data-binary "$3"} "http://127.0.0.1:$port$2"; }

check "a wrong token is refused" grep -q 'wrong token' <<<"$(curl -s "http://127.0.0.1:$port/v1/jobs")"
check "jobs are taken" grep -q 201 <<<"$(ask POST /v1/jobs '{"id": "web", "curve": "memcached", "root": 0, "tasks": 3}')"
running() { [ "$(ask GET /v1/jobs | jq '.jobs[0].running')" = 3 ]; }
check "they run" wait_for 30 running
page=$(ask GET /)
check "the page has its parts" grep -q 'id="racks"' <<<"$page"
overview() { ask GET /v1/overview | jq -c "$1"; }
settled() { [ "$(overview .totals.running)" = 3 ]; }
check "the overview counts tasks" wait_for 30 settled
check "and racks" test "$(overview '[.racks[] | .tasks] | add')" = 3
check "machines of one rack" test "$(ask GET '/v1/machines?rack=r1' | jq -c '[.machines[].name]')" = '["h1","h2"]'
check "a decision has a reason in words" grep -q 'predicted' <<<"$(ask GET '/v1/decisions?after=1' | jq -r '.decisions[0].reason')"
metrics=$(ask GET /metrics)
check "promtool finds the metrics clean" promtool check metrics <<<"$metrics"
check "and the alert rules" promtool check rules "$source_root/integrations/prometheus/nomora-schedd.rules.yml"
run python3 "$source_root/tests/support/prometheus_queries.py" "$dir" "127.0.0.1:$port" "$dir/token" \
	"$source_root/integrations/prometheus/nomora-schedd.rules.yml" "$source_root/integrations/grafana/nomora-schedd.json" nomora-schedd
[ "$code" -eq 0 ] && pass "Prometheus answers every query of the dashboard: $out" || fail "the dashboard's queries" "$out" "$err"
kill "$daemon"
wait "$daemon"

# The same on the unix socket, for top.
"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --no-executor 2>>"$dir/log" &
daemon=$!
echo $daemon >"$dir/schedd.pid"
wait_for 30 "$nomora" jobs >/dev/null 2>&1
run "$nomora" top --once
check "top counts tasks" grep -q '^1 jobs; tasks: 3 running' <<<"$out"
check "top shows racks" grep -qE '^r1 ' <<<"$out"
run "$nomora" top --json
check "top as JSON" test "$(jq -r .schema <<<"$out")" = nomora.overview/1
kill "$daemon"
wait "$daemon"
check "SIGTERM ends it with 0" test $? -eq 0
plan
