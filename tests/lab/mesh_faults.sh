#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 4 leaves, 4 spines, 16 hosts: a lossy spine is identified by its hops, delays of single spines appear on their paths,
# a dead host is unreachable and `place` says why, a drained host raises no alarm.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
lab=f$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
on() { "$nomora" lab exec "$1" --name "$lab" -- "${@:2}"; }

check "up: 16 hosts, 4 leaves, 4 spines" "$nomora" lab up --name "$lab" --hosts 16 --racks 4 --spines 4 --inject leaf1:spine3 \
	--delay-us 0 --peers "$scratch/all" --cluster "$scratch/cluster.json" -- --loss 5 --seed 3
grep -E '^h(1|13) ' "$scratch/all" >"$scratch/peers"
"$nomora" lab exec h13 --name "$lab" -- "$nomora" reflect eth0 --address 10.77.4.101/32 --gateway 10.77.4.254 --quiet >"$scratch/reflect" 2>&1 &
reflect=$!
# Answers to probes on other paths may return through the lossy link, so only the forward loss identifies the path.
run on h1 "$nomora" probe eth0 --address 10.77.1.101/32 --gateway 10.77.1.254 --peers "$scratch/peers" --paths auto --seed 7 \
	--interval-us 1000 --count 1600 --wait 60 --quiet --json
printf '%s' "$out" >"$scratch/probe.json"
lossy() {
	python3 - "$scratch/probe.json" <<-'END'
		import json, sys
		peer = json.load(open(sys.argv[1]))["peers"][0]
		assert peer["paths_known"] == peer["paths_covered"] == 4, peer
		worst = max(peer["paths"], key=lambda path: path["lost_forward"] / path["sent"])
		assert worst["hops"][1] == "10.78.0.3", peer["paths"]
		assert worst["lost_forward"] > 0.01 * worst["sent"], worst
	END
}
check "four paths, and spine3's loses probes on the way there" lossy
run on h1 "$nomora" probe eth0 --address 10.77.1.101/32 --gateway 10.77.1.254 --peers "$scratch/peers" --paths auto --seed 8 \
	--interval-us 1000 --count 1600 --wait 60 # another seed, and so another session
says "$out" 'most loss: .*10\.78\.0\.3 .*\([1-9][0-9]* on the way there\)' &&
	pass "the report names it by its routers" || fail "the report names it by its routers" "$out" "$err"

# Two agents probe each other and h13, with some paths through the lossy link.
live=$scratch/live
grep -E '^h(1|13|14) ' "$scratch/all" >"$scratch/peers"
for host in 1:1.101:1 14:4.102:4; do
	IFS=: read -r number address leaf <<<"$host"
	on "h$number" "$nomora" mesh agent eth0 --address "10.77.$address/32" --gateway "10.77.$leaf.254" --peers "$scratch/peers" \
		--live "$live" --interval-us 5000 --timeout-ms 300 --window 0.5 --quiet >"$scratch/agent$number" 2>&1 &
done
top() { "$nomora" mesh top "$live" --json --max-age 0 | tr -d " \n" | grep -q "$1"; }
state() { "$nomora" mesh export "$live" --json | python3 -c 'import json, sys
sys.exit(not any((p["src"], p["dst"], p["state"]) == tuple(sys.argv[1:]) for p in json.load(sys.stdin)["pairs"]))' "$@"; }
check "h1 and h14 measure h13" wait_for 60 eval 'state h1 h13 measured && state h14 h13 measured'
kill -9 "$reflect"
check "its reflector is killed: nobody reaches h13" wait_for 60 top '"lost_hosts":\["h13"\]'
check "h14 and h1 still reach each other" eval 'state h1 h14 measured && state h14 h1 measured'
python3 - "$scratch/cluster.json" >"$scratch/two.json" <<-'END'
	import json, sys
	cluster = json.load(open(sys.argv[1]))
	cluster["machines"] = [dict(m, slots=2) for m in cluster["machines"] if m["name"] in ("h1", "h13")]
	print(json.dumps(cluster))
END
echo '{"id": "p", "curve": "memcached", "root": 0, "tasks": [{"name": "r", "machine": "h1"}, {"name": "a", "machine": "h1"}, "b"]}' >"$scratch/job.jsonl"
run "$nomora" place --cluster "$scratch/two.json" --jobs "$scratch/job.jsonl" --latency "$live" --curves "$source_root/curves" --json
says "$out" "no machine with a free slot is reachable from the root's" && ! says "$out" '"machine": *"h13"' &&
	pass "place puts no task there, and says why" || fail "place puts no task there, and says why" "$out" "$err"
check "h13 is drained" "$nomora" mesh drain "$live" h13
check "and raises no alarm" wait_for 60 top '"lost_hosts":\[\]'
plan
