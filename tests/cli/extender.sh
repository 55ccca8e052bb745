#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora schedd --extender: kube-scheduler's requests over TCP, in addition to the API on its socket.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-extender.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
at_exit bash -c "kill -9 \$(cat $dir/pid); rm -rf $dir"
cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "n1", "rack": "r1", "slots": 2}, {"name": "n2", "rack": "r1", "slots": 2},
 {"name": "n3", "rack": "r2", "slots": 2}, {"name": "n4", "rack": "r2", "slots": 2}, {"name": "n5", "rack": "r2", "slots": 2}]}
TEXT
start() {
	: >"$dir/log"
	"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --cluster "$dir/cluster.json" \
		--curves "$source_root/curves" --extender 127.0.0.1:0 "$@" 2>"$dir/log" &
	daemon=$!
	echo $daemon >"$dir/pid"
	wait_for 60 grep -q 'extender on 127.0.0.1 port' "$dir/log" && wait_for 60 "$nomora" jobs
	port=$(sed -n 's/.*extender on 127.0.0.1 port //p' "$dir/log")
}
# ask PATH FILE
ask() { curl -s ${user:+-u "$user"} --max-time 60 -H "Content-Type: application/json" --data-binary "@$2" "http://127.0.0.1:$port/$1"; }
# victims POD: the nodes on which kube-scheduler may evict a pod to make room for this one.
victims() {
	jq -n --argjson pod "$(jq .Pod "$1")" '{Pod: $pod, NodeNameToMetaVictims: ({n1: "a", n4: "b", n9: "c"} |
		map_values({Pods: [{UID: .}], NumPDBViolations: 0}))}' >"$dir/preempt.json"
	ask preempt "$dir/preempt.json" | jq -c '.NodeNameToMetaVictims | map_values(.Pods[0].UID)'
}
requests=$source_root/tests/data/extender

start
check "a task waits for the root" test "$(ask filter "$requests/filter_names.json" | jq -c .NodeNames)" = '[]'
check "and none is evicted for it" test "$(victims "$requests/filter_names.json")" = '{}'
check "the root gets one node, in the larger rack" test "$(ask filter "$requests/filter_root.json" | jq -c .NodeNames)" = '["n3"]'
check "tasks get its rack" test "$(ask filter "$requests/filter_names.json" | jq -c .NodeNames)" = '["n3","n4","n5"]'
check "pods are evicted in it" test "$(victims "$requests/filter_names.json")" = '{"n4":"b"}'
check "whole nodes are answered with whole nodes" test "$(ask filter "$requests/filter_nodes.json" | jq -c '[.Nodes.items[].metadata.name]')" = '["n3","n4","n5"]'
check "scores" test "$(ask prioritize "$requests/prioritize_names.json" | jq -c '[.[] | select(.Score == 10).Host]')" = '["n3","n4","n5"]'
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start
check "SIGKILL: the root is known" test "$(ask filter "$requests/filter_names.json" | jq -c .NodeNames)" = '["n3","n4","n5"]'
echo '{"NodeNames": []}' >"$dir/bad.json"
check "a bad request says why" grep -q 'missing Pod' <<<"$(ask filter "$dir/bad.json")"
check "the API is not here" grep -q 'no such path' <<<"$(ask v1/jobs "$dir/bad.json")"
kill "$daemon"
wait "$daemon"
check "SIGTERM ends it with 0" test $? -eq 0
echo '{' >"$dir/state.roots"
refuses "a broken file of roots" 1 "state.roots" "$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --extender 127.0.0.1:0
rm "$dir/state.roots"
# What Go's client, and thus kube-scheduler, sends for urlPrefix http://nomora:TOKEN@ADDRESS:PORT.
(umask 077 && echo s3cret >"$dir/token")
start --extender-token-file "$dir/token"
check "with a token: refused without it" grep -q 'wrong token' <<<"$(ask filter "$requests/filter_root.json")"
check "and with another" grep -q 'wrong token' <<<"$(user=nomora:other ask preempt "$requests/filter_root.json")"
check "and no root was decided" test ! -e "$dir/state.roots"
check "kube-scheduler has it in its URL" test "$(user=nomora:s3cret ask filter "$requests/filter_root.json" | jq -c .NodeNames)" = '["n3"]'
chmod 0644 "$dir/token"
refuses "a token that others can read" 1 "expected mode 0600" "$bin/nomora-schedd" schedd --state "$dir/other" --socket "$dir/other.sock" --extender 127.0.0.1:0 --extender-token-file "$dir/token"
refuses "a token without the extender" 2 "needs --extender" "$bin/nomora-schedd" schedd --state "$dir/other" --extender-token-file "$dir/token"
refuses "a bad address" 2 "expected ADDRESS:PORT" "$bin/nomora-schedd" schedd --state "$dir/state" --extender nowhere
plan
