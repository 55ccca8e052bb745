#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora doctor on hosts simulated by files: a good one, and the same with one error at a time.
. "$(dirname "$0")/lib.sh"

host=$scratch/host
# put PATH TEXT...: writes a file of the host
put() {
	[ -d "$host/${1%/*}" ] || mkdir -p "$host/${1%/*}"
	printf '%s\n' "${@:2}" >"$host/$1"
}
link() { mkdir -p "$host/${1%/*}" && ln -sfn "$2" "$host/$1"; }

# Four CPUs, two of them isolated; an X520 bound to ixgbe on node 0, another given to DPDK.
build_host() {
	local cpu cpus=sys/devices/system/cpu
	put proc/cpuinfo 'processor	: 0' 'microcode	: 0xb000040' 'flags		: fpu tsc msr constant_tsc nonstop_tsc sse2'
	put proc/meminfo 'MemTotal:       65536000 kB' 'MemAvailable:   60000000 kB'
	put proc/stat 'cpu  1000 0 1000 100000 0 0 0 0 0 0'
	put proc/loadavg '0.10 0.10 0.10 1/100 1234'
	put proc/self/status 'Name:	nomora' 'CapEff:	000001ffffffffff'
	put proc/self/limits 'Limit                     Soft Limit           Hard Limit           Units' \
		'Max open files            65536                65536                files' \
		'Max locked memory         unlimited            unlimited            bytes'
	put proc/self/ns/net x
	put proc/net/protocols 'protocol  size sockets' 'XDP        960      0' 'PACKET    1472      2'
	put proc/irq/24/smp_affinity_list 0-1
	put proc/77/comm memcached
	put proc/sys/kernel/nmi_watchdog 0
	put proc/sys/kernel/soft_watchdog 1
	put proc/sys/kernel/watchdog_cpumask 0-1
	put proc/sys/kernel/timer_migration 1
	put $cpus/vulnerabilities/meltdown 'Mitigation: PTI'
	put $cpus/vulnerabilities/mds 'Vulnerable: Clear CPU buffers attempted, no microcode'
	put $cpus/vulnerabilities/tsa 'Not affected'
	put dev/net/tun x
	put usr/lib/x86_64-linux-gnu/librte_eal.so.23 x
	put sys/devices/system/clocksource/clocksource0/current_clocksource tsc
	put sys/devices/system/cpu/online 0-3
	put sys/devices/system/cpu/isolated 2-3
	put sys/devices/system/cpu/nohz_full 2-3
	put sys/devices/system/cpu/smt/active 0
	for cpu in 0 1 2 3; do
		put sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor performance
		put sys/devices/system/cpu/cpu$cpu/cpuidle/state1/latency 2
		put sys/devices/system/cpu/cpu$cpu/cpuidle/state1/name C1
		put sys/devices/system/cpu/cpu$cpu/cpuidle/state2/latency 133
		put sys/devices/system/cpu/cpu$cpu/cpuidle/state2/name C6
		put sys/devices/system/cpu/cpu$cpu/cpuidle/state2/disable 1
	done
	put sys/devices/system/node/node0/cpulist 0-3
	put sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 1024
	put sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 1024
	put sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
	put sys/kernel/mm/ksm/run 0
	put sys/class/iommu/dmar0/x 1
	put sys/kernel/iommu_groups/1/x 1
	put sys/module/vfio_pci/x 1
	put sys/bus/pci/devices/0000:03:00.0/numa_node 0
	put sys/bus/pci/devices/0000:03:00.0/current_link_width 8
	put sys/bus/pci/devices/0000:03:00.0/max_link_width 8
	put sys/bus/pci/devices/0000:03:00.0/current_link_speed '5.0 GT/s PCIe'
	put sys/bus/pci/devices/0000:03:00.0/max_link_speed '5.0 GT/s PCIe'
	put sys/bus/pci/devices/0000:03:00.0/link/l1_aspm 0
	put sys/bus/pci/devices/0000:03:00.0/class 0x020000
	link sys/bus/pci/devices/0000:03:00.0/driver ../../drivers/ixgbe
	for port in 0000:04:00.0 0000:04:00.1; do
		put sys/bus/pci/devices/$port/class 0x020000
		link sys/bus/pci/devices/$port/driver ../../drivers/vfio-pci
	done
	put sys/class/net/enp3s0f0/operstate up
	put sys/class/net/enp3s0f0/flags 0x1003
	put sys/class/net/enp3s0f0/speed 10000
	link sys/class/net/enp3s0f0/device ../../../bus/pci/devices/0000:03:00.0
	put ethtool/enp3s0f0 firmware=0x61c10001 rx_pause=0 tx_pause=0 gro=0 lro=0 tso=0 gso=0 rx_usecs=0 adaptive_rx=0 stamps=1 \
		combined=1 ntuple=0
}

host=$scratch/good
build_host
host=$scratch/host
make_host() {
	rm -rf "$host"
	cp -a "$scratch/good" "$host"
}

# expect NAME EXIT CHECK LEVEL PATTERN [OPTION...]: CHECK's finding has this LEVEL and matches PATTERN
expect() {
	local name=$1 wanted=$2 finding=$3 level=$4 pattern=$5 line
	shift 5
	run "$nomora" doctor --root "$host" "$@"
	printf '%s\n' "$out" >>"$scratch/texts"
	line=$(printf '%s\n' "$out" | grep -E "^$level +$finding ")
	if [ "$code" -eq "$wanted" ] && says "$line" "$pattern"; then
		pass "$name"
	else
		fail "$name" "exit $code, wanted $wanted; wanted $level $finding $pattern" "$out" "$err"
	fi
}

# has NAME PATTERN: the last run's output contains PATTERN
has() { if says "$out" "$2"; then pass "$1"; else fail "$1" "wanted $2" "$out"; fi; }

make_host
"$nomora" doctor --root "$host" --for nic --json >"$scratch/findings"
run "$nomora" doctor --root "$host" --for nic
bad=$(printf '%s\n' "$out" | grep -E '^(warn|fail)' | grep -v nic-stamps)
[ "$code" -eq 0 ] && [ -z "$bad" ] && pass "a good host has nothing to mend" || fail "a good host" "exit $code" "$bad"
expect "the port is described" 0 nic ok 'ixgbe, firmware 0x61c10001, link up, 10000 Mb/s'
expect "an 82599's stamps" 0 nic-stamps warn 'enp3s0f0: stamps PTP packets only, one at a time'
notes=$(printf '%s\n' "$out" | sed -n 's/.*see: //p' | sort -u)
for note in $notes; do check "$note is there" test -f "$source_root/$note"; done

# wrong NAME EXIT CHECK LEVEL PATTERN PATH TEXT: the same after changing one file of the good host; with a NIC
wrong() {
	make_host
	if [ "$7" = none ]; then rm -rf "${host:?}/$6"; else put "$6" "$7"; fi
	expect "$1" "$2" "$3" "$4" "$5" --for nic
}
cpu=sys/devices/system/cpu
wrong "tsc that stops" 3 tsc fail 'nonstop_tsc' proc/cpuinfo 'flags : fpu tsc constant_tsc'
wrong "a CPU of another kind" 3 tsc fail 'no x86' proc/cpuinfo 'Features : fp asimd'
wrong "slow clock" 3 clocksource fail hpet sys/devices/system/clocksource/clocksource0/current_clocksource hpet
wrong "governor" 0 governor warn 'powersave on 1 of 4' $cpu/cpu1/cpufreq/scaling_governor powersave
wrong "deep sleep" 0 c-states warn 'C6 takes 133 us' $cpu/cpu3/cpuidle/state2/disable 0
wrong "SMT" 0 smt warn 'sibling' $cpu/smt/active 1
wrong "nothing isolated" 3 isolcpus fail 'no CPU is isolated' $cpu/isolated ''
wrong "ticks on isolated CPUs" 0 nohz_full warn 'timer tick' $cpu/nohz_full 3
wrong "no hugepages" 3 hugepages fail none sys/kernel/mm/hugepages none
wrong "hugepages in use" 0 hugepages warn '100 of 2048 MiB free' sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 50
wrong "no memory" 3 memory fail '97 MiB' proc/meminfo 'MemAvailable: 100000 kB'
wrong "always huge" 0 thp warn khugepaged sys/kernel/mm/transparent_hugepage/enabled '[always] madvise never'
wrong "merging" 0 ksm warn 'same-page' sys/kernel/mm/ksm/run 1
wrong "a hypervisor" 0 hardware warn 'virtual machine' proc/cpuinfo 'flags : constant_tsc nonstop_tsc hypervisor'
wrong "stolen time" 0 steal warn '4.76 % of CPU time was stolen' proc/stat 'cpu  0 0 0 1000 0 0 0 50 0 0'
wrong "load" 0 load warn '3.50 on 4 CPUs' proc/loadavg '3.50 1 1 1/1 1'
wrong "watchdog" 0 watchdog warn NMI proc/sys/kernel/nmi_watchdog 1
wrong "no DPDK" 3 dpdk fail 'not installed' usr/lib/x86_64-linux-gnu/librte_eal.so.23 none
wrong "no rights" 3 rights fail 'CAP_NET_ADMIN' proc/self/status 'CapEff: 0000000000000000'
wrong "no AF_XDP" 0 AF_XDP warn 'no AF_XDP' proc/net/protocols 'PACKET 1472 2'
wrong "no AF_PACKET" 3 AF_PACKET fail 'no AF_PACKET' proc/net/protocols 'XDP 960 0'
wrong "no namespaces" 3 netns fail 'no network namespaces' proc/self/ns none
wrong "no TUN" 0 tun warn '/dev/net/tun' dev/net none
wrong "no IOMMU" 3 iommu fail 'no IOMMU' sys/class/iommu none
wrong "no VFIO" 3 vfio fail 'not loaded' sys/module/vfio_pci none
wrong "a narrow slot" 0 pcie warn 'x4 at 5.0' sys/bus/pci/devices/0000:03:00.0/current_link_width 4
wrong "pause frames" 0 flow-control warn 'rx on, tx off' ethtool/enp3s0f0 'rx_pause=1
tx_pause=0'
wrong "merged packets" 0 offloads warn 'GRO TSO on' ethtool/enp3s0f0 'gro=1
tso=1'
wrong "packets that are cut after the stack" 0 offloads warn 'enp3s0f0: GSO on' ethtool/enp3s0f0 'gro=0
gso=1'
has "the line that ends it" 'fix: ethtool -K enp3s0f0 gro off lro off tso off gso off$'
wrong "ixgbe's dynamic mode, with which it starts" 0 coalescing warn 'changes with the load' ethtool/enp3s0f0 rx_usecs=1
has "the line that ends it has no word that ixgbe refuses" 'fix: ethtool -C enp3s0f0 rx-usecs 0$'
wrong "queues that RSS spreads over" 0 queues warn 'enp3s0f0: 8 receive queues: af_xdp' ethtool/enp3s0f0 'combined=8
ntuple=1'
has "the line that leaves one" 'fix: ethtool -L enp3s0f0 combined 1$'
if printf '%s\n' "$out" | grep -q ntuple; then fail "filters that are on" "$out"; else pass "filters that are on"; fi
put ethtool/enp3s0f0 combined=8 ntuple=0
expect "ixgbe's own moving of flows" 0 queues warn 'ntuple filters are off' --for nic
has "and its end" 'fix: ethtool -K enp3s0f0 ntuple on'
link sys/bus/pci/devices/0000:03:00.0/driver ../../drivers/ice
put ethtool/enp3s0f0 combined=1 rx=2 ntuple=0
expect "queues of both kinds" 0 queues warn '3 receive queues' --for nic
if printf '%s\n' "$out" | grep -q ntuple; then fail "other drivers' filters" "$out"; else pass "other drivers' filters"; fi
put ethtool/enp3s0f0 rx=4
expect "queues for receiving alone" 0 queues warn '4 receive queues' --for nic
has "and the line that leaves one of them" 'fix: ethtool -L enp3s0f0 rx 1 tx 1$'
wrong "one queue" 0 queues ok 'enp3s0f0: one receive queue' ethtool/enp3s0f0 combined=1
wrong "no word of queues" 0 coalescing ok 'are not delayed' ethtool/enp3s0f0 rx_usecs=0
if says "$out" ' queues '; then fail "is no finding" "$out"; else pass "is no finding"; fi
for queue in rx-0 rx-1 tx-0; do mkdir -p "$host/sys/class/net/enp3s0f0/queues/$queue"; done
expect "but what the kernel has of them" 0 queues warn 'enp3s0f0: 2 receive queues' --for nic
wrong "throttled interrupts" 0 coalescing warn 'up to 50 us' ethtool/enp3s0f0 rx_usecs=50
wrong "interrupts on isolated CPUs" 0 irq-affinity warn '1 of 1' proc/irq/24/smp_affinity_list 0-3
wrong "irqbalance" 0 irqbalance warn 'moves interrupts' proc/77/comm irqbalance
wrong "the NIC is on another node" 3 nic-numa fail 'node 0' sys/devices/system/node/node0/cpulist 0-1
wrong "a limit that CAP_IPC_LOCK lifts" 0 memlock ok 'limit of 8 MiB does not apply' proc/self/limits 'Max locked memory         8388608   8388608    bytes
Max open files 1024 1024 files'
put proc/self/status 'CapEff:	000001ffffffbfff'
expect "little to lock" 3 memlock fail '8 MiB' --for nic
wrong "few files" 0 files warn 'may open 256' proc/self/limits 'Max open files 256 256 files
Max locked memory unlimited unlimited bytes'
wrong "an unknown module" 0 nic ok 'link down' sys/class/net/enp3s0f0/operstate down
expect "no link, and a kernel that does not tell the SFP+ lock" 0 sfp warn 'ixgbe refuses unless told otherwise$'
put sys/module/ixgbe/parameters/allow_unsupported_sfp N
expect "SFP+ lock" 0 sfp warn 'which ixgbe refuses$'
put sys/module/ixgbe/parameters/allow_unsupported_sfp Y
run "$nomora" doctor --root "$host"
says "$out" ' sfp ' && fail "the lock is off" "$out" || pass "the lock is off"
make_host
put sys/bus/pci/devices/0000:05:00.0/class 0x020000
put sys/bus/pci/devices/0000:05:00.0/vendor 0x8086
put sys/bus/pci/devices/0000:05:00.0/device 0x10fb
expect "an 82599 without a driver" 0 sfp warn '0000:05:00.0, an 82599, has no driver'
make_host
put $cpu/isolated ''
put $cpu/online 0-1
expect "two CPUs: one of them" 3 isolcpus fail 'no CPU is isolated' --for nic
says "$out" 'isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0 ' && pass "the line that isolates it" || fail "the line that isolates it" "$out"

# Files that exist but cannot be read, or have unexpected content: the check reports it, and never "ok".
unclear() { # CHECK PATH TEXT...: PATH as a folder, then with each TEXT
	local finding=$1 path=$2 text
	shift 2
	make_host
	rm -rf "${host:?}/$path"
	mkdir -p "$host/$path"
	expect "$finding: /$path cannot be read" "${exit_code:-0}" "$finding" warn "/${path%/*}.* cannot be read or understood" --for nic
	for text; do wrong "$finding: /$path says '$text'" "${exit_code:-0}" "$finding" warn 'cannot be read or understood' "$path" "$text"; done
}
unclear smt $cpu/smt/active yes ''
unclear isolcpus $cpu/isolated all 2- 3-2
unclear nohz_full $cpu/nohz_full
unclear memory proc/meminfo 'MemAvailable: much' 'MemFree: 1 kB'
unclear thp sys/kernel/mm/transparent_hugepage/enabled sometimes ''
unclear ksm sys/kernel/mm/ksm/run maybe
unclear steal proc/stat 'cpu 1 2 3' 'intr 1'
unclear load proc/loadavg busy
unclear load $cpu/online everything ''
unclear rights proc/self/status 'CapEff: many' 'Name: x'
unclear memlock proc/self/limits 'Max locked memory some'
unclear files proc/self/limits 'Max open files -5'
unclear AF_PACKET proc/net/protocols
unclear AF_XDP proc/net/protocols
unclear watchdog proc/sys/kernel/nmi_watchdog on
unclear watchdog proc/sys/kernel/soft_watchdog on
unclear timers proc/sys/kernel/timer_migration on
unclear mitigations $cpu/vulnerabilities/mds
exit_code=3 unclear hardware proc/cpuinfo 'Features : fp'
make_host
put sys/devices/system/node/node1/cpulist ''
put proc/sys/kernel/numa_balancing 1
expect "balancing of two nodes" 0 numa warn '2 memory nodes with automatic balancing' --for nic
put proc/sys/kernel/numa_balancing x
expect "balancing that says something odd" 0 numa warn 'cannot be read or understood' --for nic

# Kernels without some feature.
wrong "no kernel with nohz_full" 0 nohz_full warn 'timer tick' $cpu/nohz_full none
has "no kernel with nohz_full: what helps" 'fix: a kernel with CONFIG_NO_HZ_FULL'
put $cpu/isolated ''
expect "and it is not suggested" 0 isolcpus warn 'no CPU is isolated'
has "isolation without nohz_full" 'fix: isolcpus=managed_irq,domain,2-3 irqaffinity=0-1 on'
wrong "nohz_full was given no list" 0 nohz_full warn 'timer tick' $cpu/nohz_full ' (null)'
wrong "no SMT" 0 smt ok 'off or absent' $cpu/smt none
wrong "no transparent hugepages" 0 thp ok 'has no transparent' sys/kernel/mm/transparent_hugepage none
wrong "no KSM" 0 ksm ok 'no same-page' sys/kernel/mm/ksm none
wrong "no watchdogs" 0 watchdog ok 'no watchdog' proc/sys/kernel none
wrong "no list of flaws" 0 mitigations ok 'of 0 CPU flaws' $cpu/vulnerabilities none
expect "no timer migration" 0 timers ok "no other CPU's timers"
wrong "an offline CPU does not count" 0 cpus ok '3 CPUs' $cpu/online 0,2-3
wrong "idle states of another machine" 0 c-states ok 'wake within 2 us' $cpu/cpu3/cpuidle/state2/latency deep
wrong "microcode and flaws" 0 mitigations ok 'of 3 CPU flaws 1 are mitigated and 1 open, microcode 0xb000040' proc/x x
wrong "soft watchdog on isolated CPUs" 0 watchdog warn 'soft lockup' proc/sys/kernel/watchdog_cpumask 0-3
wrong "timers that come to polling CPUs" 3 timers warn 'hand their timers' $cpu/isolated ''
wrong "free hugepages that are no number" 0 hugepages warn '0 of 0 MiB|0 of 2048 MiB' sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages few
for place in usr/lib64 usr/local/lib usr/local/lib/x86_64-linux-gnu; do
	wrong "DPDK moved away" 3 dpdk fail 'not installed' usr none
	put $place/librte_eal.so.23.0 x
	expect "DPDK in /$place" 0 dpdk ok 'DPDK 22.11' --for nic
done
wrong "another DPDK" 0 dpdk ok 'DPDK 22.11' usr/lib/x86_64-linux-gnu/librte_eal.so.24 x
rm "$host"/usr/lib/x86_64-linux-gnu/librte_eal.so.23
expect "only another DPDK" 0 dpdk warn 'ABI 24' --for nic

# Ports of other kinds.
wrong "a link that sleeps" 0 aspm warn 'may sleep \(ASPM L1\)' sys/bus/pci/devices/0000:03:00.0/link/l1_aspm 1
wrong "a link that cannot sleep" 0 pcie ok 'its maximum' sys/bus/pci/devices/0000:03:00.0/link none
says "$out" ' aspm ' && fail "nothing to say of its sleep" "$out" || pass "nothing to say of its sleep"
wrong "it stamps everything" 0 nic-stamps ok 'stamps every received packet' ethtool/enp3s0f0 stamps=2
wrong "it stamps nothing" 0 nic-stamps ok 'stamps nothing' ethtool/enp3s0f0 stamps=0
wrong "ixgbe, and no word of stamps" 0 nic-stamps warn 'if an 82599 or X540' ethtool/enp3s0f0 gro=0
link sys/bus/pci/devices/0000:03:00.0/driver ../../drivers/ice
put ethtool/enp3s0f0 stamps=1 adaptive_rx=1 rx_usecs=50
expect "another driver that stamps PTP" 0 nic-stamps warn 'stamps PTP packets only$'
expect "another driver's adaptive mode" 0 coalescing warn 'changes with the load'
has "and its word" 'fix: ethtool -C enp3s0f0 adaptive-rx off rx-usecs 0$'
put ethtool/enp3s0f0 rx_usecs=1
expect "one microsecond of another driver" 0 coalescing warn 'up to 1 us'
wrong "no link, since it is switched off" 0 nic ok 'link down' sys/class/net/enp3s0f0/operstate down
put sys/class/net/enp3s0f0/flags 0x1002
expect "switched off" 0 sfp warn 'is switched off'
make_host
link sys/bus/pci/devices/0000:04:00.0/driver ../../drivers/igb_uio
link sys/bus/pci/devices/0000:04:00.1/driver ../../drivers/uio_pci_generic
expect "ports under UIO are DPDK's too" 0 nic ok '0000:04:00.0 is bound to igb_uio' --for nic

make_host
put $cpu/isolated ''
expect "in the lab it is a warning" 0 isolcpus warn 'no CPU is isolated'
run "$nomora" doctor --root "$host" --brief
says "$out" '^ok' && fail "brief" "$out" || pass "brief leaves out what is in order"
if command -v jq >/dev/null; then
	run "$nomora" doctor --root "$host" --json
	printf '%s' "$out" | jq -e '.schema == "nomora.doctor/1" and .usable and .fail == 0 and
		(.findings | map(select(.level == "warn")) | length) == .warn and
		all(.findings[]; .level == "ok" or (.fix | length > 5))' >/dev/null && pass "JSON" || fail "JSON" "$out"
	for note in $(printf '%s' "$out" | jq -r '.findings[].note' | sort -u); do
		[ -f "$source_root/firmware-notes/$note.md" ] || fail "note $note is there"
	done
fi
# Stalls are measured on this machine. On a busy CPU, stalls are as long as a time slice.
"$nomora" doctor --stalls 0.05 --json >>"$scratch/findings" 2>/dev/null
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')
run "$nomora" doctor --stalls 0.05 --cpus "$cpu"
has "one CPU" "stalls +CPU $cpu: [0-9]+ stalls over 1 us in 0.0[5-9]"
[ "$(printf '%s\n' "$out" | grep -c ' stalls  *CPU')" -eq 1 ] && pass "and no other" || fail "and no other" "$out"
taskset -c "$cpu" timeout 20 sh -c 'while :; do :; done' &
busy=$!
run "$nomora" doctor --stalls 0.5 --cpus "$cpu"
kill $busy
wait $busy 2>/dev/null
has "a busy CPU" "^warn +stalls +CPU $cpu: [1-9][0-9]* stalls .* [1-9][0-9.]* % of the time, the worst [1-9][0-9]{3,}\\."
refuses "stalls of another host" 2 '--stalls measures this host' "$nomora" doctor --root "$host" --stalls 1
refuses "CPUs for nothing" 2 '--cpus needs --stalls' "$nomora" doctor --cpus 0
refuses "CPUs that are no list" 2 "--cpus: expected a list such as 2-3,5, found 'all'" "$nomora" doctor --stalls 0.01 --cpus all
refuses "a CPU that is not there" 2 "--cpus: expected CPUs that are online \([0-9,-]+\), found '0,1000'" \
	"$nomora" doctor --stalls 0.01 --cpus 0,1000
rm -rf "$host"
mkdir "$host"
expect "an empty host" 3 tsc fail 'no x86'
# The table of notes lists exactly the checks that refer to each note.
check "every check is in its note and the table, and all that they name are made" python3 - "$scratch/findings" "$source_root/firmware-notes" "$scratch/texts" <<'END'
import json, re, sys
text, made, at = open(sys.argv[1]).read(), set(), 0
while at < len(text.rstrip()):
    value, at = json.JSONDecoder().raw_decode(text, at)
    made |= {(f["note"], f["check"]) for f in value["findings"]}
    at += len(text[at:]) - len(text[at:].lstrip())
# In the text, only findings of level warn or fail name a note, two lines below.
for check, note in re.findall(r"^(?:warn|fail) +(\S+) .*\n +fix: .*\n +see: firmware-notes/(.*)\.md$", open(sys.argv[3]).read(), re.M):
    made.add((note, check))
rows = re.findall(r"^\| \[([\w-]+)\]\(([\w.-]+)\) \|.*\| (.*) \|$", open(sys.argv[2] + "/README.md").read(), re.M)
told = {(note, check) for note, _, checks in rows for check in checks.split(", ")}
print("not in the table:", sorted(made - told), "never made:", sorted(told - made))
named = set()
for note, _, _ in rows:
    line = re.search(r"^\*\*Doctor\.\*\* (.*)$", open(f"{sys.argv[2]}/{note}.md").read(), re.M)
    named |= {(note, check) for check in line[1].split(", ")} if line else set()
print("in a note and not in the table, or the other way:", sorted(named ^ told))
sys.exit(made != told or named != told or len(rows) != 13)
END
for note in "$source_root"/firmware-notes/[a-z]*.md; do
	check "$(basename "$note"): why, what shows it, sets it, undoes it, doctor's checks, source" awk '
		/^\*\*Why\.\*\*/ {part = "why"; why++} /^\*\*Shows\*\*/ {part = "shows"} /^\*\*Sets[.*,]*/ {part = "sets"; sets++} /^\*\*Source\.\*\*/ {source++}
		/^\*\*Undo\.\*\*/ {undo++} /^\*\*Doctor\.\*\*/ {doctor++}
		/^    / {lines[part]++} END {exit !(why == 1 && sets == 1 && undo == 1 && doctor == 1 && source == 1 && lines["shows"] > 0)}' "$note"
done
refuses "a root that is none" 1 '--root: expected a folder' "$nomora" doctor --root "$scratch/nowhere"
refuses "a port that does not exist" 1 "no network interface 'nope'" "$nomora" doctor --port nope

# The real kernel's values for a veth; the suggested fix is executed.
namespace=nomora-test-doctor-$$
# live NAME CHECK LEVEL PATTERN: the finding of CHECK at va
live() {
	run ip netns exec "$namespace" "$nomora" doctor --port va
	if printf '%s\n' "$out" | grep -E "^$3 +$2 " | grep -qE -- "$4"; then pass "$1"; else fail "$1" "wanted $3 $2 $4" "$out" "$err"; fi
}
# mend CHECK: runs the command that its finding suggests
mend() { ip netns exec "$namespace" sh -c "$(printf '%s\n' "$out" | sed -n "/^warn *$1 /{n;s/^ *fix: //p}")" >/dev/null 2>&1; }
if [ "$(id -u)" -eq 0 ] && command -v ethtool >/dev/null && ip netns add "$namespace" 2>/dev/null; then
	at_exit ip netns del "$namespace"
	ip -n "$namespace" link add va numrxqueues 3 numtxqueues 3 type veth peer name vb
	live "a veth with several queues" queues warn 'va: 3 receive queues'
	mend queues
	live "of which its line leaves one" queues ok 'va: one receive queue'
	live "a veth cuts packets after the stack" offloads warn 'va: TSO GSO on'
	ip netns exec "$namespace" ethtool -K va tso off
	live "GSO alone" offloads warn 'va: GSO on'
	mend offloads
	live "and is mended by its line" offloads ok 'va: no merging, no segmentation'
else
	skip "a veth" "needs root, ethtool and network namespaces"
fi
run "$nomora" doctor
{ [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; } && pass "this host" || fail "this host" "exit $code" "$err"
plan
