/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

struct nic {
	char name[64], driver[64], pci[64], operstate[32];
	int64_t numa_node, width, width_maximum, speed_Mbps;
	char link_speed[32], link_speed_maximum[32];
	struct nic_settings settings;
};

struct nic_scan {
	unsigned int ports, bound;
};

static void read_pci(const struct doctor *doctor, const char *device, struct nic *nic)
{
	nic->numa_node = nic->width = nic->width_maximum = -1;
	doctor_read_integer(doctor, &nic->numa_node, "%s/numa_node", device);
	doctor_read_integer(doctor, &nic->width, "%s/current_link_width", device);
	doctor_read_integer(doctor, &nic->width_maximum, "%s/max_link_width", device);
	doctor_read(doctor, nic->link_speed, sizeof nic->link_speed, "%s/current_link_speed", device);
	doctor_read(doctor, nic->link_speed_maximum, sizeof nic->link_speed_maximum, "%s/max_link_speed", device);
}

static void read_nic(const struct doctor *doctor, const char *name, struct nic *nic)
{
	char device[192];

	*nic = (struct nic){.speed_Mbps = -1};
	snprintf(nic->name, sizeof nic->name, "%s", name);
	snprintf(device, sizeof device, "/sys/class/net/%.63s/device", name);
	doctor_link_name(doctor, nic->driver, sizeof nic->driver, "%s/driver", device);
	doctor_link_name(doctor, nic->pci, sizeof nic->pci, "%s", device);
	doctor_read(doctor, nic->operstate, sizeof nic->operstate, "/sys/class/net/%s/operstate", name);
	doctor_read_integer(doctor, &nic->speed_Mbps, "/sys/class/net/%s/speed", name);
	read_pci(doctor, device, nic);
	nic_settings_ask(doctor, name, &nic->settings);
}

static const char sfp_fix[] = "options ixgbe allow_unsupported_sfp=1 in /etc/modprobe.d, then reload the driver";

static bool is_ixgbe(const struct nic *nic)
{
	return strcmp(nic->driver, "ixgbe") == 0;
}

static void check_driver(struct doctor *doctor, const struct nic *nic)
{
	char speed[40] = "speed unknown";

	if (nic->speed_Mbps > 0)
		snprintf(speed, sizeof speed, "%" PRId64 " Mb/s", nic->speed_Mbps);
	doctor_add(doctor, "nic", FINDING_OK, is_ixgbe(nic) ? "x520-firmware" : "kernel", NULL,
		   "%s: driver %s, firmware %s, link %s, %s", nic->name, nic->driver[0] ? nic->driver : "unknown",
		   nic->settings.firmware[0] ? nic->settings.firmware : "unknown",
		   nic->operstate[0] ? nic->operstate : "unknown", speed);
}

/*
 * The driver's name does not tell whether a NIC stamps all packets or only those of PTP: ixgbe also serves the X550,
 * which stamps every packet.
 */
static void check_stamps(struct doctor *doctor, const struct nic *nic)
{
	static const char fix[] =
		"use the CPU's time stamp counter (default), or probe in PTP mode with a DPDK that is built for it";
	int stamps = nic->settings.stamps;

	if (stamps == STAMPS_ALL)
		doctor_add(doctor, "nic-stamps", FINDING_OK, "x520-timestamps", NULL,
			   "%s: stamps every received packet", nic->name);
	else if (stamps == STAMPS_NONE)
		doctor_add(doctor, "nic-stamps", FINDING_OK, "x520-timestamps", NULL,
			   "%s: stamps nothing: the CPU's time stamp counter is used", nic->name);
	else if (stamps == STAMPS_PTP || is_ixgbe(nic))
		doctor_add(doctor, "nic-stamps", FINDING_WARN, "x520-timestamps", fix, "%s: %s", nic->name,
			   !is_ixgbe(nic)         ? "stamps PTP packets only"
			   : stamps == STAMPS_PTP ? "stamps PTP packets only, one at a time"
						  : "if an 82599 or X540: stamps PTP packets only, one at a time");
}

static void check_sfp(struct doctor *doctor, const struct nic *nic)
{
	char text[16] = "", fix[128];

	if (!is_ixgbe(nic) || strcmp(nic->operstate, "up") == 0)
		return;
	if (doctor_read(doctor, text, sizeof text, "/sys/class/net/%s/flags", nic->name) &&
	    !(strtoul(text, NULL, 16) & IFF_UP)) {
		snprintf(fix, sizeof fix, "ip link set %s up, then look again", nic->name);
		doctor_add(doctor, "sfp", FINDING_WARN, "x520-sfp", fix,
			   "%s is switched off, so it is not known whether ixgbe accepts its SFP+ module", nic->name);
		return;
	}
	/* Some kernels, such as Debian 12's, do not show this parameter. */
	text[0] = '\0';
	doctor_read(doctor, text, sizeof text, "/sys/module/ixgbe/parameters/allow_unsupported_sfp");
	if (text[0] != '1' && text[0] != 'Y')
		doctor_add(doctor, "sfp", FINDING_WARN, "x520-sfp", sfp_fix,
			   "%s has no link: no cable, or an SFP+ module that is not coded for Intel, which ixgbe "
			   "refuses%s",
			   nic->name, text[0] ? "" : " unless told otherwise");
}

static void check_pcie(struct doctor *doctor, const struct nic *nic)
{
	char fix[160];

	if (nic->width <= 0 || nic->width_maximum <= 0)
		return;
	if (nic->width == nic->width_maximum && strcmp(nic->link_speed, nic->link_speed_maximum) == 0) {
		doctor_add(doctor, "pcie", FINDING_OK, "x520-pcie", NULL, "%s: x%" PRId64 " at %s, its maximum",
			   nic->name, nic->width, nic->link_speed);
		return;
	}
	snprintf(fix, sizeof fix,
		 "use a slot with %" PRId64 " lanes that are wired, at %s: lspci -s %.40s -vv | grep Lnk",
		 nic->width_maximum, nic->link_speed_maximum, nic->pci);
	doctor_add(doctor, "pcie", FINDING_WARN, "x520-pcie", fix,
		   "%s: x%" PRId64 " at %s of x%" PRId64 " at %s: an 82599 with two ports needs x8 at 5 GT/s",
		   nic->name, nic->width, nic->link_speed, nic->width_maximum, nic->link_speed_maximum);
}

/* The kernel shows these files only for links that can enter a power-saving state. */
static void check_aspm(struct doctor *doctor, const struct nic *nic)
{
	int64_t l0s = 0, l1 = 0;
	bool told = doctor_read_integer(doctor, &l0s, "/sys/bus/pci/devices/%s/link/l0s_aspm", nic->pci);
	char fix[160];

	told |= doctor_read_integer(doctor, &l1, "/sys/bus/pci/devices/%s/link/l1_aspm", nic->pci);
	if (!nic->pci[0] || !told)
		return;
	if (!l0s && !l1) {
		doctor_add(doctor, "aspm", FINDING_OK, "x520-pcie", NULL, "%s: its PCIe link does not sleep",
			   nic->name);
		return;
	}
	snprintf(fix, sizeof fix, "echo 0 > /sys/bus/pci/devices/%.40s/link/%s (for good: pcie_aspm=off)", nic->pci,
		 l1 ? "l1_aspm" : "l0s_aspm");
	doctor_add(doctor, "aspm", FINDING_WARN, "x520-pcie", fix,
		   "%s: its PCIe link may sleep (ASPM%s%s): the packet that wakes it waits", nic->name,
		   l0s ? " L0s" : "", l1 ? " L1" : "");
}

static void check_pauses(struct doctor *doctor, const struct nic *nic)
{
	char fix[128];

	if (nic->settings.rx_pause < 0)
		return;
	snprintf(fix, sizeof fix, "ethtool -A %s autoneg off rx off tx off", nic->name);
	if (nic->settings.rx_pause || nic->settings.tx_pause)
		doctor_add(doctor, "flow-control", FINDING_WARN, "x520-flow-control", fix,
			   "%s: pause frames are on (rx %s, tx %s): a slow receiver stops the sender, which adds "
			   "an unknown delay",
			   nic->name, nic->settings.rx_pause ? "on" : "off", nic->settings.tx_pause ? "on" : "off");
	else
		doctor_add(doctor, "flow-control", FINDING_OK, "x520-flow-control", NULL, "%s: pause frames are off",
			   nic->name);
}

static void check_offloads(struct doctor *doctor, const struct nic *nic)
{
	const struct nic_settings *settings = &nic->settings;
	char fix[128];

	snprintf(fix, sizeof fix, "ethtool -K %s gro off lro off tso off gso off", nic->name);
	if (settings->lro == 1 || settings->gro == 1 || settings->tso == 1 || settings->gso == 1)
		doctor_add(doctor, "offloads", FINDING_WARN, "x520-queues", fix,
			   "%s: %s%s%s%son: packets are merged or split before they are measured", nic->name,
			   settings->lro == 1 ? "LRO " : "", settings->gro == 1 ? "GRO " : "",
			   settings->tso == 1 ? "TSO " : "", settings->gso == 1 ? "GSO " : "");
	else if (settings->gro == 0)
		doctor_add(doctor, "offloads", FINDING_OK, "x520-queues", NULL, "%s: no merging, no segmentation",
			   nic->name);
}

/* ixgbe has no adaptive flag: "rx-usecs 1" means its dynamic mode, which is the default. */
static void check_coalescing(struct doctor *doctor, const struct nic *nic)
{
	const struct nic_settings *settings = &nic->settings;
	char fix[128];

	if (settings->rx_usecs < 0)
		return;
	snprintf(fix, sizeof fix, "ethtool -C %s %srx-usecs 0", nic->name,
		 settings->adaptive_rx == 1 ? "adaptive-rx off " : "");
	if (settings->adaptive_rx == 1 || (is_ixgbe(nic) && settings->rx_usecs == 1))
		doctor_add(doctor, "coalescing", FINDING_WARN, "x520-queues", fix,
			   "%s: interrupts are delayed by a time that changes with the load (this affects Linux "
			   "applications on this port; DPDK polls)",
			   nic->name);
	else if (settings->rx_usecs > 0)
		doctor_add(doctor, "coalescing", FINDING_WARN, "x520-queues", fix,
			   "%s: interrupts are delayed by up to %d us (this affects Linux applications on this port; "
			   "DPDK polls)",
			   nic->name, settings->rx_usecs);
	else
		doctor_add(doctor, "coalescing", FINDING_OK, "x520-queues", NULL, "%s: interrupts are not delayed",
			   nic->name);
}

static void count_queue(struct doctor *doctor, const char *name, void *context)
{
	(void)doctor;
	*(int *)context += strncmp(name, "rx-", 3) == 0;
}

/*
 * Returns the number of receive queues, from the driver or else from the kernel (a bridge or tap has no channels); 0 =
 * not known.
 */
static int count_queues(struct doctor *doctor, const struct nic *nic)
{
	const struct nic_settings *settings = &nic->settings;
	char folder[128];
	int count = 0;

	if (settings->combined >= 0 || settings->rx_queues >= 0)
		return (settings->combined > 0 ? settings->combined : 0) +
		       (settings->rx_queues > 0 ? settings->rx_queues : 0);
	snprintf(folder, sizeof folder, "/sys/class/net/%.63s/queues", nic->name);
	doctor_each(doctor, folder, count_queue, &count);
	return count;
}

/*
 * Our ports have one queue, and the socket of af_xdp receives from the first queue only. If an interface has more
 * queues, lib/dp opens it with af_packet instead. The single socket of af_packet receives from all queues, in the order
 * in which the CPUs of the queues deliver.
 */
static void check_queues(struct doctor *doctor, const struct nic *nic)
{
	int count = count_queues(doctor, nic);
	char fix[128];

	if (count == 1)
		doctor_add(doctor, "queues", FINDING_OK, "x520-queues", NULL,
			   "%s: one receive queue: packets stay in order, and af_xdp receives all of them", nic->name);
	if (count <= 1)
		return;
	if (nic->settings.combined > 0)
		snprintf(fix, sizeof fix, "ethtool -L %s combined 1", nic->name);
	else if (nic->settings.rx_queues > 0)
		snprintf(fix, sizeof fix, "ethtool -L %s rx 1 tx 1", nic->name);
	else
		snprintf(fix, sizeof fix, "create %s again with one queue (ip link add: numrxqueues 1)", nic->name);
	doctor_add(doctor, "queues", FINDING_WARN, "x520-queues", fix,
		   "%s: %d receive queues: af_xdp is not used, as it would receive from the first one only; with "
		   "af_packet, flows overtake each other (DPDK's own drivers use one queue)",
		   nic->name, count);
}

/*
 * With several queues, ixgbe moves a TCP flow to the queue of the CPU that sends into it (ATR), and the flow's packets
 * overtake each other. Perfect filters (ntuple) prevent that and give each flow one queue. On other drivers the flag
 * may be off because the driver lacks the feature.
 */
static void check_filters(struct doctor *doctor, const struct nic *nic)
{
	char fix[128];

	if (!is_ixgbe(nic) || nic->settings.ntuple != 0 || count_queues(doctor, nic) <= 1)
		return;
	snprintf(fix, sizeof fix, "ethtool -K %s ntuple on", nic->name);
	doctor_add(doctor, "queues", FINDING_WARN, "x520-queues", fix,
		   "%s: ntuple filters are off: ixgbe moves TCP flows between the queues, and no flow can be steered "
		   "to a queue",
		   nic->name);
}

static void check_node(struct doctor *doctor, const struct nic *nic)
{
	cpu_set_t isolated, local;
	char list[1024], fix[128];

	if (nic->numa_node < 0 || !doctor_isolated(doctor, &isolated) || CPU_COUNT(&isolated) == 0 ||
	    !doctor_read(doctor, list, sizeof list, "/sys/devices/system/node/node%" PRId64 "/cpulist",
			 nic->numa_node) ||
	    !doctor_parse_cpus(list, &local))
		return;
	snprintf(fix, sizeof fix, "isolate CPUs of %.60s", list);
	if (cpus_meet(&isolated, &local))
		doctor_add(doctor, "nic-numa", FINDING_OK, "memory", NULL,
			   "%s is on node %" PRId64 ", which has isolated CPUs", nic->name, nic->numa_node);
	else
		doctor_add(doctor, "nic-numa", doctor_serious(doctor), "memory", fix,
			   "%s is on node %" PRId64 ", the isolated CPUs are not: every packet crosses the socket link",
			   nic->name, nic->numa_node);
}

static void scan_interface(struct doctor *doctor, const char *name, void *context)
{
	struct nic_scan *scan = context;
	struct nic nic;

	if (doctor->port ? strcmp(name, doctor->port) != 0 : !doctor_exists(doctor, "/sys/class/net/%s/device", name))
		return;
	scan->ports++;
	read_nic(doctor, name, &nic);
	check_driver(doctor, &nic);
	check_stamps(doctor, &nic);
	check_sfp(doctor, &nic);
	check_pcie(doctor, &nic);
	check_aspm(doctor, &nic);
	check_pauses(doctor, &nic);
	check_offloads(doctor, &nic);
	check_coalescing(doctor, &nic);
	check_queues(doctor, &nic);
	check_filters(doctor, &nic);
	check_node(doctor, &nic);
}

/* If ixgbe refuses an 82599's SFP+ module at load time, the NIC has neither interface nor driver. */
static void check_driverless(struct doctor *doctor, const char *name)
{
	char vendor[16], device[16];

	if (doctor_read(doctor, vendor, sizeof vendor, "/sys/bus/pci/devices/%s/vendor", name) &&
	    doctor_read(doctor, device, sizeof device, "/sys/bus/pci/devices/%s/device", name) &&
	    strcmp(vendor, "0x8086") == 0 && strcmp(device, "0x10fb") == 0)
		doctor_add(doctor, "sfp", FINDING_WARN, "x520-sfp", sfp_fix,
			   "%s, an 82599, has no driver: does dmesg report an unsupported SFP+ module?", name);
}

/* Reports Ethernet controllers that are bound to DPDK, and those without a driver. */
static void scan_pci(struct doctor *doctor, const char *name, void *context)
{
	struct nic_scan *scan = context;
	char class[16], driver[64], device[128];
	struct nic nic = {0};

	if (!doctor_read(doctor, class, sizeof class, "/sys/bus/pci/devices/%s/class", name) ||
	    strncmp(class, "0x0200", 6) != 0)
		return;
	if (!doctor_link_name(doctor, driver, sizeof driver, "/sys/bus/pci/devices/%s/driver", name)) {
		check_driverless(doctor, name);
		return;
	}
	if (strcmp(driver, "vfio-pci") != 0 && strcmp(driver, "igb_uio") != 0 && strcmp(driver, "uio_pci_generic") != 0)
		return;
	scan->bound++;
	snprintf(device, sizeof device, "/sys/bus/pci/devices/%.63s", name);
	snprintf(nic.name, sizeof nic.name, "%s", name);
	snprintf(nic.pci, sizeof nic.pci, "%s", name);
	read_pci(doctor, device, &nic);
	doctor_add(doctor, "nic", FINDING_OK, "iommu", NULL, "%s is bound to %s, for DPDK", name, driver);
	check_pcie(doctor, &nic);
	check_aspm(doctor, &nic);
	check_node(doctor, &nic);
}

void doctor_check_nic(struct doctor *doctor)
{
	struct nic_scan scan = {0};

	doctor_each(doctor, "/sys/class/net", scan_interface, &scan);
	if (!doctor->port)
		doctor_each(doctor, "/sys/bus/pci/devices", scan_pci, &scan);
	if (doctor->purpose == FINDINGS_FOR_NIC && scan.bound < 2 && !doctor->port)
		doctor_add(doctor, "nic", FINDING_WARN, "iommu",
			   "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0 0000:03:00.1",
			   "%u port%s bound to DPDK; an injector needs two", scan.bound, number_s(scan.bound));
	if (scan.ports + scan.bound == 0)
		doctor_add(doctor, "nic", doctor_serious(doctor), "kernel", "nomora lab up (virtual hosts need no NIC)",
			   "no network hardware");
}
