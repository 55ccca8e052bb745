#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow openflow with Open vSwitch: a Fat-tree of 20 bridges in one private ovs-vswitchd (userspace
# datapath), hosts in namespaces. Packets between hosts are counted by the flows on the plan's route and by no other
# switch. KILLS=N updates are killed half done instead of 8.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
for tool in ovs-vsctl ovs-ofctl ovs-vswitchd ovsdb-server ping; do command -v $tool >/dev/null || skip_all "needs $tool"; done
prefix=of$((BASHPID % 100000))
export OVS_RUNDIR=$scratch OVS_LOGDIR=$scratch OVS_DBDIR=$scratch OVS_SYSCONFDIR=$scratch
in_fabric() { ip netns exec "$prefix-ovs" "$@"; }
at_exit sh -c "for pid in '$scratch'/*.pid; do kill \$(cat \$pid) 2>/dev/null; done; ip netns list | grep -o '^$prefix-[a-z0-9]*' | xargs -r -n 1 ip netns del"
ip netns add "$prefix-ovs"
ovsdb-tool create "$scratch/conf.db" /usr/share/openvswitch/vswitch.ovsschema
in_fabric ovsdb-server "$scratch/conf.db" --remote="punix:$scratch/db.sock" --pidfile="$scratch/db.pid" --log-file="$scratch/db.log" --detach --no-chdir 2>/dev/null
ovs-vsctl --db="unix:$scratch/db.sock" --no-wait init
start_switches() { in_fabric ovs-vswitchd "unix:$scratch/db.sock" --pidfile="$scratch/switch.pid" --log-file="$scratch/switch.log" --detach --no-chdir 2>/dev/null; }
start_switches

cat >"$scratch/job.json" <<'TEXT'
{"schema": "nomora.dataflow/1", "topology": "fattree:4", "slots": 1, "jobs": [{"name": "j",
 "components": [{"name": "a", "tasks": 2}, {"name": "b", "tasks": 2}], "edges": [{"from": "a", "to": "b"}],
 "placement": {"a.0": "h0", "a.1": "h1", "b.0": "h15", "b.1": "h8"}}]}
TEXT
"$nomora" dataflow plan --scenario "$scratch/net.json" "$scratch/job.json"
# Link number l is port l + 1 at both ends.
jq -r --arg prefix "$prefix" '.topology | ([.hosts[].name]) as $hosts | (.hosts | to_entries[] | .value.name as $h |
	"ip netns add \($prefix)-\($h)", "ip -n \($prefix)-ovs link add \($h) up type veth peer name eth0 netns \($prefix)-\($h)",
	"ip -n \($prefix)-\($h) link set eth0 up", "ip -n \($prefix)-\($h) addr add 10.0.0.\(.key + 1)/24 dev eth0"),
	("ovs-vsctl --db=\"$1\"" + ([.switches[].name | " -- add-br \(.) -- set bridge \(.) datapath_type=netdev fail_mode=secure protocols=OpenFlow13"] | add) +
	([.links | to_entries[] | (.key | tostring) as $l | (.key + 1) as $port | [[.value.a, .value.b, "a", "b"], [.value.b, .value.a, "b", "a"]][] as [$at, $to, $mine, $other] |
		select($hosts | index($at) | not) | if ($hosts | index($to)) then " -- add-port \($at) \($to) -- set interface \($to) ofport_request=\($port)"
		else " -- add-port \($at) l\($l)\($mine) -- set interface l\($l)\($mine) type=patch options:peer=l\($l)\($other) ofport_request=\($port)" end] | add))' \
	"$scratch/net.json" >"$scratch/make.sh"
bash -e "$scratch/make.sh" "unix:$scratch/db.sock" || fail "the fabric is made"

set_routes() { run "$nomora" dataflow openflow "$scratch" --json --timeout-ms 60000 "$@" "$scratch/job.json"; }
flows() { ovs-ofctl -O OpenFlow13 dump-flows "$scratch/$1.mgmt" | grep "ip,nw_src=$2,nw_dst=$3"; }
set_routes
check "20 switches confirm 80 flows" grep -q '^80 flows in 20 switches confirmed' <<<"$err"
set_routes --seed 3
check "pings from h0 to h15" ip netns exec "$prefix-h0" ping -q -c 5 -i 0.2 -W 10 10.0.0.16
check "no flow, no way: h0 and h4 exchange nothing" sh -c "! ip netns exec $prefix-h0 ping -q -c 1 -W 1 10.0.0.5"
jq -r '.routes[] | select(.from == "h0" and .to == "h15").links[1:][] | split(" -> ")[0]' <<<"$out" | sort >"$scratch/planned"
for switch in $(jq -r '.topology.switches[].name' "$scratch/net.json"); do
	flows "$switch" 10.0.0.1 10.0.0.16 | grep -q 'n_packets=[1-9]' && echo "$switch"
done | sort >"$scratch/passed"
check "its packets pass the plan's switches, and no others" cmp "$scratch/planned" "$scratch/passed"
updates() { for switch in "$scratch"/*.mgmt; do ovs-ofctl -O OpenFlow13 dump-flows "$switch"; done | grep -o 'cookie=[0-9a-fx]*' | sort -u | wc -l; }
check "an update leaves no flow of the last one" test "$(updates)" -eq 1

# Plans with other routes: core switch k has no links.
for k in 0 1 2 3; do
	jq --slurpfile net "$scratch/net.json" --arg core "core$k" \
		'.topology = ($net[0].topology | .links |= map(if .a == $core or .b == $core then .up = false else . end))' "$scratch/job.json" >"$scratch/job$k.json"
done
mkdir "$scratch/kills"
run python3 "$source_root/tests/support/openflow_kills.py" "$nomora" "$scratch/kills" "$scratch/net.json" "${KILLS:-8}" 1 "$scratch" "$prefix" "$scratch"/job[0-3].json
printf '%s\n' "$out" "$err"
check "killed half done, an update leaves a way between all hosts" test "$code" -eq 0
set_routes
check "the next update leaves its flows alone" test "$(updates)" -eq 1

# Restarted switches have lost their flows; a controller that is still running sets them again.
"$nomora" dataflow openflow "$scratch" --keep --timeout-ms 60000 "$scratch/job.json" >/dev/null 2>"$scratch/said" &
keeper=$!
check "a controller keeps the flows" wait_for 60 grep -q '^80 flows' "$scratch/said"
for restart in $(seq "${RESTARTS:-1}"); do
	pid=$(cat "$scratch/switch.pid")
	kill -KILL "$pid"
	gone() { ! kill -0 "$pid"; }
	wait_for 10 gone
	begin=$EPOCHREALTIME
	start_switches
	set_again() { [ "$(grep -c '^80 flows' "$scratch/said")" -gt "$restart" ]; }
	check "all switches restart: the flows are set again" wait_for 60 set_again
	printf '# %d ms after the start of the switches\n' $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
	check "and packets pass" ip netns exec "$prefix-h0" ping -q -c 2 -i 0.2 -W 10 10.0.0.16
done
check "which is reported" grep -q "^switch '.*: trying again" "$scratch/said"
# 16 deletions, as a controller makes them: the flows of every switch in turn. DELETIONS=N makes N.
mapfile -t switches < <(jq -r '.topology.switches[].name' "$scratch/net.json")
flows_in() { ovs-ofctl -O OpenFlow13 dump-flows "$scratch/$1.mgmt" | grep -c 0x4e4f4d4f5241; }
longest=0
for n in $(seq 0 $((${DELETIONS:-16} - 1))); do
	switch=${switches[$((n % 20))]}
	had=$(flows_in "$switch")
	[ "$had" -gt 0 ] || continue
	ovs-ofctl -O OpenFlow13 del-flows "$scratch/$switch.mgmt"
	begin=$EPOCHREALTIME
	are_back() { [ "$(flows_in "$switch")" -eq "$had" ]; }
	wait_for 20 are_back || fail "deleted flows of $switch come back"
	took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
	[ $took -gt $longest ] && longest=$took
done
printf '# longest: %d ms\n' "$longest"
check "deleted flows are back within 2 s" test "$longest" -gt 0 -a "$longest" -le 2000
check "and counted by switch" grep -qx "switch '[a-z0-9.]*' had lost [0-9]* flows: set again" "$scratch/said"
check "packets pass" ip netns exec "$prefix-h0" ping -q -c 2 -i 0.2 -W 10 10.0.0.16
kill -TERM $keeper
wait $keeper
check "the controller ends on SIGTERM, and its flows stay" sh -c "[ $? -eq 0 ] && ip netns exec $prefix-h0 ping -q -c 1 -W 10 10.0.0.16"
# A controller's flow with the match and the priority of one of ours
ovs-ofctl -O OpenFlow13 add-flow "$scratch/edge0.0.mgmt" "cookie=0x77,priority=32000,ip,nw_src=10.0.0.1,nw_dst=10.0.0.16,actions=drop"
set_routes
check "a flow of another controller is not replaced" test "$code $(grep -c "error: switch 'edge0.0' has a flow of another controller, with cookie 0x77, for the packets from 'h0' to 'h15' at our priority 32000" <<<"$err") $(flows edge0.0 10.0.0.1 10.0.0.16 | grep -c cookie=0x77)" = "1 1 1"
plan
