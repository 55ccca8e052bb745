#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The prober and the reflector against another implementation of STAMP and TWAMP, scapy's, through capture files: a DPDK
# port reads packets from one file and writes them to another.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
command -v jq >/dev/null || skip_all "jq is not installed"
python=/usr/bin/python3
$python -c 'import scapy.contrib.stamp' 2>/dev/null || skip_all "python3-scapy is not installed"
scapy() { $python "$source_root/tests/cli/probe_scapy.py" "$@"; }

printf 'a 10.0.0.1\nb 10.0.0.2 02:00:00:00:00:02\n' >"$scratch/peers"
$python -c 'import sys; from scapy.all import PcapWriter; w = PcapWriter(sys.argv[1], linktype=1); w.write_header(None); w.close()' \
	"$scratch/none.pcap"
for form in ptp ntp; do
	run "$nomora" probe "net_pcap0,rx_pcap=$scratch/none.pcap,tx_pcap=$scratch/$form.pcap" --address 10.0.0.1 --peers "$scratch/peers" \
		--wait 0 --count 20 --interval-us 1000 --timeout-ms 50 --format "$form" --json
	[ "$code" -eq 3 ] && pass "probes into a file ($form)" || fail "probes into a file ($form)" "exit $code" "$err"
	check "scapy reads them ($form)" scapy probes "$scratch/$form.pcap" "$form" 20
done
mac=$(printf '%s' "$out" | jq -r .port.mac)

printf 'a 2001:db8::1\nb 2001:db8::2 02:00:00:00:00:02\n' >"$scratch/peers6"
run "$nomora" probe "net_pcap0,rx_pcap=$scratch/none.pcap,tx_pcap=$scratch/six.pcap" --address 2001:db8::1 --peers "$scratch/peers6" \
	--wait 0 --count 20 --interval-us 1000 --timeout-ms 50 --size 200 --quiet
[ "$code" -eq 3 ] && pass "probes over IPv6 into a file" || fail "probes over IPv6 into a file" "exit $code" "$err"
check "scapy reads them (IPv6)" scapy probes "$scratch/six.pcap" ptp 20
check "scapy writes requests over IPv6" scapy requests6 "$scratch/requests6.pcap" "$mac"
run "$nomora" reflect "net_pcap0,rx_pcap=$scratch/requests6.pcap,tx_pcap=$scratch/answers6.pcap,infinite_rx=1" --address 2001:db8::1/64 \
	--allow 2001:db8::/64 --limit-source 0 --limit-total 1000 --duration 0.5 --json
check "scapy reads the answers and advertisements (IPv6)" scapy answers6 "$scratch/answers6.pcap" "$mac"
for reason in not_ours bad_source not_allowed; do
	check "requests over IPv6 refused as $reason are counted" jq -e ".run.reflector.$reason > 0" <<<"$out"
done

# Captures of other protocols and link types.
check "scapy writes captures" scapy capture "$scratch"
for link in 1 113 276; do
	"$nomora" rtt - --protocols stamp,icmp,tcp --json <"$scratch/link$link.pcap" >"$scratch/rtt$link.json" 2>>"$scratch/err"
done
check "rtt pairs STAMP with a zero session in answers, ICMP echo and TCP time stamps, in Ethernet and cooked captures" \
	scapy rtt "$scratch/rtt1.json" "$scratch/rtt113.json" "$scratch/rtt276.json"
refuses "a protocol that rtt does not know" 2 'expected names of stamp, icmp, tcp' "$nomora" rtt "$scratch/link1.pcap" \
	--protocols stamp,udp

# Authenticated mode.
(umask 077 && printf '8 %s\n7 %s # 0..31\n' "$(printf 'ab%.0s' {1..16})" "$(printf '%02x' {0..31})" >"$scratch/keys")
grep -v ^8 "$scratch/keys" >"$scratch/key7"
refuses "keys that others may read" 1 'key7: users other than its owner have access \(mode 0644\); run .chmod 600' "$nomora" reflect net_null0 \
	--address 10.0.0.1 --keys "$scratch/key7"
chmod 600 "$scratch/key7"
refuses "a session without a key" 1 'there is no key of session 6' "$nomora" probe net_null0 --address 10.0.0.1 --peers "$scratch/peers" \
	--keys "$scratch/keys" --ssid 6
run "$nomora" probe "net_pcap0,rx_pcap=$scratch/none.pcap,tx_pcap=$scratch/signed.pcap" --address 10.0.0.1 --peers "$scratch/peers" \
	--wait 0 --count 20 --interval-us 1000 --timeout-ms 50 --keys "$scratch/keys" --ssid 7 --quiet
check "Python's HMAC agrees with ours" scapy signed "$scratch/signed.pcap" 20
check "Python signs requests" scapy requests-signed "$scratch/unsigned.pcap" "$mac"
run "$nomora" reflect "net_pcap0,rx_pcap=$scratch/unsigned.pcap,tx_pcap=$scratch/sealed.pcap,infinite_rx=1" --address 10.0.0.1/24 \
	--keys "$scratch/key7" --duration 0.2 --json
check "the one that is authentic and new has a signed answer" scapy answers-signed "$scratch/sealed.pcap"
for reason in unknown_session bad_hmac replayed malformed; do
	check "requests refused as $reason are counted" jq -e ".run.reflector.$reason > 0" <<<"$out"
done

# The requests are repeated, so that those before the reflector's start do not matter.
check "scapy writes requests" scapy requests "$scratch/requests.pcap" "$mac"
run "$nomora" reflect "net_pcap0,rx_pcap=$scratch/requests.pcap,tx_pcap=$scratch/answers.pcap,infinite_rx=1" --address 10.0.0.1/24 \
	--allow 10.0.0.0/24 --limit-source 0 --limit-total 1000 --duration 1 --json
[ "$code" -eq 0 ] && pass "reflect answers them" || fail "reflect answers them" "exit $code" "$err"
counts=$out
check "scapy reads the answers: formats, sessions, TLVs, TWAMP's lengths, and to nobody else" scapy answers "$scratch/answers.pcap"
for reason in not_ours bad_source loops not_allowed total_limited; do
	check "requests refused as $reason are counted" jq -e ".run.reflector.$reason > 0" <<<"$counts"
done

run "$nomora" reflect "net_pcap0,rx_pcap=$scratch/requests.pcap,tx_pcap=$scratch/strict.pcap,infinite_rx=1" --address 10.0.0.1/24 \
	--limit-source 200 --duration 1 --json
check "short requests have a rate, unless allowed" jq -e '.run.reflector.short_requests > 0' <<<"$out"
check "one source gets its rate" jq -e '.run.reflector | .source_limited > 0 and .answered < 6 * (200 + 20) * 2' <<<"$out"
plan
