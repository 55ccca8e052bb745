#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --paths auto: every spine is found, a slow one is identified by its hops, and a change of routes is detected.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
lab=p$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
on() { "$nomora" lab exec "$1" --name "$lab" -- "${@:2}"; }
live=$scratch/live

check "up: 4 leaves, 4 spines" "$nomora" lab up --name "$lab" --hosts 4 --racks 4 --spines 4 --inject leaf1:spine2 --delay-us 0 --peers "$scratch/all"
grep -E '^h[14] ' "$scratch/all" >"$scratch/peers"
on h4 "$nomora" reflect eth0 --address 10.77.4.101/32 --gateway 10.77.4.254 --quiet >"$scratch/reflect" 2>&1 &
# In one direction only: answers return over any spine.
check "10 ms from leaf1 to spine2" "$nomora" inject-ctl "/run/nomora/$lab-leaf1:spine2.sock" set delay_ab_us=10000
run on h1 "$nomora" probe eth0 --address 10.77.1.101/32 --gateway 10.77.1.254 --peers "$scratch/peers" --paths auto --seed 7 \
	--interval-us 5000 --count 200 --wait 60 --quiet --json
printf '%s' "$out" >"$scratch/probe.json"
[ "$code" -eq 0 ] && pass "probes" || fail "probes" "$out" "$err"
figures() {
	python3 - "$scratch/probe.json" <<-'END'
		import json, sys
		peer = json.load(open(sys.argv[1]))["peers"][0]
		hops = sorted(path["hops"] for path in peer["paths"])
		assert hops == [["10.78.0.5", "10.78.0.%d" % spine, "10.78.0.8"] for spine in (1, 2, 3, 4)], hops
		assert peer["paths_known"] == peer["paths_covered"] == 4 and peer["paths_confidence"] >= 0.99, peer
		slow = [path["hops"][1] for path in peer["paths"] if path["rtt_us"]["min"] >= 10000]
		assert slow == ["10.78.0.2"], slow
		assert peer["row_us"]["max"] >= 10000, peer["row_us"]
	END
}
check "all four paths are known by their hops, and the delay is on spine2's alone" figures

printf 'h2 fd77::2:101\nh3 fd77::3:101\n' >"$scratch/peers6"
(umask 077 && printf '8 %s\n' "$(printf '%02x' {0..31})" >"$scratch/keys")
on h3 "$nomora" reflect eth0 --address fd77::3:101/128 --gateway fe80::1 --keys "$scratch/keys" --quiet >"$scratch/reflect6" 2>&1 &
run on h2 "$nomora" probe eth0 --address fd77::2:101/128 --gateway fe80::1 --peers "$scratch/peers6" --paths auto --seed 7 \
	--keys "$scratch/keys" --interval-us 5000 --count 50 --wait 60 --quiet --json
hops=$(printf '%s' "$out" | python3 -c 'import json, sys; print(sorted(p["hops"][1] for p in json.load(sys.stdin)["peers"][0]["paths"]))')
check "authenticated IPv6 has four paths as well ($hops)" test "$hops" = "['fd78::1', 'fd78::2', 'fd78::3', 'fd78::4']"

on h1 "$nomora" mesh agent eth0 --address 10.77.1.101/32 --gateway 10.77.1.254 --peers "$scratch/peers" --live "$live" --paths auto \
	--interval-us 5000 --window 0.5 --quiet >"$scratch/agent" 2>&1 &
known() { "$nomora" mesh show "$live" --json | python3 -c 'import json, sys
text = json.dumps(json.load(sys.stdin)); sys.exit("\"paths\": %s, \"paths_covered\": %s}" % (sys.argv[1], sys.argv[1]) not in text)' "$1"; }
check "the live mesh has four paths" wait_for 60 known 4
check "a link goes down" "$nomora" lab link leaf1 spine3 down --name "$lab"
check "the live mesh learns that three are left" wait_for 60 known 3
check "and comes back" "$nomora" lab link leaf1 spine3 up --name "$lab"
check "the live mesh finds the fourth again" wait_for 60 known 4
refuses "--paths without a number" 2 'paths' on h1 "$nomora" probe eth0 --address 10.77.1.101 --peers "$scratch/peers" --paths some
plan
