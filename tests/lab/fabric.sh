#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Routed labs: all equal-cost paths are used; links are cut, repaired and limited; nothing is left behind.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
lab=f$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
lab_do() { "$nomora" lab "$1" --name "$lab" "${@:2}"; }
on() { "$nomora" lab exec "$1" --name "$lab" -- "${@:2}"; }
nothing_left() { ! ip netns list | grep -q "^$lab-" && ! ls -d /run/nomora/"$lab"[.-]* >/dev/null 2>&1; }

# Prints the path that each of 96 source ports takes: the names of the switches, found by UDP packets with limited TTL
# and the ICMP messages that they cause.
cat >"$scratch/paths.py" <<'END'
import json, select, socket, sys
target, hops, names = sys.argv[1], int(sys.argv[2]), {}
for node in json.loads(sys.argv[3])["labs"][0]["switches"]:
    names[node["address"]] = names["fd78::" + node["address"].split(".")[3]] = node["name"]
six = ":" in target
raw = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP)
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
def ask(port, ttl):
    with socket.socket(raw.family, socket.SOCK_DGRAM) as out:
        out.bind(("", port))
        out.setsockopt(*((socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if six else (socket.IPPROTO_IP, socket.IP_TTL)), ttl)
        out.sendto(bytes([ttl]) * 20, (target, 33434))
    while select.select([raw], [], [], 1)[0]:
        data, source = raw.recvfrom(2048)
        at = 8 + 40 if six else 20 + 8 + 20
        if data[0 if six else 20] == (3 if six else 11) and data[at:at + 2] == port.to_bytes(2, "big") and data[at + 8] == ttl:
            return names[source[0]]
paths = {}
for port in range(41000, 41096):
    for ttl in range(1, hops + 1):
        for attempt in range(30):
            hop = ask(port, ttl)
            if hop:
                paths.setdefault(port, []).append(hop)
                break
for path in sorted({" ".join(path) for path in paths.values()}):
    print(path)
END
paths() { on "$1" python3 "$scratch/paths.py" "$2" "$3" "$(lab_do status --json)"; }
shows() {
	local seen
	seen=$(paths "$2" "$3" "$4" 2>&1)
	[ "$seen" = "$(printf '%s\n' "${@:5}")" ] && pass "$1" || fail "$1" "$seen"
}

# --- refusals ---
refuses "--spines and --fabric" 2 'mutually exclusive' "$nomora" lab up --name "$lab" --spines 2 --fabric fattree:4
refuses "an odd Fat-tree" 2 'even number' "$nomora" lab up --name "$lab" --fabric fattree:3
refuses "a fabric file that is not there" 1 'no-such-file' "$nomora" lab up --name "$lab" --fabric "$scratch/no-such-file"
refuses "too many hosts" 2 'at most 64 hosts' "$nomora" lab up --name "$lab" --fabric fattree:8
refuses "an injector between two spines" 2 "no place 'spine1:spine2'" "$nomora" lab up --name "$lab" --spines 2 --inject spine1:spine2

# --- four leaves, four spines ---
run lab_do up --hosts 16 --racks 4 --spines 4 --peers "$scratch/peers" --topology "$scratch/topology"
[ "$code" -eq 0 ] && [ "$(grep -cE "^  (leaf|spine)[1-4] +$lab-s[1-8] +[0-9.]+ +(rack[1-4]|-)\$" <<<"$out")" -eq 8 ] &&
	pass "up: 16 hosts, 4 leaves, 4 spines" || fail "up: 16 hosts, 4 leaves, 4 spines" "exit $code" "$out$err"
check "h1 reaches the farthest host" on h1 ping -q -c 1 -W 30 10.77.4.4
check "by IPv6 too" on h1 ping -q -c 1 -W 30 fd77::4:4
check "and its neighbour" on h1 ping -q -c 1 -W 30 10.77.1.2
shows "all four spines are used" h1 10.77.4.4 3 "leaf1 spine1 leaf4" "leaf1 spine2 leaf4" "leaf1 spine3 leaf4" "leaf1 spine4 leaf4"
shows "by IPv6 too" h16 fd77::1:1 3 "leaf4 spine1 leaf1" "leaf4 spine2 leaf1" "leaf4 spine3 leaf1" "leaf4 spine4 leaf1"
check "the list of peers has 16 lines, no MACs" test "$(grep -cE '^h[0-9]+ 10\.77\.[1-4]\.10[1-4] (- )?rack' "$scratch/peers")" -eq 16
check "the topology file has 32 links" test "$(grep -c MBps "$scratch/topology")" -eq 32
check "a link goes down" lab_do link leaf1 spine2 down
shows "its path is left" h1 10.77.4.4 3 "leaf1 spine1 leaf4" "leaf1 spine3 leaf4" "leaf1 spine4 leaf4"
check "status says so" sh -c "'$nomora' lab status --name '$lab' | grep -q 'leaf1 .*is down\|spine2 .*is down'"
check "and comes back" lab_do link spine2 leaf1 up
shows "its path is used again" h16 fd77::1:1 3 "leaf4 spine1 leaf1" "leaf4 spine2 leaf1" "leaf4 spine3 leaf1" "leaf4 spine4 leaf1"
check "a host's link goes down" lab_do link h1 leaf1 down
run on h16 ping -q -c 1 -W 1 10.77.1.1
[ "$code" -eq 1 ] && pass "the host is cut off" || fail "the host is cut off" "$out$err"
check "and comes back" lab_do link h1 leaf1 up
check "with its addresses" on h16 sh -c 'ping -q -c 1 -W 30 10.77.1.1 && ping -q -c 1 -W 30 fd77::1:1'
check "a link gets a limit" lab_do link h1 leaf1 rate 100
check "on both ends" sh -c "tc -n '$lab-h1' qdisc show dev eth0 | grep -q htb && '$nomora' lab exec leaf1 --name '$lab' -- tc qdisc show dev h1 | grep -q htb"
check "and loses it" lab_do link h1 leaf1 rate 0
check "on both ends" sh -c "! tc -n '$lab-h1' qdisc show dev eth0 | grep -q htb"
refuses "a link that is not there" 1 "no link 'h1' - 'spine1'" "$nomora" lab link h1 spine1 down --name "$lab"
refuses "a node that is not there" 1 "no host or switch 'spine9'" "$nomora" lab link leaf1 spine9 down --name "$lab"
refuses "an action that is none" 2 "expected up, down or rate" "$nomora" lab link leaf1 spine1 sideways --name "$lab"
refuses "a rate without a figure" 2 "expected Mbit/s" "$nomora" lab link leaf1 spine1 rate --name "$lab"
rm -f "/run/nomora/$lab.json"
check "down without the state file" lab_do down
check "leaves nothing" nothing_left

# --- a Fat-tree with limited links ---
check "up: a Fat-tree of 20 switches, 100 Mbit/s links" lab_do up --fabric fattree:4 --rate-mbit 100
shows "four paths between pods" h0 10.77.8.1 5 "edge0.0 agg0.0 core0 agg3.0 edge3.1" "edge0.0 agg0.0 core1 agg3.0 edge3.1" \
	"edge0.0 agg0.1 core2 agg3.1 edge3.1" "edge0.0 agg0.1 core3 agg3.1 edge3.1"
check "checksum offload is off" on h0 sh -c 'ethtool -k eth0 | grep -q "tx-checksumming: off"'
check "every port of a switch is limited" test "$(on agg0.0 tc qdisc show | grep -c 'htb 1: dev')" -eq 4
check "down" lab_do down
check "leaves nothing" nothing_left

# --- killed in the middle ---
setsid "$nomora" lab up --name "$lab" --fabric jellyfish:30,5 >/dev/null 2>&1 &
builder=$!
wait_for 30 sh -c "ip netns list | grep -q '^$lab-s2'"
kill -KILL "$builder"
wait "$builder" 2>/dev/null
check "down after SIGKILL" lab_do down
check "leaves nothing" nothing_left
plan
