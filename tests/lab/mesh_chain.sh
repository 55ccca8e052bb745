#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The whole way of a round trip across machines: 12 hosts' agents, three live matrices (one for each rack), publishers,
# a NATS server, a collector, the page with its metrics, a real Prometheus with the shipped alerts, and the scheduler. A
# host dies, stays dead for HOLD seconds (default 20, more than the age at which rows are stale) and comes back; the NATS
# server restarts; then all agents die. Windows of 2 s instead of 10, and every age in proportion.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
for program in curl jq nats-server prometheus; do command -v "$program" >/dev/null || skip_all "$program is not installed"; done

hosts=12 racks=3 window=2 age=12
lab=c$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
check "12 hosts in three racks" "$nomora" lab up --name "$lab" --hosts $hosts --racks $racks --slots 3 --peers "$scratch/peers" \
	--cluster "$scratch/cluster.json"
declare -A agent address rack
agent() { # NAME: its process is ${agent[NAME]}
	ip netns exec "$lab-$1" "$nomora" mesh agent eth0 --address "${address[$1]}/16" --peers "$scratch/peers" \
		--live "$scratch/live-${rack[$1]}" --interval-us 20000 --timeout-ms 500 --window $window --quiet >>"$scratch/agent-$1" 2>&1 &
	agent[$1]=$!
	disown "$!"
	at_exit kill -9 "$!"
}
while read -r name at _ in; do
	address[$name]=$at rack[$name]=$in
done < <(grep -v '^#' "$scratch/peers")
for name in "${!address[@]}"; do agent "$name"; done

mkdir "$scratch/ports"
listens() { kill -0 "$server" && port=$(jq -re '.nats[0]' "$scratch"/ports/*.ports | sed 's/.*://') && [ -n "$port" ]; }
port=
start_server() {
	rm -f "$scratch"/ports/*
	nats-server -a 127.0.0.1 -p "${port:--1}" --ports_file_dir "$scratch/ports" >>"$scratch/server.log" 2>&1 &
	server=$!
	at_exit kill -9 "$server"
	wait_for 20 listens
}
start_server && pass "a NATS server" || fail "a NATS server" "$(cat "$scratch/server.log")" # check has a subshell
for name in $(printf '%s\n' "${rack[@]}" | sort -u); do
	"$nomora" mesh publish "$scratch/live-$name" --server "nats://127.0.0.1:$port" --interval 0.2 >/dev/null 2>>"$scratch/publish.err" &
	at_exit kill -9 "$!"
done
all=$scratch/all
"$nomora" mesh collect "$all" --server "nats://127.0.0.1:$port" --hosts 64 >/dev/null 2>>"$scratch/collect.err" &
at_exit kill -9 "$!"
top() { "$nomora" mesh top "$all" --json --max-age $age; }
top_is() { top | jq -e "$1"; }
check "the collector has all 132 pairs" wait_for 60 top_is '.states.measured == 132'
"$nomora" mesh serve "$all" --port 0 --max-age $age >"$scratch/url" 2>"$scratch/serve.err" &
at_exit kill -9 "$!"
wait_for 30 grep -q http "$scratch/url"
url=$(cat "$scratch/url")
page_says() { curl -s "$url" | grep -qE "$1"; }
metric_is() { curl -s "${url}metrics" | grep -qE "^$1\$"; }
check "its page is calm" wait_for 60 page_says 'No pair is bad'

target=${url#http://}
{
	echo 'global: {evaluation_interval: 1s}'
	sed "s/127.0.0.1:8862/${target%/}/; s/scrape_interval: 15s/scrape_interval: 1s/" "$source_root/integrations/prometheus/nomora.scrape.yml"
} >"$scratch/prometheus.yml"
sed 's/for: 1m/for: 5s/' "$source_root/integrations/prometheus/nomora.rules.yml" >"$scratch/nomora.rules.yml"
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.listen-address=127.0.0.1:0 \
	>"$scratch/prometheus.log" 2>&1 &
at_exit kill -9 "$!"
serves() { api=$(grep -oE 'Listening on.* address=127[0-9.:]+' "$scratch/prometheus.log" | grep -oE '[0-9.]+:[0-9]+$'); [ -n "$api" ]; }
wait_for 90 serves && pass "Prometheus runs" || fail "Prometheus runs" "$(tail -n 3 "$scratch/prometheus.log")"
fires() { curl -s "http://$api/api/v1/alerts" | jq -e --arg name "$1" 'any(.data.alerts[]; .labels.alertname == $name and .state == "firing")'; }

export NOMORA_SCHEDD=$scratch/schedd.sock
"$bin/nomora-schedd" schedd --state "$scratch/state" --socket "$NOMORA_SCHEDD" --cluster "$scratch/cluster.json" --curves "$source_root/curves" \
	--latency "$all" --max-age $age --no-executor 2>"$scratch/schedd.err" &
at_exit kill -9 "$!"
check "the scheduler runs" wait_for 60 "$nomora" nodes
victim=h5

# A host dies.
kill -9 "${agent[$victim]}"
begun=$SECONDS
check "a dead host is lost on the collector" wait_for 60 top_is ".lost_hosts == [\"$victim\"] and .states.unreachable == 11"
printf '# after %d s: three windows are %d\n' $((SECONDS - begun)) $((3 * window))
check "on the page" wait_for 20 page_says "$victim"
check "in the metrics" wait_for 20 metric_is 'nomora_mesh_lost_hosts 1'
check "its alert fires" wait_for 60 fires NomoraMeshHostLost
printf '{"id": "job", "curve": "memcached", "root": 0, "tasks": 36}\n' >"$scratch/jobs.jsonl" # all slots of the cluster
check "a job of all slots is submitted" "$nomora" submit "$scratch/jobs.jsonl"
tasks_on() { "$nomora" nodes --json | jq -e --arg name "$1" --argjson n "$2" 'any(.machines[]; .name == $name and .tasks == $n)'; }
running() { "$nomora" jobs --json | jq -e ".jobs[0].running == $1"; }
check "33 of its tasks run" wait_for 60 running 33
# Rows are stale after $age seconds, unless they are seen: what was true must stay true.
end=$((SECONDS + ${HOLD:-20})) wrong=
while [ $SECONDS -lt $end ]; do
	top_is ".lost_hosts == [\"$victim\"] and .states.unreachable == 11" >/dev/null || wrong+="top at $((SECONDS - begun)) s; "
	tasks_on "$victim" 0 >/dev/null || wrong+="tasks at $((SECONDS - begun)) s; "
	fires NomoraMeshHostLost >/dev/null || wrong+="alert at $((SECONDS - begun)) s; "
	sleep 1
done
[ -z "$wrong" ] && pass "for ${HOLD:-20} s it stays unreachable, with its alert and without a task" || fail "it stays unreachable" "$wrong" "$(top)"

# It comes back, while the NATS server restarts.
kill -9 "$server"
wait "$server" 2>/dev/null
agent "$victim"
start_server && pass "the NATS server restarts" || fail "the NATS server restarts" "$(tail -n 3 "$scratch/server.log")"
begun=$SECONDS
check "the host is measured again" wait_for 60 top_is '.states.measured == 132 and .lost_hosts == []'
printf '# after %d s\n' $((SECONDS - begun))
check "and gets tasks" wait_for 60 running 36
ends() { ! fires "$1"; }
check "its alert ends" wait_for 60 ends NomoraMeshHostLost

# All agents die.
begun=$SECONDS
for name in "${!agent[@]}"; do kill -9 "${agent[$name]}"; done
check "without agents, top says first that it is blind" wait_for 60 sh -c "'$nomora' mesh top '$all' --once --max-age $age | head -1 | grep -q BLIND"
printf '# after %d s: three windows are %d\n' $((SECONDS - begun)) $((3 * window))
check "so does the page" wait_for 20 page_says 'The mesh is blind'
check "and the metric" wait_for 20 metric_is 'nomora_mesh_blind 1'
check "and the alert" wait_for 20 fires NomoraMeshBlind
printf '# after %d s\n' $((SECONDS - begun))
check "old figures are not exported" wait_for 60 sh -c "! curl -s '${url}metrics' | grep -q '^nomora_mesh_rtt_seconds'"
plan
