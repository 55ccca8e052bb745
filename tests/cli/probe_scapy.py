# SPDX-License-Identifier: BSD-3-Clause
"""STAMP packets by scapy, a codec that is not ours: requests for nomora reflect, and checks of what nomora sends.

usage: probe_scapy.py requests FILE.pcap MAC        writes requests of many kinds to a reflector with this MAC
       probe_scapy.py answers FILE.pcap             checks the reflector's answers
       probe_scapy.py capture FOLDER                writes what nomora rtt pairs, as Ethernet and cooked captures
       probe_scapy.py rtt FILE.json...              checks what it found
       probe_scapy.py requests6, answers6 ...       the same over IPv6, with neighbour discovery
       probe_scapy.py probes FILE.pcap ptp|ntp N    checks a prober's N requests
       probe_scapy.py signed FILE.pcap N            checks a prober's N authenticated requests
       probe_scapy.py requests-signed, answers-signed ...   authenticated ones, by Python's HMAC
"""
import hashlib
import hmac
import json
import random
import sys
import time

from scapy.all import ICMP, IP, TCP, UDP, Ether, PcapWriter, Raw, rdpcap, wrpcap
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.contrib.stamp import (ErrorEstimate, STAMPSessionReflectorTestUnauthenticated as Reply,
                                 STAMPSessionSenderTestUnauthenticated as Request)

NTP_TO_UNIX = 2208988800


def ntp(seconds):
    return int((seconds + NTP_TO_UNIX) * 2**32)


def frame(mac, source, port, payload, to="10.0.0.1", destination_port=862):
    return Ether(src="02:00:00:00:00:02", dst=mac) / IP(src=source, dst=to, ttl=61) / UDP(sport=port, dport=destination_port) / payload


def request(seq, ssid, z=0, tlvs=b""):
    seconds = 1795188663
    stamp = seconds << 32 | 500000000 if z else ntp(seconds) + 2**31
    error = bytes(ErrorEstimate(S=0, Z=z, scale=4, multiplier=7))
    head = seq.to_bytes(4, "big") + stamp.to_bytes(8, "big") + error + ssid.to_bytes(2, "big")
    return Raw(head + bytes(28) + tlvs)


def with_stamps(packet, stamps):
    raw = bytearray(bytes(packet))
    for at, stamp in stamps.items():
        raw[at:at + 8] = stamp.to_bytes(8, "big")
    return bytes(raw)


def write_requests(path, mac):
    random.seed(3)
    padding = bytes(random.randrange(256) for _ in range(1472))
    bare = bytes(request(7, 0).load[:14])
    # scapy's stamps are floats, which lose nanoseconds: write the bytes directly
    answer = with_stamps(Reply(seq=1, ssid=9, seq_sender=5, ttl_sender=255, err_estimate=ErrorEstimate(multiplier=1),
                               err_estimate_sender=ErrorEstimate(multiplier=1)),
                         {4: ntp(time.time()), 16: ntp(time.time() - 1e-3), 28: ntp(time.time())})
    stamp = with_stamps(Request(seq=100, ssid=9, err_estimate=ErrorEstimate(scale=4, multiplier=7)), {4: ntp(1795188663)})
    wrpcap(path, [
        frame(mac, "10.0.0.2", 50000, Raw(stamp)),
        frame(mac, "10.0.0.3", 50001, request(200, 0, z=1)),
        frame(mac, "10.0.0.4", 50002, request(300, 4, tlvs=bytes([0, 1, 0, 4, 1, 2, 3, 4, 0, 200, 0, 2, 5, 6]))),
        frame(mac, "10.0.0.5", 50003, Raw(bare)),
        frame(mac, "10.0.0.6", 50004, Raw(bare + padding[:27])),
        frame(mac, "10.0.0.7", 50005, Raw(bare + padding[:1458])),
        # no answer to these
        frame(mac, "10.0.0.8", 862, Raw(answer)),
        frame(mac, "10.0.0.8", 5000, Raw(answer)),
        frame(mac, "10.0.0.255", 50006, request(1, 1)),
        frame(mac, "127.0.0.1", 50006, request(1, 1)),
        frame(mac, "224.0.0.1", 50006, request(1, 1)),
        frame(mac, "10.0.0.1", 50006, request(1, 1)),
        frame("ff:ff:ff:ff:ff:ff", "10.0.0.9", 50006, request(1, 1)),
        frame("02:00:00:00:00:77", "10.0.0.9", 50006, request(1, 1)),
        frame(mac, "10.0.9.9", 50006, request(1, 1)),
    ])


def checked(packet):
    """Returns the frame; asserts that its checksums are those that scapy computes."""
    again = Ether(bytes(packet))
    for layer, name in ((IP, "chksum"), (UDP, "chksum"), (ICMPv6ND_NS, "cksum"), (ICMPv6ND_NA, "cksum")):
        if layer in again:
            setattr(again[layer], name, None)
    assert bytes(again) == bytes(packet), packet.summary()
    return packet


def check_answers(path):
    kinds = {}
    for packet in rdpcap(path):
        if IP in packet:
            kinds.setdefault(packet[IP].dst, []).append(checked(packet))
    assert sorted(kinds) == ["10.0.0.%d" % i for i in range(2, 8)], sorted(kinds)
    for address, packets in kinds.items():
        for number, packet in enumerate(packets):
            payload = bytes(packet[UDP].payload)[:packet[UDP].len - 8]
            reply = Reply((payload + bytes(3))[:44])
            z = 1 if address == "10.0.0.3" else 0
            assert packet[UDP].sport == 862 and reply.seq == number, (address, reply.seq, number)
            assert reply.ttl_sender == 61 and reply.err_estimate.Z == z, (address, reply.err_estimate.Z)
            assert len(payload) == {"10.0.0.4": 58, "10.0.0.5": 41, "10.0.0.6": 41, "10.0.0.7": 1472}.get(address, 44), (address, len(payload))
            assert reply.ssid == {"10.0.0.2": 9, "10.0.0.4": 4}.get(address, 0), (address, reply.ssid)
            assert reply.seq_sender == {"10.0.0.2": 100, "10.0.0.3": 200, "10.0.0.4": 300}.get(address, 7)
            received, sent = (int.from_bytes(payload[at:at + 8], "big") for at in (16, 4))
            second = 10**9 if z else 2**32
            def seconds(x): return (x >> 32) + (x & 0xffffffff) / second - (0 if z else NTP_TO_UNIX)
            assert 0 <= seconds(sent) - seconds(received) < 1 and abs(seconds(sent) - time.time()) < 120, address
            if address == "10.0.0.2":
                assert payload[28:36] == ntp(1795188663).to_bytes(8, "big")
            if address == "10.0.0.4":
                assert payload[44] == 0 and payload[52] == 0x80, "U flag of the TLV that nobody knows: " + payload[44:].hex()
    print(", ".join("%s %d" % (a, len(p)) for a, p in sorted(kinds.items())))


def write_capture(path, link):
    at, writer = 1795188663.0, PcapWriter(path, linktype=link, nano=True)
    heads = {1: lambda six: bytes(12) + bytes.fromhex("86dd" if six else "0800"),
             113: lambda six: bytes(14) + bytes.fromhex("86dd" if six else "0800"),
             276: lambda six: bytes.fromhex("86dd" if six else "0800") + bytes(18)}

    def put(after_us, packet):
        raw = heads[link](IPv6 in packet) + bytes(packet)
        writer.write_packet(raw, sec=int(at), usec=after_us * 1000)
    writer.write_header(None)
    a, b, a6, b6 = "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"
    for i in range(20):
        data = Raw(i.to_bytes(8, "big") + bytes(48))
        begin = 40000 * i
        put(begin, IP(src=a, dst=b) / ICMP(type=8, id=7, seq=i) / data)
        put(begin + 30, IP(src=b, dst=a) / ICMP(type=0, id=7, seq=i) / data)
        put(begin + 1000, IPv6(src=a6, dst=b6) / ICMPv6EchoRequest(id=8, seq=i, data=data.load))
        put(begin + 1040, IPv6(src=b6, dst=a6) / ICMPv6EchoReply(id=8, seq=i, data=data.load))

        def segment(src, dst, ports, stamps, load=b"", flags="A"):
            layer = IPv6 if ":" in src else IP
            return layer(src=src, dst=dst) / TCP(sport=ports[0], dport=ports[1], flags=flags,
                                                 options=[("NOP", None), ("NOP", None), ("Timestamp", stamps)]) / Raw(load)
        for hosts in (a, b), (a6, b6):
            stamp = 1000 + 40 * i
            put(begin + 2000, segment(*hosts, (50000, 80), (stamp, 5), b"question"))
            put(begin + 2010, segment(*hosts, (50000, 80), (stamp, 5), b"more of it"))
            put(begin + 2050, segment(*hosts[::-1], (80, 50000), (7 + i, stamp)))
            put(begin + 2060, segment(*hosts[::-1], (80, 50000), (7 + i, stamp)))
        put(begin + 3000, IP(src=a, dst=b) / UDP(sport=40000, dport=862) / request(i, 9, z=1))
        asked = request(i, 9, z=1).load
        stamps = [asked[4:12], (1795188663 << 32 | 700000000).to_bytes(8, "big")]
        put(begin + 3100, IP(src=b, dst=a) / UDP(sport=862, dport=40000) / Raw(
            i.to_bytes(4, "big") + stamps[1] + bytes([0x40, 1, 0, 0]) + stamps[1] + asked[:14] + bytes(6)))
    put(800000, IP(src=a, dst=b) / ICMP(type=8, id=7, seq=99) / Raw(bytes(56)))
    writer.close()


def check_rtt(path):
    seen = json.load(open(path))
    found = {(p["src"], p["dst"], p["protocol"]): (p["samples"], round(p["rtt_us"]["min"]), round(p["rtt_us"]["max"])) for p in seen["pairs"]}
    a, b, a6, b6 = "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"
    assert found == {(a, b, "icmp"): (20, 30, 30), (a6, b6, "icmp"): (20, 40, 40), (a, b, "tcp"): (20, 50, 50),
                     (a6, b6, "tcp"): (20, 50, 50), (a, b, "stamp"): (20, 100, 100)}, found
    packets = seen["packets"]
    assert packets["unanswered"] == 1 and packets["orphans"] == 0 and packets["broken"] == 0 and packets["repeated"] == 0, packets


def write_requests6(path, mac):
    def frame6(source, layers, to="2001:db8::1", hops=61, group=None):
        return Ether(src="02:00:00:00:00:02", dst=group or mac) / IPv6(src=source, dst=to, hlim=hops, tc=0xb9) / layers

    def stamp(port, number, tlvs=b""):
        return UDP(sport=port, dport=862) / request(number, 4, tlvs=tlvs)

    def solicit(target, hops=255):
        return frame6("2001:db8::2", ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:02"), "ff02::1:ff00:1", hops,
                      "33:33:ff:00:00:01")
    wrpcap(path, [
        frame6("2001:db8::2", stamp(50000, 100)),
        frame6("2001:db8::3", stamp(50001, 300, bytes([0, 1, 0, 5, 1, 2, 3, 4, 5]))),
        solicit("2001:db8::1"),
        # no answer to these
        solicit("2001:db8::7"), solicit("2001:db8::1", hops=254),
        frame6("::1", stamp(50002, 1)), frame6("ff02::1", stamp(50002, 1)), frame6("2001:db8::1", stamp(50002, 1)),
        frame6("2001:db8::4", stamp(50002, 1), group="33:33:00:00:00:01"), frame6("2001:db8:1::4", stamp(50002, 1)),
    ])


def check_answers6(path, mac):
    kinds = {}
    for packet in rdpcap(path, count=300):  # there is no limit on answers to solicitations
        if IPv6 in packet:
            kinds.setdefault((packet[IPv6].dst, UDP in packet), []).append(checked(packet))
    assert sorted(kinds) == [("2001:db8::2", False), ("2001:db8::2", True), ("2001:db8::3", True)], sorted(kinds)
    for packet in kinds["2001:db8::2", False]:
        advert = packet[ICMPv6ND_NA]
        assert packet.dst == "02:00:00:00:00:02" and packet[IPv6].hlim == 255 and advert.tgt == "2001:db8::1"
        assert advert.S == 1 and advert.O == 1 and advert.R == 0 and packet[ICMPv6NDOptDstLLAddr].lladdr == mac.lower()
    for address, number in (("2001:db8::2", 100), ("2001:db8::3", 300)):
        for packet in kinds[address, True]:
            payload = bytes(packet[UDP].payload)
            reply = Reply(payload[:44])
            assert packet[IPv6].src == "2001:db8::1" and packet[IPv6].tc == 0xb9 and packet[UDP].sport == 862
            assert reply.seq_sender == number and reply.ttl_sender == 61 and len(payload) == (53 if number == 300 else 44)


KEY = bytes(range(32))


def signed(body):
    assert len(body) == 96
    return body + hmac.new(KEY, body, hashlib.sha256).digest()[:16]


def signed_request(number, ssid=7):
    return (number.to_bytes(4, "big") + bytes(12) + ntp(time.time() + number).to_bytes(8, "big") + bytes(ErrorEstimate(multiplier=3)) +
            ssid.to_bytes(2, "big") + bytes(68))


def write_signed(path, mac):
    wrong = bytearray(signed(signed_request(1)))
    wrong[3] = 77
    wrpcap(path, [
        frame(mac, "10.0.0.2", 50000, Raw(signed(signed_request(100)))),
        # no answer to these
        frame(mac, "10.0.0.3", 50000, Raw(bytes(wrong))),
        frame(mac, "10.0.0.3", 50000, Raw(signed(signed_request(1, ssid=8)))),
        frame(mac, "10.0.0.3", 50000, request(1, 7)),
    ])


def check_signed_answers(path):
    packets = [checked(p) for p in rdpcap(path) if UDP in p]
    # The file is read repeatedly: every later copy is a replay.
    assert len(packets) == 1 and packets[0][IP].dst == "10.0.0.2", packets
    payload = bytes(packets[0][UDP].payload)
    assert len(payload) == 112 and payload == signed(payload[:96])
    assert payload[48:52] == (100).to_bytes(4, "big") and payload[26:28] == bytes([0, 7]) and payload[80] == 61
    assert payload[4:16] == bytes(12) and payload[28:32] == bytes(4) and payload[40:48] == bytes(8) and payload[52:64] == bytes(12)
    assert payload[72:74] == bytes(ErrorEstimate(multiplier=3)) and payload[74:80] == bytes(6) and payload[81:96] == bytes(15)
    for at in 16, 32:
        assert abs((int.from_bytes(payload[at:at + 8], "big") >> 32) - NTP_TO_UNIX - time.time()) < 120


def check_signed(path, count):
    packets = [checked(p) for p in rdpcap(path) if UDP in p]
    assert len(packets) == count, len(packets)
    for number, packet in enumerate(packets):
        payload = bytes(packet[UDP].payload)
        assert len(payload) == 112 and payload == signed(payload[:96]) and int.from_bytes(payload[:4], "big") == number
        assert payload[26:28] == bytes([0, 7]) and payload[4:16] == bytes(12) and payload[28:96] == bytes(68)
        assert abs(int.from_bytes(payload[16:20], "big") - time.time()) < 120


def check_probes(path, form, count):
    packets = [checked(p) for p in rdpcap(path) if UDP in p and p[UDP].dport == 862]
    assert len(packets) == count, len(packets)
    for number, packet in enumerate(packets):
        payload = bytes(packet[UDP].payload)[:44]
        probe = Request(payload)
        assert probe.seq == number and probe.ssid == Request(bytes(packets[0][UDP].payload)[:44]).ssid != 0
        assert probe.err_estimate.Z == (form == "ptp") and probe.err_estimate.multiplier > 0
        assert payload[16:] == bytes(28) and (packet[IP].ttl if IP in packet else packet[IPv6].hlim) == 255
        whole = int.from_bytes(payload[4:8], "big") - (0 if form == "ptp" else NTP_TO_UNIX)
        assert abs(whole - time.time()) < 120, whole


if __name__ == "__main__":
    if sys.argv[1] == "requests":
        write_requests(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "answers":
        check_answers(sys.argv[2])
    elif sys.argv[1] == "requests-signed":
        write_signed(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "answers-signed":
        check_signed_answers(sys.argv[2])
    elif sys.argv[1] == "signed":
        check_signed(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "capture":
        for link in 1, 113, 276:
            write_capture("%s/link%d.pcap" % (sys.argv[2], link), link)
    elif sys.argv[1] == "rtt":
        for path in sys.argv[2:]:
            check_rtt(path)
    elif sys.argv[1] == "requests6":
        write_requests6(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "answers6":
        check_answers6(sys.argv[2], sys.argv[3])
    else:
        check_probes(sys.argv[2], sys.argv[3], int(sys.argv[4]))
