#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora setup: the options that it writes, and that the commands behind the units accept them. tests/package/booted.sh
# has it with systemd.
. "$(dirname "$0")/lib.sh"

etc=$scratch/nomora
setup() { "$nomora" setup "$@" --folder "$etc" --files-only; }
options_of() { sed -n 's/^OPTIONS="\(.*\)"$/\1/p' "$etc/$1"; }
files() { (cd "$etc" && echo *); }
is() { [ "$2" = "$3" ] && pass "$1" || fail "$1" "expected: $2" "found: $3"; }

check "a page" setup page --server nats://bus:4222
is "its members" "--server nats://bus:4222" "$(options_of mesh-members.env)"
is "its collector" "--server nats://bus:4222" "$(options_of mesh-collect.env)"
check "a host with all options" setup host --server tls://bus:4222 --interface eth1 --name h1 --rack r.1 --address 10.0.0.1/24 --gateway 10.0.0.254 --keys /etc/nomora/keys
is "its membership" "--server tls://bus:4222 --address 10.0.0.1 --name h1 --rack r.1" "$(options_of mesh-join.env)"
is "its agent" "--address 10.0.0.1/24 --peers /var/lib/nomora-mesh/peers.txt --gateway 10.0.0.254 --keys /etc/nomora/keys" "$(options_of mesh-eth1.env)"
is "its publisher" "--server tls://bus:4222" "$(options_of mesh-publish.env)"
before=$(cat "$etc"/*)
check "the same again" setup host --server tls://bus:4222 --interface eth1 --name h1 --rack r.1 --address 10.0.0.1/24 --gateway 10.0.0.254 --keys /etc/nomora/keys
refuses "other settings are not overwritten" 1 "mesh-join.env exists with other settings" setup host --server nats://other:4222 --interface eth1 --name h1 --address 10.0.0.1/24
is "and nothing is changed" "$before" "$(cat "$etc"/*)"
check "unless asked" setup host --server nats://other:4222 --interface eth1 --name h1 --address 10.0.0.1/24 --gateway 10.0.0.254 --replace
is "which replaces all" "--server nats://other:4222" "$(options_of mesh-publish.env)"
check "removal" setup host --server nats://other:4222 --interface eth1 --name h1 --address 10.0.0.1/24 --remove
is "leaves the files of the page" "mesh-collect.env mesh-members.env mesh-serve.env" "$(files)"

refuses "no role" 2 "expected host or page" setup --server nats://bus:4222
refuses "a wrong role" 2 "found 'hosts'" setup hosts --server nats://bus:4222
refuses "no server" 2 "missing option --server" setup page
refuses "no interface" 2 "missing option --interface" setup host --server nats://bus:4222
refuses "an interface that is not there" 1 "no interface 'no-such0'" setup host --server nats://bus:4222 --interface no-such0
refuses "an interface with a slash" 2 "expected a Linux interface" setup host --server nats://bus:4222 --interface ../x
refuses "a prefix that is too long" 2 "found '10.0.0.1/33'" setup host --server nats://bus:4222 --interface eth1 --address 10.0.0.1/33
refuses "an address without a prefix" 2 "such as 10.77.1.102/24" setup host --server nats://bus:4222 --interface eth1 --address 10.0.0.1
for bad in 'a b' 'a"b' 'a$b' 'a\b' "a'b" ''; do
	refuses "a rack that systemd would change: <$bad>" 2 "--rack" setup host --server nats://bus:4222 --interface eth1 --address 10.0.0.1/24 --rack "$bad"
done
is "and nothing is written" "mesh-collect.env mesh-members.env mesh-serve.env" "$(files)"

space=nomora-test-$$
if [ "$(id -u)" -eq 0 ] && ip netns add "$space" 2>/dev/null; then
	at_exit ip netns del "$space"
	ip -n "$space" link add eth1 type veth peer name eth2
	ip -n "$space" link set eth1 up
	ip -n "$space" link set eth2 up
	inside() { ip netns exec "$space" "$nomora" setup host --server nats://bus:4222 --name h1 --folder "$etc" --files-only --replace "$@"; }
	ip netns exec "$space" sysctl -qw net.ipv6.conf.eth1.dad_transmits=0
	refuses "an interface without an address" 1 "eth1 has no address" inside --interface eth1
	ip -n "$space" addr add fd00::1/64 dev eth1 nodad
	check "an interface with an IPv6 address" inside --interface eth1
	is "uses it" "--address fd00::1/64 --peers /var/lib/nomora-mesh/peers.txt" "$(options_of mesh-eth1.env)"
	ip -n "$space" addr add 10.1.2.3/20 dev eth1
	ip -n "$space" route add default via 10.1.2.1
	check "an interface with both kinds of address" inside --interface eth1
	is "uses IPv4, with the default route" "--address 10.1.2.3/20 --peers /var/lib/nomora-mesh/peers.txt --gateway 10.1.2.1" "$(options_of mesh-eth1.env)"
	is "and its address in the membership" "--server nats://bus:4222 --address 10.1.2.3 --name h1" "$(options_of mesh-join.env)"
	check "an IPv6 address on it" inside --interface eth1 --address fd00::1/64
	is "has no IPv4 router" "--address fd00::1/64 --peers /var/lib/nomora-mesh/peers.txt" "$(options_of mesh-eth1.env)"
else
	skip "addresses of an interface" "no network namespaces here"
fi
plan
