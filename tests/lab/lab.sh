#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora lab: created, used, removed; nothing is left behind, however it ends.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
lab=t$((BASHPID % 100000))
other=u$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
at_exit "$nomora" lab down --name "$other"

left() { ip netns list | grep -E "^($lab|$other)-"; ls -d /run/nomora/{"$lab","$other"}[.-]* 2>/dev/null; }
nothing_left() {
	if wait_for 10 sh -c "! ip netns list | grep -qE '^($lab|$other)-'" && [ -z "$(left)" ]; then pass "$1"; else fail "$1" "$(left)"; fi
}
pings() { "$nomora" lab exec "$1" --name "$lab" -- ping -q -c 2 -i 0.01 -W 2 "$2"; }

# --- refusals ---
refuses "a name with a dash" 2 'expected 1 to 10' "$nomora" lab up --name lab-0
refuses "no hosts" 2 'hosts' "$nomora" lab up --name "$lab" --hosts 0
refuses "an injector in the core of one rack" 2 "between two racks and there is 1" "$nomora" lab up --name "$lab" --racks 1 --inject core
refuses "an injector at a host that is not there" 2 "no place 'h9'" "$nomora" lab up --name "$lab" --inject h9
refuses "an inventory of nothing" 2 "nothing to write: give --cluster FILE, --peers FILE or --topology FILE" \
	"$nomora" lab inventory --name "$lab"
refuses "an unknown subcommand" 2 "there is no command 'side'" "$nomora" lab side
refuses "exec in a lab that is not there" 1 "there is no lab '$lab'" "$nomora" lab exec h1 --name "$lab" -- true
refuses "--json where a command has the output" 2 'belongs to the command' "$nomora" lab up --name "$lab" --json --while true
refuses "a delay of 10^9" 2 'delay-us' "$nomora" lab up --name "$lab" --delay-us 1e9
if command -v setpriv >/dev/null; then
	refuses "not root" 1 'needs root' setpriv --reuid 65534 --clear-groups "$nomora" lab up --name "$lab"
	refuses "root without capabilities" 1 'Operation not permitted; this root lacks CAP_SYS_ADMIN' \
		setpriv --bounding-set=-sys_admin,-net_admin "$nomora" lab up --name "$lab" --hosts 1 --racks 1
fi
mkdir "$scratch/tools"
ln -s "$(command -v ip)" "$(command -v sh)" "$(command -v sysctl)" "$(command -v ls)" "$scratch/tools"
refuses "a host without ethtool" 1 'the lab needs ip, ethtool and sysctl' env PATH="$scratch/tools" "$nomora" lab up --name "$lab" --hosts 1 --racks 1
nothing_left "refusals leave nothing"

# --- up, status, exec, down ---
run "$nomora" lab up --name "$lab" --hosts 8 --racks 2 --cluster "$scratch/cluster.json" --peers "$scratch/peers.txt"
[ "$code" -eq 0 ] && [ "$(printf '%s\n' "$out" | grep -cE '^  h[1-8] ')" -eq 8 ] && pass "up: eight hosts in two racks" ||
	fail "up: eight hosts in two racks" "$out$err"
check "h1 reaches its neighbour" pings h1 10.77.1.4
check "h1 reaches the other rack" pings h1 10.77.2.4
check "IPv6 is off" "$nomora" lab exec h1 --name "$lab" -- sh -c '! ip -6 addr | grep -q inet6'
check "checksum offload is off" "$nomora" lab exec h1 --name "$lab" -- sh -c 'ethtool -k eth0 | grep -q "tx-checksumming: off"'
check "nothing of it is outside the namespaces" sh -c '! ip link show | grep -qE "rack1|core|h1-a"'
refuses "a name that is taken" 1 "there is a lab '$lab' already" "$nomora" lab up --name "$lab"
check "which does no harm to it" pings h8 10.77.1.1
refuses "exec on a host that is not there" 2 "no host 'h9'" "$nomora" lab exec h9 --name "$lab" -- true
refuses "exec without a command" 2 "missing operand COMMAND" "$nomora" lab exec h1 --name "$lab"
run "$nomora" lab exec h1 --name "$lab" -- sh -c 'exit 5'
[ "$code" -eq 5 ] && pass "exec exits with the command's code" || fail "exec exits with the command's code" "exit $code"
run "$nomora" lab status --name "$lab" --json
hosts=$(printf '%s' "$out" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["labs"][0]["hosts"]))')
check "status --json has its hosts" test "$hosts" -eq 8
check "the cluster file has 8 machines of 4 slots in 2 racks" python3 -c 'import json, sys
c = json.load(open(sys.argv[1])); m = c["machines"]
sys.exit(not (c["schema"] == "nomora.cluster/1" and len(m) == 8 and len({x["rack"] for x in m}) == 2 and all(x["slots"] == 4 for x in m)))' "$scratch/cluster.json"
check "the list of peers has 8 lines" test "$(grep -c '^h[1-8] 10\.77\.[12]\.10[1-4] 02:6d:' "$scratch/peers.txt")" -eq 8
check "a second lab stands beside it" "$nomora" lab up --name "$other" --hosts 2 --racks 1
check "both work" sh -c "'$nomora' lab exec h1 --name '$other' -- ping -q -c 1 -W 2 10.77.1.2 && '$nomora' lab exec h1 --name '$lab' -- ping -q -c 1 -W 2 10.77.1.2"
"$nomora" lab exec h2 --name "$lab" -- sleep 984 &
sleeper=$!
wait_for 5 sh -c "ip netns pids $lab-h2 | grep -q ."
check "down" "$nomora" lab down --name "$lab"
wait "$sleeper"
[ $? -gt 128 ] && pass "ends what runs in it" || fail "ends what runs in it"
check "the other one is still there" "$nomora" lab exec h2 --name "$other" -- ping -q -c 1 -W 2 10.77.1.1
rm -f "/run/nomora/$other.json"
refuses "a lab without its state file" 1 "lab '$other' is incomplete, remove it with .*: /run/nomora/$other.json is gone" "$nomora" lab exec h1 --name "$other" -- true
"$nomora" lab up --name "$lab" --hosts 2 --racks 1 --mtu 1400 --slots 7 >/dev/null
run "$nomora" lab status --json
check "status exits with 1 and still shows the labs that are whole" python3 -c 'import json, sys
labs = json.loads(sys.argv[2]); mine = [l for l in labs["labs"] if l["name"] == sys.argv[3]]
sys.exit(not (sys.argv[1] == "1" and labs["schema"] == "nomora.labs/1" and len(mine) == 1 and mine[0]["schema"] == "nomora.lab/1"
	and mine[0]["slots"] == 7 and mine[0]["mtu_bytes"] == 1400))' "$code" "$out" "$lab"
ip netns del "$lab-h2"
refuses "a lab that lost a host" 1 "lab '$lab' is incomplete, remove it with .*: the namespace $lab-h2 is gone" "$nomora" lab status --name "$lab"
check "is removed as any other" "$nomora" lab down --name "$lab"
check "down without the state file" "$nomora" lab down --name "$other"
nothing_left "down leaves nothing"
check "down twice is no failure" "$nomora" lab down --name "$lab"

# --- half a lab, as a crash leaves it ---
ip netns add "$lab-h7"
ip netns add "$lab-sw"
refuses "half a lab takes the name" 1 'already' "$nomora" lab up --name "$lab"
check "down removes half a lab" "$nomora" lab down --name "$lab"
ip netns add "$lab-mine"
"$nomora" lab down --name "$lab" 2>/dev/null
check "and no namespace that only looks like it" ip netns exec "$lab-mine" true
ip netns del "$lab-mine"

# --- tied to a process ---
run "$nomora" lab up --name "$lab" --hosts 2 --racks 1 --while "ip netns list | grep -c ^$lab-; exit 6"
[ "$code" -eq 6 ] && [ "$out" = 4 ] && pass "--while runs the command and exits with its code" || fail "--while runs the command and exits with its code" "exit $code" "$out$err"
nothing_left "--while removes the lab"
for signal in INT TERM HUP KILL; do
	: >"$scratch/foreground" # clear the previous output
	# SIGINT is ignored in background jobs of a shell, but not in programs started from a terminal.
	python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
		"$nomora" lab up --name "$lab" --hosts 2 --racks 1 --foreground >"$scratch/foreground" 2>&1 &
	holder=$!
	wait_for 10 grep -q 'stays until' "$scratch/foreground" || fail "--foreground is up" "$(cat "$scratch/foreground")"
	kill "-$signal" "$holder"
	wait "$holder" 2>/dev/null
	nothing_left "SIG$signal ends --foreground and removes the lab"
done

for signal in INT TERM KILL; do
	python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
		"$nomora" lab up --name "$lab" --hosts 16 --racks 4 --spines 2 >"$scratch/interrupted" 2>&1 &
	builder=$!
	wait_for 10 sh -c "ip netns list | grep -q '^$lab-'"
	kill "-$signal" "$builder"
	wait "$builder" 2>/dev/null
	check "SIG$signal interrupts 'lab up'" test "$?" -gt 128
	nothing_left "which removes what it had built"
done

# --- with an injector ---
if ! [ -x "$bin/nomora-injector" ]; then
	skip "injectors" "built without DPDK"
	plan
	exit 0
fi
run "$nomora" lab up --name "$lab" --hosts 4 --racks 2 --inject core --delay-us 2000
[ "$code" -eq 0 ] && pass "up with 2 ms between the racks" || fail "up with 2 ms between the racks" "$out$err"
minimum() { "$nomora" lab exec h1 --name "$lab" -- ping -q -c 10 -i 0.01 -W 2 "$1" | sed -n 's|.*= \([0-9.]*\)/.*|\1|p'; }
near=$(minimum 10.77.1.2)
far=$(minimum 10.77.2.1)
check "4 ms more to the other rack than within, at least ($near, $far ms)" python3 -c 'import sys; n, f = map(float, sys.argv[1:]); sys.exit(not 3.9 < f - n < 100)' "$near" "$far"
refuses "an injector's arguments that are wrong" 1 "the injector at h1 ended at once: .*option '--no-such-option'" "$nomora" lab up --name "$other" --hosts 2 --racks 1 --inject h1 --delay-us 0 -- --no-such-option
check "which leaves no lab behind" sh -c "! ip netns list | grep -q '^$other-'"
injector=$(ip netns pids "$lab-inj" | head -1)
"$nomora" lab down --name "$lab"
check "down ends the injector" sh -c "! test -d /proc/$injector || grep -q '^State:.*Z' /proc/$injector/status"
nothing_left "nothing is left"
plan
