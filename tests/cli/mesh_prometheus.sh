#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's Prometheus scrapes a mesh of 1,000 (NOMORA_MESH_HOSTS) simulated hosts. Checks the metrics, the alert rules
# and the dashboard's queries.
. "$(dirname "$0")/lib.sh"

for program in curl python3 prometheus promtool; do
	command -v "$program" >/dev/null || skip_all "$program is not installed"
done
hosts=${NOMORA_MESH_HOSTS:-1000}
racks=$((hosts / 20))
check "promtool finds nothing in the rules" promtool check rules "$source_root/integrations/prometheus/nomora.rules.yml"

# The alerts that fire when the mesh itself is dead, by Prometheus' own evaluation: not before their time, and not for a
# mesh that is fine.
cp "$source_root/integrations/prometheus/nomora.rules.yml" "$scratch"
cat >"$scratch/alerts.yml" <<'END'
rule_files: [nomora.rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series: # the last row was written at 0 s; the blind gauge rises at 30 s
      - {series: 'nomora_mesh_written_timestamp_seconds{instance="dead"}', values: '0x40'}
      - {series: 'nomora_mesh_blind{instance="dead"}', values: '0x1 1x38'}
      - {series: 'nomora_mesh_written_timestamp_seconds{instance="well"}', values: '0+15x40'}
      - {series: 'nomora_mesh_blind{instance="well"}', values: '0x40'}
    alert_rule_test:
      - {eval_time: 1m, alertname: NomoraMeshSilent, exp_alerts: []}
      - {eval_time: 15s, alertname: NomoraMeshBlind, exp_alerts: []}
      - eval_time: 3m
        alertname: NomoraMeshSilent
        exp_alerts:
          - exp_labels: {severity: critical, instance: dead}
            exp_annotations:
              summary: No prober writes the latency matrix of dead
              description: "The last prober wrote 3m 0s ago: placements use old figures."
      - eval_time: 45s
        alertname: NomoraMeshBlind
        exp_alerts:
          - exp_labels: {severity: critical, instance: dead}
            exp_annotations:
              summary: The mesh of dead is blind
              description: "No prober has seen any pair lately: nothing is known, bad or good. Placements use no measurement."
END
check "the alerts of a dead mesh fire: at once when it is blind, within 3 minutes when nobody writes" promtool test rules "$scratch/alerts.yml"

# Racks of 20 hosts in pods of 10 racks: all pairs within racks, one pair between any two racks. h7 is bad, and so is
# the uplink of rack r30.
python3 - "$scratch" "$hosts" <<'END'
import json, sys, time
folder, hosts, now = sys.argv[1], int(sys.argv[2]), time.time()
machines = [{"name": f"h{i}", "rack": f"r{i // 20}", "pod": f"p{i // 200}", "slots": 1} for i in range(hosts)]
json.dump({"schema": "nomora.cluster/1", "machines": machines}, open(folder + "/cluster.json", "w"))
with open(folder + "/latency.csv", "w") as out:
    out.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
    def row(a, b):
        slow = 600 if 7 in (a, b) or (a // 20 != b // 20 and 30 in (a // 20, b // 20)) else 0
        us = 30 if a // 20 == b // 20 else 70
        out.write(f"h{a},h{b},{us},{us + 9 + slow},{us + 20 + slow},0,1000,{now:.3f}\n")
    for a in range(hosts):
        for b in range(a // 20 * 20, a // 20 * 20 + 20):
            if a != b:
                row(a, b)
    for a in range(hosts // 20):
        for b in range(hosts // 20):
            if a != b:
                row(a * 20 + b % 20, b * 20 + a % 20)
END
live=$scratch/live
check "$hosts hosts go into a live matrix" "$nomora" mesh merge "$scratch/latency.csv" --live "$live" --cluster "$scratch/cluster.json"
"$nomora" mesh serve "$live" --port 0 --max-age 0 >"$scratch/url" 2>"$scratch/serve.err" &
at_exit kill -9 $!
wait_for 30 grep -q http "$scratch/url" || { fail "mesh serve listens" "$(cat "$scratch/serve.err")"; plan; exit; }
url=$(cat "$scratch/url")
check "promtool finds nothing in the metrics" sh -c "curl -s '${url}metrics' | sed '/^# EOF/d; /^# UNIT/d' | promtool check metrics"
metrics=$(curl -s "${url}metrics")
[ "$(grep -c '^nomora_mesh_rtt_seconds{' <<<"$metrics")" -eq 10 ] && pass "of over 1,000 pairs the ten worst" || fail "of over 1,000 pairs the ten worst"
[ "$(grep -c '^nomora_mesh_loss_ratio{' <<<"$metrics")" -eq 10 ] && pass "with their loss" || fail "with their loss"
[ "$(grep -c '^nomora_mesh_rack_loss_ratio{' <<<"$metrics")" -eq "$racks" ] && pass "and the loss of each rack" || fail "and the loss of each rack"
series=$(grep -vc '^#' <<<"$metrics")
[ "$series" -le $((10000 + racks)) ] && pass "a scrape has at most 10,000 series" || fail "a scrape has at most 10,000 series" "$series"
grep -qx 'nomora_mesh_pod_rtt_seconds{from="p0",to="p3",stat="p99"} 0.000679' <<<"$metrics" &&
	pass "and the pods" || fail "and the pods" "$(grep 'from="p0",to="p3"' <<<"$metrics")"
page=$(curl -s "$url")
for words in 'Bad host h7 in rack r0' 'Bad uplink of rack r30' 'between pods'; do
	grep -qF "$words" <<<"$page" && pass "the page says: $words" || fail "the page says: $words" "$page"
done
curl -s "${url}pods?from=p0&to=p1" | grep -q '<a href="/racks?from=r9&amp;to=r19">79.0</a>' &&
	pass "the racks of two pods" || fail "the racks of two pods" "$(curl -s "${url}pods?from=p0&to=p1")"
curl -s "${url}pair?from=h7&to=h8" | grep -q '<td>639.0<td>' && pass "a pair" || fail "a pair" "$(curl -s "${url}pair?from=h7&to=h8")"
printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\nh1,h2,10,29,30,0,50,%s\n' "$(date +%s)" >"$scratch/short.csv"
"$nomora" mesh merge "$scratch/short.csv" --live "$scratch/short"
"$nomora" mesh serve "$scratch/short" --port 0 >"$scratch/short.url" &
at_exit kill -9 $!
wait_for 30 grep -q http "$scratch/short.url"
curl -s "$(cat "$scratch/short.url")pair?from=h1&to=h2" | grep -q '<td>10.0<td>&ndash;<td>30.0' &&
	pass "50 samples have no p99" || fail "50 samples have no p99"
[ "$(curl -s -o "$scratch/none" -w '%{http_code}' "${url}pair?from=h7&to=nobody")" = 404 ] && pass "an unknown host is 404" || fail "an unknown host is 404"
run "$nomora" mesh show "$scratch/latency.csv" --cluster "$scratch/cluster.json" --stat p99
grep -q "^$hosts hosts; the worst pairs by p99" <<<"$out" && [ "$(grep -cE '^h[0-9]+ +h[0-9]+ ' <<<"$out")" -eq 10 ] &&
	pass "mesh show lists the worst ten" || fail "mesh show lists the worst ten" "$out"
check "mesh draw folds racks" "$nomora" mesh draw "$scratch/latency.csv" --cluster "$scratch/cluster.json" -o "$scratch/mesh.svg"
grep -q "$hosts hosts in $racks racks" "$scratch/mesh.svg" && pass "and says so" || fail "and says so"

target=${url#http://}
sed "s/127.0.0.1:8862/${target%/}/; s/scrape_interval: 15s/scrape_interval: 1s/" "$source_root/integrations/prometheus/nomora.scrape.yml" >"$scratch/prometheus.yml"
cp "$source_root/integrations/prometheus/nomora.rules.yml" "$scratch"
check "promtool takes the configuration" promtool check config "$scratch/prometheus.yml"
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.listen-address=127.0.0.1:0 \
	--log.level=info >"$scratch/prometheus.log" 2>&1 &
at_exit kill -9 $!
listens() { api=$(grep -oE 'Listening on.* address=127[0-9.:]+' "$scratch/prometheus.log" | grep -oE '[0-9.]+:[0-9]+$'); [ -n "$api" ]; }
wait_for 90 listens || { fail "Prometheus starts" "$(tail -20 "$scratch/prometheus.log")"; plan; exit; }
# answers QUERY: it returns data.
answers() { curl -s -G "http://$api/api/v1/query" --data-urlencode "query=$1" | python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)["data"]["result"])'; }
wait_for 90 answers "up == 1 and on() nomora_mesh_hosts == $hosts" && pass "Prometheus scrapes $hosts hosts" || fail "Prometheus scrapes $hosts hosts" "$(tail -20 "$scratch/prometheus.log")"
python3 -c '
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(target["expr"])' "$source_root/integrations/grafana/nomora-mesh.json" >"$scratch/queries"
[ "$(wc -l <"$scratch/queries")" -ge 10 ] || fail "the dashboard has queries"
while read -r query; do
	wait_for 60 answers "$query" && pass "dashboard: $query" || fail "dashboard: $query" "$(curl -s -G "http://$api/api/v1/query" --data-urlencode "query=$query")"
done <"$scratch/queries"
wait_for 60 answers 'nomora_mesh_patterns{kind="uplink"} == 1' && pass "the uplink is a metric" || fail "the uplink is a metric"
plan
