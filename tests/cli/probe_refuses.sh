#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora probe and reflect: bad key files, peers files and options are refused with file, line and field, before a port is opened.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
cd "$scratch" || exit 1
key=$(printf '%02x' {0..31})
# file NAME TEXT: writes a file that only its owner may read.
file() { (umask 077 && printf "$2" >"$1"); }
file peers 'a 10.89.0.1\nb 10.89.0.2\n'
file keys "7 $key\n"

# Files: name, their content, the refusal.
while IFS='|' read -r name text wanted; do
	file bad "$text"
	refuses "keys: $name" 1 "$wanted" "$nomora" probe eth0 --address 10.89.0.1 --peers peers --keys bad
done <<END
empty||bad: expected lines 'SSID KEY'
a comment alone|# none\n|bad: expected lines 'SSID KEY'
no key|7\n|bad:1: key: expected 'SSID KEY'
a word more|7 $key 8\n|bad:1: key: expected 'SSID KEY'
session 0|0 $key\n|bad:1: session: expected a session identifier from 1 to 65535
session 65536|7 $key\n65536 $key\n|bad:2: session: expected a session identifier from 1 to 65535
15 bytes|7 ${key:0:30}\n|bad:1: key: expected 16 to 64 bytes in hexadecimal, two digits each, found 30
half a byte|7 ${key:0:33}\n|bad:1: key: expected 16 to 64 bytes in hexadecimal, two digits each, found 33
no hexadecimal|7 ${key:0:40}g0\n|bad:1: key: expected hexadecimal digits, found another character at place 41
a session twice|7 $key\n9 $key\n7 $key\n|bad:3: session: session 7 has a key already
END
while IFS='|' read -r name text wanted; do
	file bad "$text"
	refuses "peers: $name" 1 "$wanted" "$nomora" probe eth0 --address 10.89.0.1 --peers bad
done <<'END'
empty||bad: expected lines
no address|a\n|bad:1: address: expected
no IP address|a 10.89.0.999\n|bad:1: address: expected a host's address
a group|a 10.89.0.1\nb 224.0.0.1\n|bad:2: address: expected a host's address
broadcast|b 255.255.255.255\n|bad:1: address: expected a host's address
loopback|b 127.0.0.1\n|bad:1: address: expected a host's address
a group's MAC|b 10.89.0.2 ff:ff:ff:ff:ff:ff\n|bad:1: mac: expected one host's MAC
no MAC before a rack|b 10.89.0.2 zz r1\n|bad:1: mac: expected a MAC
a host twice|a 10.89.0.1\na 10.89.0.2\n|bad:2: name: duplicate host name
an address twice|a 10.89.0.1\nb 10.89.0.1\n|bad:2: address: 'a' and 'b' have the same address
a MAC twice|a 10.89.0.1 02:00:00:00:00:01\nb 10.89.0.2 02:00:00:00:00:01\n|bad:2: mac: 'a' and 'b' have the same MAC
END

# Options, and which of the two programs has them.
prefixes=$(printf '2001:db8:1111:2222:3333:4444:5555:%x/128,' {1..80})
while IFS='|' read -r program options wanted; do
	[ "$program" = reflect ] || options="--peers peers $options"
	# shellcheck disable=SC2086
	refuses "$program $(printf '%.60s' "$options")" 2 "$wanted" "$nomora" "$program" eth0 $options
done <<END
reflect||--address is missing
reflect|--address 127.0.0.1|--address: expected an IP address
reflect|--address 224.0.0.1|--address: expected an IP address
reflect|--address 255.255.255.255|--address: expected an IP address
reflect|--address ff02::1|--address: expected an IP address
reflect|--address 10.89.0.1/33|--address: expected an IP address
reflect|--address 10.89.0.1 --gateway 10.89.0.254|--gateway needs --address ADDRESS/BITS
reflect|--address 10.89.0.1/24 --gateway 10.89.0.1|--gateway: expected an address
reflect|--address 10.89.0.1/24 --gateway 224.0.0.1|--gateway: expected an address
reflect|--address 10.89.0.1 --allow 10.0.0.0/33|--allow: expected addresses or prefixes
reflect|--address 10.89.0.1 --allow ${prefixes%,}|--allow: more than 64 prefixes
reflect|--address 10.89.0.1 --micro-session 0|--micro-session: expected ID or ID,PEER
probe|--address 10.89.0.1 --micro-session 1,2,3|--micro-session: expected ID or ID,PEER
probe|--address 10.89.0.1 --micro-session 1,7x|--micro-session: expected ID or ID,PEER
probe|--address 10.89.0.1 --micro-session 1,0|--micro-session: expected ID or ID,PEER
probe|--address 10.89.0.1 --clock-error-us -1|--clock-error-us: found '-1'
probe|--address 10.89.0.1 --paths 257|--paths: expected 1 to 256, or auto
probe|--address 10.89.0.1 --slot 3/2|--slot: expected I/N
probe|--address 10.89.0.1 --tlv hmac|--tlv: expected names such as
probe|--address 10.89.0.1 --name a,b|--name: expected one word
END
refuses "keys that others may read" 1 'chmod 600 open' sh -c \
	"umask 022; printf '7 $key\n' >open; exec '$nomora' probe eth0 --address 10.89.0.1 --peers peers --keys open"
refuses "a key file that is a folder" 1 'folder' "$nomora" probe eth0 --address 10.89.0.1 --peers peers --keys .
refuses "a session without a key" 1 'keys: there is no key of session 9' "$nomora" probe eth0 --address 10.89.0.1 --peers peers --keys keys --ssid 9
refuses "samples into a folder that is not there" 1 'cannot write none/samples' "$nomora" probe eth0 --address 10.89.0.1 --peers peers --samples none/samples
plan
