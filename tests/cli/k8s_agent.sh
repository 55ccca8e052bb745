#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora k8s-agent with recorded answers of an API server; tests/k8s uses a real one.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-agent.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
at_exit rm -rf "$dir"
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
recorded=$source_root/tests/data/k8s
start() { "$@" 2>>"$dir/log" </dev/null & at_exit kill -9 $!; started=$!; }
start_schedd() {
	start "$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --curves "$source_root/curves"
	schedd=$started
	wait_for 60 "$nomora" jobs
}
cp "$recorded"/{nodes,pods}.json "$dir"
: >"$dir/nodes.watch"
: >"$dir/pods.watch"
start python3 "$source_root/tests/cli/k8s_api.py" "$dir"
wait_for 60 test -s "$dir/port"
start_schedd
echo secret >"$dir/token"
start_agent() { start "$nomora" k8s-agent --server "http://127.0.0.1:$(cat "$dir/port")" --token-file "$dir/token" --resync 0.2; agent=$started; }
start_agent

machines() { "$nomora" nodes --json | jq -cS '[.machines[] | [.name, .rack, .slots, .state, .tasks]] | sort'; }
running() { "$nomora" jobs k8s-default.web --json | jq -cS '[.tasks[] | select(.state == "running") | [.name, .machine]] | sort'; }
is() { [ "$("$1")" = "$2" ]; }
check_soon() { if wait_for 60 is "$2" "$3"; then pass "$1"; else fail "$1" "$("$2")" "wanted $3" "$(cat "$dir/log")"; fi; }
# send KIND LINE...: appends lines of the recording to the watch.
send() { local kind=$1 n; shift; for n; do sed -n "${n}p" "$recorded/$kind.watch"; done >>"$dir/$kind.watch"; }

check_soon "nodes are machines, bound pods take slots" machines '[["n0","rack0",110,"up",1],["n1","rack1",110,"up",0],["n2","rack0",110,"up",1]]'
check_soon "a job has its bound pods" running '[["web-0","n2"],["web-root","n0"]]'
check "the token goes along" grep -q 'Bearer secret' "$dir/requests"
check "lists are read in pages" grep -q 'continue=2' "$dir/requests"
send pods 1 2
check_soon "a pod is bound: it runs there" running '[["web-0","n2"],["web-1","n2"],["web-root","n0"]]'
send pods 3 4
check_soon "one is deleted, one has ended: their slots are free" running '[["web-root","n0"]]'
# --- a job of 100 pods, bound ten at a time: not one submission for each
pods() { sed -n 1p "$recorded/pods.watch" | sed "s/\"type\":\"MODIFIED\"/\"type\":\"$1\"/; s/\"name\":\"web-1\"/\"name\":\"web-$2\"/"; }
submissions() { "$nomora" schedd export | jq -s '[.[] | select(.event == "job" and .job == "k8s-default.web")] | length'; }
count_running() { running | jq length; }
before=$(submissions)
begun=$SECONDS
for n in $(seq 101 200); do
	pods MODIFIED "$n" >>"$dir/pods.watch"
	[ $((n % 10)) -ne 0 ] || sleep 0.15
done
check_soon "100 pods are bound: they run" count_running 101
after=$(submissions)
check "in one submission a second ($((after - before)))" test $((after - before)) -le $((SECONDS - begun + 3))
for n in $(seq 101 200); do pods DELETED "$n"; done >>"$dir/pods.watch"
check_soon "they are deleted: their slots are free" running '[["web-root","n0"]]'
check "without a submission ($(($(submissions) - after)))" test "$(submissions)" -eq "$after"
send nodes 1
check_soon "a cordoned node is draining" machines '[["n0","rack0",110,"up",1],["n1","rack1",110,"draining",0],["n2","rack0",110,"up",0]]'
send nodes 2
check_soon "a node that is deleted is removed" machines '[["n0","rack0",110,"up",1],["n2","rack0",110,"up",0]]'

kill -9 "$agent" "$schedd"
wait "$agent" "$schedd" 2>/dev/null
start_schedd
start_agent # it lists again; the recorded list is older
check_soon "both were killed: the same again" running '[["web-root","n0"]]'
sed 's/"nodeName": *"n2"/"nodeName": "n0"/' "$recorded/pods.json" >"$dir/pods.json.new" && mv "$dir/pods.json.new" "$dir/pods.json"
: >"$dir/pods.watch"
lists() { grep -c 'pods.*limit=' "$dir/requests"; }
listed=$(lists)
listed_again() { [ "$(lists)" -gt "$listed" ]; }
: >"$dir/expired"
check "410: the list is read again" wait_for 60 listed_again
rm "$dir/expired"
check_soon "and counts" running '[["web-0","n0"],["web-root","n0"]]'
jq -c '.items[] | select(.metadata.name == "web-root") | {type: "DELETED", object: .}' "$dir/pods.json" >>"$dir/pods.watch"
check_soon "the root has ended" running '[["web-0","n0"]]'
pods MODIFIED 1 >>"$dir/pods.watch"
check_soon "and does not run again with the job's next pod" running '[["web-0","n0"],["web-1","n2"]]'
kill "$agent"
wait "$agent"
check "SIGTERM ends it with 0" test $? -eq 0
refuses "no server" 2 "missing option --server" "$nomora" k8s-agent
refuses "a bad server" 2 "expected https://HOST:PORT" "$nomora" k8s-agent --server localhost:6443
refuses "no token" 1 "/none: No such file" "$nomora" k8s-agent --server http://127.0.0.1:1 --token-file /none
plan
