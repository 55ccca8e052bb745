#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A routed lab with lldpd on every node: the network that nomora reads from the nodes' lldpctl is the lab's.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
command -v lldpd >/dev/null || skip_all "no lldpd"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
lab=l$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --fabric jellyfish:6,5,8 >"$scratch/up" 2>&1 || fail "lab up" "$(cat "$scratch/up")"
"$nomora" lab inventory --name "$lab" --topology "$scratch/lab.json"
mkdir "$scratch/net"
chmod a+x "$scratch" # lldpctl runs as another user
daemons=()
end_daemons() { kill "${daemons[@]}" 2>/dev/null; wait "${daemons[@]}" 2>/dev/null; }
at_exit end_daemons
for node in $(jq -r '.switches[].name, .hosts[].name' "$scratch/lab.json"); do
	# An instance of its own, with the node's name as system name
	ip netns exec "$lab-$node" unshare -u sh -c "hostname $node; exec lldpd -d -u $scratch/$node.sock -p $scratch/$node.pid" >"$scratch/$node.log" 2>&1 &
	daemons+=($!)
done
links() { jq -c '[.links[] | [.a, .b] | sort] | sort' "$1"; }
# Reads the network again until it is complete: each neighbour announces itself in its own time.
reads() {
	local node
	for node in $(jq -r '.switches[].name, .hosts[].name' "$scratch/lab.json"); do
		lldpctl -u "$scratch/$node.sock" -f json >"$scratch/net/$node.json" 2>/dev/null || return 1
	done
	"$nomora" dataflow plan -t "$scratch/net" --generate storm,jobs=1 --scenario "$scratch/scenario.json" 2>"$scratch/said" || return 1
	jq .topology "$scratch/scenario.json" >"$scratch/read.json"
	[ "$(links "$scratch/read.json")" = "$(links "$scratch/lab.json")" ]
}
check "the links are the lab's" wait_for 60 reads
names() { jq -c "[.$2[].name] | sort" "$1"; }
check "so are its switches and hosts" test "$(names "$scratch/read.json" switches)$(names "$scratch/read.json" hosts)" = "$(names "$scratch/lab.json" switches)$(names "$scratch/lab.json" hosts)"
"$nomora" lab up --name "${lab}b" --fabric "$scratch/net" >"$scratch/up" 2>&1 || fail "a lab of the network that was read" "$(cat "$scratch/up")"
at_exit "$nomora" lab down --name "${lab}b"
"$nomora" lab inventory --name "${lab}b" --topology "$scratch/second.json"
check "a lab of it has these links, too" test "$(links "$scratch/second.json")" = "$(links "$scratch/lab.json")"
plan
