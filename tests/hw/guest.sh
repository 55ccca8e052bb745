# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests on emulated network cards, with their arguments: BIN SOURCE PREPARED [DEVICE], the last one QEMU's
# name of the card, igb if it is left out. Boots a guest with two of them that are bound to vfio-pci ($nics); each has a
# cable to app0 in a network namespace of this host, hw-a and hw-b. $driver is the driver that DPDK has for it.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prepared=${3:-}
device=${4:-igb}
options=
# shellcheck disable=SC2034 # driver: the tests look at it
case $device in
igb) pci=0x8086:0x10c9 driver=net_e1000_igb ;;
e1000e) pci=0x8086:0x10d3 driver=net_e1000_em ;;
virtio-net-pci) pci=0x1af4:0x1041 driver=net_virtio options=,disable-legacy=on,iommu_platform=on ;;
vmxnet3) pci=0x15ad:0x07b0 driver=net_vmxnet3 ;;
*) echo "Bail out! no such card: $device"; exit 1 ;;
esac
# shellcheck disable=SC2034 # planned: lib.sh looks at it when the script ends
skip_early() { planned=1; printf '1..0 # SKIP %s\n' "$1"; exit 0; }

# Everything, including its files, lives in its own namespaces: however this script ends, nothing is left behind.
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
mkfifo "$scratch/line.in" "$scratch/line.out" "$scratch/monitor.in" "$scratch/monitor.out"

# --- the guest: two CPUs, the second for the injector alone ---
network=()
for port in 1 2; do
	network+=(-netdev "tap,id=net$port,ifname=port$port,script=no,downscript=no,vnet_hdr=off"
		-device "pcie-root-port,id=root$port,slot=$port,chassis=$port"
		-device "$device,bus=root$port,netdev=net$port,mac=52:54:00:00:00:0$port$options")
done
# A session of its own with the greatest share: the scheduler divides the processors among sessions first, so other work
# on this machine would else leave the guest too little time, whatever its nice value.
# shellcheck disable=SC2016
setsid sh -c 'echo -20 2>/dev/null >/proc/self/autogroup; exec "$@"' sh nice -n -20 timeout -k 2 540 qemu-system-x86_64 -machine q35,accel=tcg -cpu max -smp 2 -m 1024 \
	-nodefaults -no-reboot -display none -device intel-iommu,caching-mode=on "${network[@]}" \
	-chardev "file,id=console,path=$scratch/console" -serial chardev:console \
	-chardev "pipe,id=line,path=$scratch/line" -serial chardev:line \
	-chardev "pipe,id=monitor,path=$scratch/monitor" -mon chardev=monitor \
	-kernel "$prepared"/kernel/boot/vmlinuz-* -initrd "$scratch/initramfs" \
	-append "console=ttyS0 quiet panic=-1 no_timer_check intel_iommu=on iommu=pt hugepages=128 isolcpus=1 iomem=relaxed" \
	>"$scratch/qemu" 2>&1 </dev/null &
guest=$!
at_exit kill "$guest"
exec 3<>"$scratch/line.in" 4<>"$scratch/line.out" 5<>"$scratch/monitor.in" 6<>"$scratch/monitor.out"
link() { echo "set_link net$1 $2" >&5; } # link PORT on|off
alive() { kill -0 "$guest" 2>/dev/null; }
said() { grep -q "$1" "$scratch/console" || ! alive; }

# guest SECONDS COMMAND: runs it in the guest; its output is in $answer; returns its exit code.
commands=0
guest() {
	local part line="" deadline=$((SECONDS + $1))
	commands=$((commands + 1))
	printf '%d %s\n' "$commands" "$2" >&3
	answer=
	while [ $SECONDS -lt $deadline ] && alive; do
		if ! read -rt 1 part <&4; then # an incomplete line so far
			line+=$part
			continue
		fi
		line+=$part
		line=${line%$'\r'}
		case $line in
		"END $commands "*) return "${line##* }" ;;
		"END "*) answer= ;; # of a command that had timed out
		*) answer+=$line$'\n' ;;
		esac
		line=
	done
	return 124
}

# --- the hosts at either end ---
taps() { ip link show port1 && ip link show port2 || ! alive; }
wait_for 20 taps && alive || bail "QEMU starts" "$(cat "$scratch/qemu")"
port=1
for name in a b; do
	ip netns add "hw-$name"
	ip netns exec "hw-$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	ip link set "port$port" netns "hw-$name" name app0
	ip -n "hw-$name" addr add "10.77.0.$port/24" dev app0
	ip -n "hw-$name" link set app0 up
	port=$((port + 1))
done
wait_for 80 said GUEST-READY && alive || bail "the guest starts" "$(cat "$scratch/qemu" "$scratch/console")"
nics=$(sed -n "s/^NIC \([^ ]*\) $pci vfio-pci.*/\1/p" "$scratch/console")
[ "$(wc -w <<<"$nics")" -eq 2 ] && pass "two $device are bound to vfio-pci" ||
	bail "two $device are bound to vfio-pci" "$(cat "$scratch/console")"
