#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora ptp through a PCI network card that stamps PTP: delay request-response from an emulated 82576 to ptp4l in a
# namespace, and without stamps where DPDK's driver was built without them.
# shellcheck source=guest.sh
. "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

ptp4l=$(command -v ptp4l || echo /usr/sbin/ptp4l)
[ -x "$ptp4l" ] || { skip "the rest" "no ptp4l (Debian: linuxptp)"; plan; exit 0; }
ls "$prepared"/ieee1588/*.so.* >/dev/null 2>&1 || { skip "the rest" "no driver with stamps: run tests/hw/prepare"; plan; exit 0; }
cat >"$scratch/ptp4l.cfg" <<END
[global]
time_stamping software
logAnnounceInterval -3
logSyncInterval -4
masterOnly 1
uds_address $scratch/ptp4l.socket
END
ip netns exec hw-a "$ptp4l" -i app0 -2 -E -f "$scratch/ptp4l.cfg" -m -q >"$scratch/ptp4l.log" 2>&1 &
at_exit kill $!
wait_for 30 grep -q 'to MASTER' "$scratch/ptp4l.log" || bail "ptp4l is a master" "$(cat "$scratch/ptp4l.log")"
nic=${nics%%[[:space:]]*}

# measure COUNT OPTION...: stores the JSON in $scratch/ptp.json and the messages in $log.
measure() {
	local count=$1 code=0
	shift
	guest 60 "nomora ptp --dpdk $nic --count $count --interval-ms 10 $* --json >/tmp/ptp.json 2>/tmp/log" || code=$?
	guest 5 "cat /tmp/ptp.json" && printf '%s' "$answer" >"$scratch/ptp.json"
	guest 5 "cat /tmp/log" && log=$answer
	return $code
}
# holds EXPRESSION: of Python, p is the last measurement.
holds() {
	python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$scratch/ptp.json" "$1"
}
verdict() { if [ "$code" -eq 0 ] && holds "$2"; then pass "$1"; else fail "$1" "exit $code" "$(cat "$scratch/ptp.json")" "$log"; fi; }

code=0
measure 10 --e2e || code=$?
verdict "DPDK's own driver: by software" 'p["samples"] >= 8 and p["delay_us"]["min"] > 0 and p["hardware"]["samples"] == 0'
[[ $log == *'built without IEEE 1588'* ]] && pass "and says why" || fail "and says why" "$log"

guest 5 'cp -r /ieee1588/. /'
# The emulated card keeps its stamp of a received packet until RXSATRH is read, which a real card does not require: only
# the first Sync is stamped.
code=0
measure 5 --e2e || code=$?
verdict "a stamp that is not cleared counts once" 'p["samples"] >= 4 and p["hardware"]["samples"] + p["hardware"]["outliers"] <= 1 and
	p["hardware"]["samples"] + p["hardware"]["outliers"] + p["hardware"]["unstamped"] == p["samples"]'
# With RXSATRH read in parallel, all are stamped, except for some whose stamp is cleared before our program reads it.
guest 5 "base=\$(head -n 1 /sys/bus/pci/devices/$nic/resource | cut -d ' ' -f 1)"
guest 5 '{ while usleep 20000; do devmem $((base + 0xb630)) 32; done; } >/dev/null 2>&1 & clearer=$!'
code=0
measure 100 --e2e || code=$?
verdict "stamps of the NIC both ways" 'p["samples"] >= 90 and p["hardware"]["samples"] >= 30 and
	0 <= p["hardware"]["delay_us"]["min"] and p["hardware"]["delay_us"]["p50"] <= p["delay_us"]["p50"]'
python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
for name, of in ("software", p), ("hardware", p["hardware"]):
    d = of["delay_us"] or {}
    print("#", name, of["samples"], "samples, round trip us:", *(f"{k} {2 * v:.1f}" for k, v in d.items()))
print("# unstamped", p["hardware"]["unstamped"], "outliers", p["hardware"]["outliers"])' "$scratch/ptp.json"
# Its peer delay responses are not stamped: only Syncs are (TSYNCRXCFG).
plan
