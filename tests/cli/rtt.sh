#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora rtt on a stored capture, and on files that are not captures. (probe.sh compares it with a live prober.)
. "$(dirname "$0")/lib.sh"

capture=$source_root/tests/data/fuzz/capture/probes.pcap
run "$nomora" rtt "$capture"
[ "$code" -eq 0 ] && pass "a capture of probes" || fail "a capture of probes" "exit $code" "$err"
if command -v jq >/dev/null; then
	run "$nomora" rtt "$capture" --json
	printf '%s' "$out" | jq -e '.schema == "nomora.rtt/1" and .packets.captured == 24 and
		.packets.requests + .packets.answers + .packets.repeated + .packets.broken == 24 and
		([.pairs[].samples] | add) == .packets.paired and all(.pairs[]; .rtt_us.p50 > 0 and .rtt_us.p50 < 1000)' \
		>/dev/null && pass "counters add up" || fail "counters add up" "$out"
	printf '%s' "$out" | jq -e '[.pairs[] | [.src, .dst] | map(split(".") | map(tonumber))] | . == unique and length > 1' \
		>/dev/null && pass "each pair once, by address" || fail "each pair once, by address" "$out"
	net=$(printf '%s' "$out" | jq '[.pairs[].rtt_us.mean] | add')
	run "$nomora" rtt "$capture" --json --gross
	printf '%s' "$out" | jq -e --argjson net "$net" '[.pairs[].rtt_us.mean] | add > $net' >/dev/null &&
		pass "gross is more than net" || fail "gross is more than net" "$out"
fi
# Exchanges with ptp4l, captured at the requesting interface: five with each mechanism.
for file in peer-delay-l2 e2e-l2 e2e-udp6; do
	run "$nomora" rtt "$source_root/tests/data/fuzz/capture/ptp4l-$file.pcap" --protocols stamp,ptp --json
	[ "$code" -eq 0 ] && printf '%s' "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
(pair,), packets = d["pairs"], d["packets"]
assert pair["protocol"] == "ptp" and pair["samples"] == packets["paired"] == packets["requests"] == 5, d
assert 1 < pair["rtt_us"]["min"] <= pair["rtt_us"]["p50"] < 20 and packets["broken"] == packets["orphans"] == 0, d
assert (":" if sys.argv[1] == "e2e-udp6" else ".fffe.") in pair["src"], d' "$file" && pass "PTP: $file" ||
		fail "PTP: $file" "exit $code" "$out$err"
done
refuses "an unknown protocol" 2 'expected names of stamp, icmp, tcp, ptp' "$nomora" rtt "$capture" --protocols ntp
# A generated capture with known figures: two requesters, two responders, 40 exchanges of each pair, one broken request
# in the middle, one duplicate request and answer, one request without an answer, one answer without a request.
cat >"$scratch/make.py" <<'END'
import struct, sys
def head(source, destination, source_port, port, octets):
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + octets, 0, 0x4000, 64, 17, 0, bytes(source), bytes(destination))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
    return b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\x00" + ip + struct.pack(">HHHH", source_port, port, 8 + octets, 0)
seconds, packets = 1700000000, []
def stamp(ns):  # PTP's form
    return struct.pack(">II", ns // 10**9, ns % 10**9)
def ask(at, a, b, number, error=0xc001):
    packets.append((at, head(a, b, 40000, 862, 44) + struct.pack(">I", number) + stamp(at) + struct.pack(">HH", error, 7) + bytes(28)))
def answer(at, a, b, number, asked, rtt, residence):
    body = struct.pack(">I", number) + stamp(asked + residence + 5000) + struct.pack(">HH", 0xc001, 7) + stamp(asked + 5000)
    body += struct.pack(">I", number) + stamp(asked) + struct.pack(">HHBBH", 0xc001, 0, 64, 0, 0)
    packets.append((at, head(b, a, 862, 40000, 44) + body))
begin, number = seconds * 10**9, 0
for turn in range(40):
    for a in 1, 2:
        for b in 3, 4:
            at = begin + number * 10**6
            rtt, residence = (10 * a + b) * 1000 + turn, 2000
            ask(at, (10, 0, 0, a), (10, 0, 0, b), number)
            answer(at + rtt + residence, (10, 0, 0, a), (10, 0, 0, b), number, at, rtt, residence)
            if number == 80:
                packets += packets[-2:]
                ask(at, (10, 0, 0, 1), (10, 0, 0, 3), 9999, error=0xc000)
            number += 1
ask(begin + 10**9, (10, 0, 0, 1), (10, 0, 0, 3), 1000)
answer(begin + 10**9, (10, 0, 0, 1), (10, 0, 0, 3), 1001, begin, 10, 0)
sys.stdout.buffer.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
for at, bytes_ in packets:
    sys.stdout.buffer.write(struct.pack("<IIII", at // 10**9, at % 10**9, len(bytes_), len(bytes_)) + bytes_)
END
python3 "$scratch/make.py" >"$scratch/known.pcap"
run "$nomora" rtt "$scratch/known.pcap" --json
check "every figure of a capture that is known" python3 -c '
import json, sys
seen = json.loads(sys.argv[1])
assert seen["packets"] == {"captured": 325, "requests": 161, "answers": 161, "paired": 160, "unanswered": 1, "orphans": 1, "repeated": 2, "broken": 1}, seen["packets"]
pairs = {(p["src"], p["dst"]): p for p in seen["pairs"]}
assert len(seen["pairs"]) == 4 and set(pairs) == {(f"10.0.0.{a}", f"10.0.0.{b}") for a in (1, 2) for b in (3, 4)}, seen["pairs"]
for (a, b), p in pairs.items():
    base = 10 * int(a[-1]) + int(b[-1])
    assert p["samples"] == 40 and abs(p["rtt_us"]["min"] - base) < 0.02 and abs(p["rtt_us"]["max"] - base - 0.039) < 0.02 and abs(p["rtt_us"]["p50"] - base - 0.02) < 0.02, p
' "$out"
says "$err" '2 packets are in the capture twice' && pass "packets twice are told of" || fail "packets twice are told of" "$err"

# Samples of the prober 10.0.0.1: 1.0 us more than on the wire to 10.0.0.3, 2.0 to 2.9 us more to 10.0.0.4, with one
# sample missing; and three probes that are not in the capture.
cat >"$scratch/samples.py" <<'END'
import sys
shift = int(sys.argv[1])
print("sent_at,peer,source_port,sequence,rtt_us,residence_us,offset_us,disturbed")
def sample(number, b, us):
    print(f"{1700000000 + shift}.{number * 10**6 + 500:09d},10.0.0.{b},40000,{number},{us:.3f},2.000,0.000,0")
for turn in range(40):
    sample(4 * turn, 3, 13 + turn / 1000 + 1)
    if turn < 39:
        sample(4 * turn + 1, 4, 14 + turn / 1000 + 2 + turn % 10 / 10)
for number in 501, 502, 503:
    sample(number, 3, 1000)
END
python3 "$scratch/samples.py" 0 >"$scratch/own.csv"
run "$nomora" rtt "$scratch/known.pcap" --compare "$scratch/own.csv" --json
check "the delay that the prober added, pair by pair" python3 -c '
import json, sys
seen = json.loads(sys.argv[1])
def near(found, probes, least, p50, p99, most):
    wanted = {"probes": probes, "min": least, "p50": p50, "p99": p99, "max": most}
    assert set(found) == set(wanted) and all(abs(found[k] - wanted[k]) < 1e-6 for k in wanted), found
compare = seen["compare"]
assert (compare["prober"], compare["not_captured"], compare["not_sampled"]) == ("10.0.0.1", 3, 1), compare
near(compare["added_us"], 79, 1, 1, 2.9, 2.9)
pairs = {(p["src"], p["dst"]): p["added_us"] for p in seen["pairs"]}
near(pairs["10.0.0.1", "10.0.0.3"], 40, 1, 1, 1, 1)
near(pairs["10.0.0.1", "10.0.0.4"], 39, 2, 2.4, 2.9, 2.9)
assert pairs["10.0.0.2", "10.0.0.3"] is None and pairs["10.0.0.2", "10.0.0.4"] is None, pairs
' "$out"
run "$nomora" rtt "$scratch/known.pcap" --compare "$scratch/own.csv" --gross
says "$out" '^10\.0\.0\.1 +all +79 +1\.0 +1\.0 +2\.9 +2\.9$' && pass "and in all, with --gross too" ||
	fail "and in all, with --gross too" "$out"
says "$out" '^3 samples are not in the capture, 1 exchanges' && pass "what has no partner is counted" ||
	fail "what has no partner is counted" "$out"
python3 "$scratch/samples.py" 100 >"$scratch/other.csv"
refuses "samples of another run" 3 'other.csv: none of its 82 probes is in the capture' \
	"$nomora" rtt "$scratch/known.pcap" --compare "$scratch/other.csv"
printf 'h3 10.0.0.3\nh4 10.0.0.4\n' >"$scratch/named"
refuses "samples with other names" 3 'the samples that the captured prober wrote in that run, and its --peers file' \
	"$nomora" rtt "$scratch/known.pcap" --compare "$scratch/own.csv" --peers "$scratch/named"
refuses "a file that has no samples" 1 'named:1: expected the samples of nomora probe' \
	"$nomora" rtt "$scratch/known.pcap" --compare "$scratch/named"

check "from stdin, with samples" sh -c "'$nomora' rtt - --samples '$scratch/s.csv' <'$capture'"
[ "$(wc -l <"$scratch/s.csv")" -gt 5 ] && pass "samples" || fail "samples" "$(cat "$scratch/s.csv")"
refuses "no such file" 1 'nowhere' "$nomora" rtt "$scratch/nowhere"
printf 'this is no capture\n' >"$scratch/text"
refuses "a text file" 1 'text: not a capture' "$nomora" rtt "$scratch/text"
head -c 1000 "$capture" >"$scratch/cut.pcap"
refuses "a capture that is cut off" 1 'cut.pcap: after packet' "$nomora" rtt "$scratch/cut.pcap" --samples "$scratch/none.csv"
[ ! -e "$scratch/none.csv" ] && pass "nothing half-written" || fail "nothing half-written"
head -c 24 "$capture" >"$scratch/empty.pcap"
run "$nomora" rtt "$scratch/empty.pcap"
[ "$code" -eq 3 ] && pass "a capture without probes: exit 3" || fail "a capture without probes: exit 3" "exit $code" "$err"
run "$nomora" rtt "$capture" --udp-port 9999
[ "$code" -eq 3 ] && pass "another port: exit 3" || fail "another port: exit 3" "exit $code"
plan
