/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor.h"

#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* What ethtool tells; -1 = the driver does not say. Under --root it is read from ethtool/NAME, lines "key=value". */
struct nic_settings {
	char firmware[64];
	int rx_pause, tx_pause, gro, lro, tso, rx_usecs;
};

struct nic {
	char name[64], driver[64], pci[64], operstate[32];
	int64_t numa_node, width, width_maximum, speed_Mbps;
	char link_speed[32], link_speed_maximum[32];
	struct nic_settings settings;
};

struct nic_scan {
	unsigned int ports, bound;
};

static int ask_flag(int socket_fd, struct ifreq *request, uint32_t command)
{
	struct ethtool_value value = {.cmd = command};

	int status;

	request->ifr_data = (char *)&value;
	status = ioctl(socket_fd, SIOCETHTOOL, request);
	request->ifr_data = NULL;
	return status == 0 ? (int)value.data : -1;
}

static void ask_kernel(const char *name, struct nic_settings *settings)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};
	struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
	int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {0};
	int flags;

	if (socket_fd < 0)
		return;
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	request.ifr_data = (char *)&driver;
	if (ioctl(socket_fd, SIOCETHTOOL, &request) == 0)
		snprintf(settings->firmware, sizeof settings->firmware, "%.32s", driver.fw_version);
	request.ifr_data = (char *)&pause;
	if (ioctl(socket_fd, SIOCETHTOOL, &request) == 0) {
		settings->rx_pause = pause.rx_pause != 0;
		settings->tx_pause = pause.tx_pause != 0;
	}
	request.ifr_data = (char *)&coalesce;
	if (ioctl(socket_fd, SIOCETHTOOL, &request) == 0)
		settings->rx_usecs = (int)coalesce.rx_coalesce_usecs;
	settings->gro = ask_flag(socket_fd, &request, ETHTOOL_GGRO);
	settings->tso = ask_flag(socket_fd, &request, ETHTOOL_GTSO);
	flags = ask_flag(socket_fd, &request, ETHTOOL_GFLAGS);
	settings->lro = flags < 0 ? -1 : (flags & ETH_FLAG_LRO) != 0;
	close(socket_fd);
}

static void ask_file(const struct doctor *doctor, const char *name, struct nic_settings *settings)
{
	struct {
		const char *key;
		int *value;
	} numbers[] = {{"rx_pause", &settings->rx_pause}, {"tx_pause", &settings->tx_pause},
		       {"gro", &settings->gro},           {"lro", &settings->lro},
		       {"tso", &settings->tso},           {"rx_usecs", &settings->rx_usecs}};
	char path[128], text[64];

	snprintf(path, sizeof path, "/ethtool/%.63s", name);
	doctor_lookup(doctor, path, "firmware", settings->firmware, sizeof settings->firmware);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (doctor_lookup(doctor, path, numbers[i].key, text, sizeof text))
			*numbers[i].value = atoi(text);
}

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

	*nic = (struct nic){.settings = {"", -1, -1, -1, -1, -1, -1}, .speed_Mbps = -1};
	snprintf(nic->name, sizeof nic->name, "%s", name);
	snprintf(device, sizeof device, "/sys/class/net/%.63s/device", name);
	doctor_link_name(doctor, nic->driver, sizeof nic->driver, "%s/driver", device);
	doctor_link_name(doctor, nic->pci, sizeof nic->pci, "%s", device);
	doctor_read(doctor, nic->operstate, sizeof nic->operstate, "/sys/class/net/%s/operstate", name);
	doctor_read_integer(doctor, &nic->speed_Mbps, "/sys/class/net/%s/speed", name);
	read_pci(doctor, device, nic);
	if (doctor_is_live(doctor))
		ask_kernel(name, &nic->settings);
	else
		ask_file(doctor, name, &nic->settings);
}

static const char sfp_fix[] = "options ixgbe allow_unsupported_sfp=1 in /etc/modprobe.d, then reload the driver";

static void check_driver(struct doctor *doctor, const struct nic *nic)
{
	char text[8] = "", speed[40] = "speed unknown";

	if (nic->speed_Mbps > 0)
		snprintf(speed, sizeof speed, "%" PRId64 " Mb/s", nic->speed_Mbps);
	doctor_add(doctor, "nic", FINDING_OK, strcmp(nic->driver, "ixgbe") == 0 ? "x520-firmware" : "kernel", NULL,
		   "%s: driver %s, firmware %s, link %s, %s", nic->name, nic->driver[0] ? nic->driver : "unknown",
		   nic->settings.firmware[0] ? nic->settings.firmware : "not told",
		   nic->operstate[0] ? nic->operstate : "unknown", speed);
	if (strcmp(nic->driver, "ixgbe") != 0)
		return;
	doctor_add(doctor, "nic-stamps", FINDING_WARN, "x520-timestamps",
		   "stamp with the time stamp counter (default), or probe in PTP mode with a DPDK built for it",
		   "%s: an 82599 or X540 stamps PTP packets only, one at a time", nic->name);
	/* Older kernels, Debian 12's among them, do not tell the parameter. */
	doctor_read(doctor, text, sizeof text, "/sys/module/ixgbe/parameters/allow_unsupported_sfp");
	if (strcmp(nic->operstate, "up") != 0 && text[0] != '1' && text[0] != 'Y')
		doctor_add(doctor, "sfp", FINDING_WARN, "x520-sfp", sfp_fix,
			   "%s has no link: no cable, or a module that Intel did not code, which ixgbe refuses%s",
			   nic->name, text[0] ? "" : " unless told otherwise");
}

static void check_pcie(struct doctor *doctor, const struct nic *nic)
{
	char fix[128];

	if (nic->width <= 0 || nic->width_maximum <= 0)
		return;
	if (nic->width == nic->width_maximum && strcmp(nic->link_speed, nic->link_speed_maximum) == 0) {
		doctor_add(doctor, "pcie", FINDING_OK, "x520-pcie", NULL, "%s: x%" PRId64 " at %s, all that it can",
			   nic->name, nic->width, nic->link_speed);
		return;
	}
	snprintf(fix, sizeof fix, "move the card to a slot with %" PRId64 " lanes: lspci -s %.40s -vv | grep Lnk",
		 nic->width_maximum, nic->pci);
	doctor_add(doctor, "pcie", FINDING_WARN, "x520-pcie", fix,
		   "%s: x%" PRId64 " at %s of x%" PRId64 " at %s: two ports at 10 Gb/s need x8 at 5 GT/s", nic->name,
		   nic->width, nic->link_speed, nic->width_maximum, nic->link_speed_maximum);
}

static void check_pauses(struct doctor *doctor, const struct nic *nic)
{
	char fix[128];

	if (nic->settings.rx_pause < 0)
		return;
	snprintf(fix, sizeof fix, "ethtool -A %s autoneg off rx off tx off", nic->name);
	if (nic->settings.rx_pause || nic->settings.tx_pause)
		doctor_add(doctor, "flow-control", FINDING_WARN, "x520-flow-control", fix,
			   "%s: pause frames are on (rx %s, tx %s): a slow receiver stops the sender, delay unseen",
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
	if (settings->lro == 1 || settings->gro == 1 || settings->tso == 1)
		doctor_add(doctor, "offloads", FINDING_WARN, "x520-queues", fix,
			   "%s: %s%s%son: packets are merged or cut behind the measurement's back", nic->name,
			   settings->lro == 1 ? "LRO " : "", settings->gro == 1 ? "GRO " : "",
			   settings->tso == 1 ? "TSO " : "");
	else if (settings->gro == 0)
		doctor_add(doctor, "offloads", FINDING_OK, "x520-queues", NULL, "%s: no merging, no segmentation",
			   nic->name);
	if (settings->rx_usecs < 0)
		return;
	snprintf(fix, sizeof fix, "ethtool -C %s adaptive-rx off rx-usecs 0", nic->name);
	if (settings->rx_usecs > 1)
		doctor_add(doctor, "coalescing", FINDING_WARN, "x520-queues", fix,
			   "%s: interrupts wait up to %d us (Linux applications on this port; DPDK polls)", nic->name,
			   settings->rx_usecs);
	else
		doctor_add(doctor, "coalescing", FINDING_OK, "x520-queues", NULL, "%s: interrupts do not wait",
			   nic->name);
}

static void check_node(struct doctor *doctor, const struct nic *nic)
{
	struct cpu_set_bits isolated, local;
	char list[1024], fix[128];

	if (nic->numa_node < 0 || !doctor_isolated(doctor, &isolated) || isolated.count == 0 ||
	    !doctor_read(doctor, list, sizeof list, "/sys/devices/system/node/node%" PRId64 "/cpulist",
			 nic->numa_node) ||
	    !cpu_set_parse(list, &local))
		return;
	snprintf(fix, sizeof fix, "isolate CPUs of %.60s", list);
	if (cpu_set_meets(&isolated, &local))
		doctor_add(doctor, "nic-numa", FINDING_OK, "memory", NULL,
			   "%s is on node %" PRId64 ", which has isolated CPUs", nic->name, nic->numa_node);
	else
		doctor_add(doctor, "nic-numa", doctor_serious(doctor), "memory", fix,
			   "%s is on node %" PRId64 ", the isolated CPUs are not: every packet crosses the socket link",
			   nic->name, nic->numa_node);
}

struct irq_scan {
	const struct cpu_set_bits *isolated;
	unsigned int irqs, inside;
};

static void scan_irq(struct doctor *doctor, const char *name, void *context)
{
	struct irq_scan *scan = context;
	struct cpu_set_bits affinity;
	char list[1024];

	if (!doctor_read(doctor, list, sizeof list, "/proc/irq/%s/smp_affinity_list", name) ||
	    !cpu_set_parse(list, &affinity))
		return;
	scan->irqs++;
	scan->inside += cpu_set_meets(&affinity, scan->isolated);
}

static void check_interrupts(struct doctor *doctor)
{
	struct cpu_set_bits isolated;
	struct irq_scan scan = {.isolated = &isolated};

	if (!doctor_isolated(doctor, &isolated) || isolated.count == 0)
		return; /* said already */
	doctor_each(doctor, "/proc/irq", scan_irq, &scan);
	if (scan.inside)
		doctor_add(
			doctor, "irq-affinity", FINDING_WARN, "cores",
			"for i in /proc/irq/*/smp_affinity_list; do echo 0-1 > $i; done (with your housekeeping CPUs)",
			"%u of %u interrupts may come to isolated CPUs", scan.inside, scan.irqs);
	else
		doctor_add(doctor, "irq-affinity", FINDING_OK, "cores", NULL,
			   "none of %u interrupts may come to isolated CPUs", scan.irqs);
}

static void scan_process(struct doctor *doctor, const char *name, void *context)
{
	bool *found = context;
	char command[32];

	if (name[0] >= '0' && name[0] <= '9' && doctor_read(doctor, command, sizeof command, "/proc/%s/comm", name) &&
	    strcmp(command, "irqbalance") == 0)
		*found = true;
}

static void check_balancer(struct doctor *doctor)
{
	bool found = false;

	doctor_each(doctor, "/proc", scan_process, &found);
	if (found)
		doctor_add(doctor, "irqbalance", FINDING_WARN, "cores",
			   "systemctl disable --now irqbalance (or IRQBALANCE_BANNED_CPULIST= in its defaults)",
			   "irqbalance runs: it moves interrupts while you measure");
	else
		doctor_add(doctor, "irqbalance", FINDING_OK, "cores", NULL, "irqbalance does not run");
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
	check_pcie(doctor, &nic);
	check_pauses(doctor, &nic);
	check_offloads(doctor, &nic);
	check_node(doctor, &nic);
}

/* An 82599 whose module ixgbe refuses when it loads has neither interface nor driver. */
static void check_driverless(struct doctor *doctor, const char *name)
{
	char vendor[16], device[16];

	if (doctor_read(doctor, vendor, sizeof vendor, "/sys/bus/pci/devices/%s/vendor", name) &&
	    doctor_read(doctor, device, sizeof device, "/sys/bus/pci/devices/%s/device", name) &&
	    strcmp(vendor, "0x8086") == 0 && strcmp(device, "0x10fb") == 0)
		doctor_add(doctor, "sfp", FINDING_WARN, "x520-sfp", sfp_fix,
			   "%s, an 82599, has no driver: does dmesg tell of an unsupported SFP+ module?", name);
}

/* Ethernet controllers that DPDK has been given, and those that nobody drives. */
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
	if (strcmp(driver, "vfio-pci") != 0)
		return;
	scan->bound++;
	snprintf(device, sizeof device, "/sys/bus/pci/devices/%.63s", name);
	snprintf(nic.name, sizeof nic.name, "%s", name);
	snprintf(nic.pci, sizeof nic.pci, "%s", name);
	read_pci(doctor, device, &nic);
	doctor_add(doctor, "nic", FINDING_OK, "iommu", NULL, "%s is bound to vfio-pci: DPDK's", name);
	check_pcie(doctor, &nic);
	check_node(doctor, &nic);
}

void doctor_check_nic(struct doctor *doctor)
{
	struct nic_scan scan = {0};

	doctor_each(doctor, "/sys/class/net", scan_interface, &scan);
	if (!doctor->port)
		doctor_each(doctor, "/sys/bus/pci/devices", scan_pci, &scan);
	if (doctor->purpose == DOCTOR_NIC && scan.bound < 2 && !doctor->port)
		doctor_add(doctor, "nic", FINDING_WARN, "iommu",
			   "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0 0000:03:00.1",
			   "%u ports are bound to DPDK; an injector wants two", scan.bound);
	if (scan.ports + scan.bound == 0)
		doctor_add(doctor, "nic", doctor_serious(doctor), "kernel", "nomora lab up (virtual hosts need no NIC)",
			   "no network hardware");
	check_interrupts(doctor);
	check_balancer(doctor);
}
