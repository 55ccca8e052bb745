#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The injector on a PCI network card: two Intel 82576 that QEMU emulates, driven by DPDK's igb through vfio-pci and an
# IOMMU inside a guest. Ping from a host at one port to a host at the other: nothing is lost, the round trip grows by
# 2 D.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prepared=${3:-}
skip_early() { planned=1; printf '1..0 # SKIP %s\n' "$1"; exit 0; }

# All of it lives in namespaces of its own, its files as well: whatever ends this script leaves nothing behind.
if [ -z "${NOMORA_HW_INSIDE:-}" ]; then
	[ "$(id -u)" -eq 0 ] || skip_early "needs root"
	version=$(qemu-system-x86_64 --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
	[ "${version:-0}" -ge 10 ] || skip_early "needs QEMU 10: see tests/hw/README.md"
	[ -f "$prepared/package" ] || skip_early "there is no kernel in $prepared: run tests/hw/prepare"
	[ -x "$1/nomora-injector" ] || skip_early "built without DPDK"
	[ -c /dev/net/tun ] || skip_early "there is no /dev/net/tun"
	grep -q '^flags.* constant_tsc.* nonstop_tsc' /proc/cpuinfo ||
		skip_early "the guest would inherit an inexact time stamp counter"
	own=(unshare --mount --net --pid --fork --kill-child --mount-proc)
	"${own[@]}" true 2>/dev/null || skip_early "namespaces cannot be made here"
	export NOMORA_HW_INSIDE=1
	exec "${own[@]}" bash "$0" "$@"
fi
mount -t tmpfs nomora-hw /mnt
mkdir -p /run/netns
mount -t tmpfs nomora-hw /run/netns
export TMPDIR=/mnt
# shellcheck source=../cli/lib.sh disable=SC1091
. "$here/../cli/lib.sh"

bail() { fail "$@"; plan; exit 1; }
"$here/make-initramfs" "$prepared" "$bin" "$scratch/initramfs" 2>"$scratch/err" ||
	bail "the initramfs" "$(cat "$scratch/err")"
mkfifo "$scratch/line.in" "$scratch/line.out"

# --- the guest: two CPUs, the second for the injector alone ---
network=()
for port in 1 2; do
	network+=(-netdev "tap,id=net$port,ifname=port$port,script=no,downscript=no,vnet_hdr=off"
		-device "pcie-root-port,id=root$port,slot=$port,chassis=$port"
		-device "igb,bus=root$port,netdev=net$port,mac=52:54:00:00:00:0$port")
done
nice -n -20 timeout -k 2 150 qemu-system-x86_64 -machine q35,accel=tcg -cpu max -smp 2 -m 1024 \
	-nodefaults -no-reboot -display none -device intel-iommu,caching-mode=on "${network[@]}" \
	-chardev "file,id=console,path=$scratch/console" -serial chardev:console \
	-chardev "pipe,id=line,path=$scratch/line" -serial chardev:line \
	-kernel "$prepared"/kernel/boot/vmlinuz-* -initrd "$scratch/initramfs" \
	-append "console=ttyS0 quiet panic=-1 no_timer_check intel_iommu=on iommu=pt hugepages=128 isolcpus=1" \
	>"$scratch/qemu" 2>&1 </dev/null &
guest=$!
at_exit kill "$guest"
exec 3<>"$scratch/line.in" 4<>"$scratch/line.out"
alive() { kill -0 "$guest" 2>/dev/null; }
said() { grep -q "$1" "$scratch/console" || ! alive; }

# guest SECONDS COMMAND: runs it in the guest, what it says goes to $answer; its exit code.
commands=0
guest() {
	local part line="" deadline=$((SECONDS + $1))
	commands=$((commands + 1))
	printf '%d %s\n' "$commands" "$2" >&3
	answer=
	while [ $SECONDS -lt $deadline ] && alive; do
		if ! read -rt 1 part <&4; then # half a line so far
			line+=$part
			continue
		fi
		line+=$part
		line=${line%$'\r'}
		case $line in
		"END $commands "*) return "${line##* }" ;;
		"END "*) answer= ;; # of a command that was given up
		*) answer+=$line$'\n' ;;
		esac
		line=
	done
	return 124
}

# --- the hosts at either end ---
taps() { ip link show port1 && ip link show port2 || ! alive; }
wait_for 20 taps && alive || bail "QEMU starts" "$(cat "$scratch/qemu")"
for port in 1 2; do
	ip netns add "host$port"
	ip netns exec "host$port" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	ip link set "port$port" netns "host$port"
	ip -n "host$port" addr add "10.77.0.$port/24" dev "port$port"
	ip -n "host$port" link set "port$port" up
done
wait_for 80 said GUEST-READY && alive || bail "the guest starts" "$(cat "$scratch/qemu" "$scratch/console")"
nics=$(sed -n 's/^NIC \([^ ]*\) 0x8086:0x10c9 vfio-pci.*/\1/p' "$scratch/console")
[ "$(wc -w <<<"$nics")" -eq 2 ] && pass "two 82576 are bound to vfio-pci" ||
	bail "two 82576 are bound to vfio-pci" "$(cat "$scratch/console")"

# --- the injector on both ---
guest 20 "nomora inject ${nics//$'\n'/ } --duration 1 >/dev/null 2>/tmp/refusal; echo exit \$?; cat /tmp/refusal"
case $answer in
*"exit 1"*"not invariant"*) pass "a counter that the CPU does not call invariant is refused" ;;
*) fail "a counter that the CPU does not call invariant is refused" "$answer" ;;
esac
guest 5 "nomora inject ${nics//$'\n'/ } --delay-us 0 --trust-counter --control /run/inj.sock --json \
	>/tmp/json 2>/tmp/log </dev/null & injector=\$!"
statistics() { guest 10 "nomora inject-ctl /run/inj.sock stats --json" && printf '%s' "$answer" >"$scratch/stats"; }
# value EXPRESSION: of Python, s is the last statistics.
value() {
	python3 -c 'import json, sys
print(eval("(" + sys.argv[2] + ")", {"s": json.load(open(sys.argv[1]))}))' "$scratch/stats" "$1" 2>/dev/null
}
linked() { statistics && [ "$(value 'all(p["link_up"] for p in s["ports"])')" = True ]; }
if ! wait_for 40 linked; then
	guest 5 "cat /tmp/log"
	bail "the injector starts and both links are up" "$answer" "$(cat "$scratch/stats" 2>&1)"
fi
drivers=$(value '" ".join(p["driver"] for p in s["ports"])')
[ "$drivers" = "net_e1000_igb net_e1000_igb" ] && pass "both ports: driver net_e1000_igb, link up" ||
	fail "both ports: driver net_e1000_igb, link up" "$drivers"
[ "$(value 's["counter"]')" = trusted ] && pass "its output says that the counter was trusted" ||
	fail "its output says that the counter was trusted" "$(cat "$scratch/stats")"
guest 5 "cat /tmp/log"
log=$answer
case $log in
*"from hugepages"*) pass "its memory is from hugepages" ;;
*) fail "its memory is from hugepages" "$log" ;;
esac

# --- ping ---
# ping_us COUNT: the lower decile of the round trips; what the machine's other work adds lies above it. Fails on a loss.
ping_us() {
	nice -n -20 ip netns exec host1 ping -n -c "$1" -i 0.02 -W 2 -w 10 10.77.0.2 >"$scratch/ping" || return 1
	grep -q ' 0% packet loss' "$scratch/ping" || return 1
	sed -n 's/.*time=\([0-9.]*\) ms/\1/p' "$scratch/ping" | sort -n |
		awk '{v[NR] = $1} END {printf "%.0f", v[int(NR / 10) + 1] * 1000}'
}
# Counts anew from here on, so that the lateness is that of this delay alone.
set_delay() { guest 10 "nomora inject-ctl /run/inj.sock set delay_us=$1 && nomora inject-ctl /run/inj.sock reset"; }
answers() { ip netns exec host1 ping -n -c 1 -W 1 10.77.0.2; }
wait_for 20 answers && pass "host to host through the injector" ||
	bail "host to host through the injector" "$(cat "$scratch/stats")"
account='all(s[d]["rx_packets"] == s[d]["tx_packets"] + s[d]["held"] >= 100 for d in ("ab", "ba")) and
	s["ring_full"] == s["nombuf"] == s["rx_missed"] == 0'
for delay in 500 2000; do
	verdict=
	for _ in 1 2 3; do # the machine may be busy: each with its own D = 0
		if ! { set_delay 0 && base=$(ping_us 100) && set_delay "$delay" && with=$(ping_us 100) && statistics; }; then
			verdict="packets lost, or no answer: $(tail -n 3 "$scratch/ping") $answer"
			alive || break
			continue
		fi
		verdict=$(awk -v b="$base" -v w="$with" -v d="$delay" 'BEGIN {
			off = w - b - 2 * d; if (off < 0) off = -off
			printf "%s: %d - %d = %d us, 2 D = %d", off <= 0.15 * 2 * d + 30 ? "good" : "bad", w, b, w - b, 2 * d }')
		case $verdict in good*) break ;; esac
	done
	case $verdict in
	good*) pass "D = $delay us, 100 packets and none lost ($verdict)" ;;
	*) fail "D = $delay us, 100 packets and none lost" "$verdict" ;;
	esac
	[ "$(value "$account")" = True ] && pass "every packet is accounted for" ||
		fail "every packet is accounted for" "$(cat "$scratch/stats")"
	echo "# released late: $(value '"p50 %(p50)d ns, p99 %(p99)d ns" % s["ab"]["lateness_ns"]'); $(value \
		'"%(stalls)d stalls, the longest %(stall_max_us).0f us, %(disturbed)d packets disturbed" % s')"
done
if guest 20 'nomora inject-ctl /run/inj.sock stop >/dev/null; wait $injector'; then
	pass "it stops cleanly"
else
	guest 5 "cat /tmp/log"
	fail "it stops cleanly" "$answer"
fi
guest 5 'tail -n 1 /tmp/json'
printf '%s' "$answer" >"$scratch/stats"
[ "$(value 's["schema"], {p["driver"] for p in s["ports"]}')" = "('nomora.inject/1', {'net_e1000_igb'})" ] &&
	pass "--json names the driver" || fail "--json names the driver" "$answer"
plan
