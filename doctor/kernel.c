/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* linux/capability.h */
enum { CAPABILITY_NET_ADMIN = 12, CAPABILITY_NET_RAW = 13, CAPABILITY_IPC_LOCK = 14, CAPABILITY_SYS_ADMIN = 21 };

enum { LOCKED_GOOD_MIB = 256, FILES_GOOD = 1024 };

static void check_protocol(struct doctor *doctor, const char *check, const char *protocol, enum finding_level level,
			   const char *option, const char *use)
{
	char rest[256], fix[128];

	if (!doctor_read(doctor, rest, sizeof rest, "/proc/net/protocols")) {
		doctor_unclear(doctor, check, "kernel", "/proc/net/protocols");
		return;
	}
	if (doctor_lookup(doctor, "/proc/net/protocols", protocol, rest, sizeof rest)) {
		doctor_add(doctor, check, FINDING_OK, "kernel", NULL, "the kernel has %s sockets", check);
		return;
	}
	snprintf(fix, sizeof fix, "use a kernel with %s (Debian's has it)", option);
	doctor_add(doctor, check, level, "kernel", fix, "no %s sockets: %s", check, use);
}

static void check_facilities(struct doctor *doctor)
{
	check_protocol(doctor, "AF_PACKET", "PACKET", FINDING_FAIL, "CONFIG_PACKET=y",
		       "no prober or injector on Linux interfaces, no tcpdump");
	check_protocol(doctor, "AF_XDP", "XDP", FINDING_WARN, "CONFIG_XDP_SOCKETS=y",
		       "the injector falls back to af_packet, which is slower");
	if (doctor_exists(doctor, "/proc/self/ns/net"))
		doctor_add(doctor, "netns", FINDING_OK, "kernel", NULL, "the kernel has network namespaces");
	else
		doctor_add(doctor, "netns", FINDING_FAIL, "kernel", "use a kernel with CONFIG_NET_NS=y",
			   "no network namespaces: the virtual rack needs them");
	if (doctor_exists(doctor, "/dev/net/tun"))
		doctor_add(doctor, "tun", FINDING_OK, "kernel", NULL, "/dev/net/tun is there");
	else
		doctor_add(doctor, "tun", FINDING_WARN, "kernel",
			   "modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200",
			   "no /dev/net/tun: net_tap ports and emulated NICs' host side do not work");
}

/* Reads CapEff, the effective capabilities of this process. */
static bool read_capabilities(struct doctor *doctor, uint64_t *effective)
{
	char text[64], *end;

	if (!doctor_lookup(doctor, "/proc/self/status", "CapEff", text, sizeof text))
		return false;
	*effective = strtoull(text, &end, 16);
	return end != text && *end == '\0';
}

static void check_rights(struct doctor *doctor)
{
	static const struct {
		int bit;
		const char *name;
	} wanted[] = {{CAPABILITY_NET_ADMIN, "CAP_NET_ADMIN"},
		      {CAPABILITY_NET_RAW, "CAP_NET_RAW"},
		      {CAPABILITY_IPC_LOCK, "CAP_IPC_LOCK"},
		      {CAPABILITY_SYS_ADMIN, "CAP_SYS_ADMIN"}};
	char missing[128] = "";
	uint64_t effective;

	if (!read_capabilities(doctor, &effective)) {
		doctor_unclear(doctor, "rights", "kernel", "/proc/self/status");
		return;
	}
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
		if (!(effective >> wanted[i].bit & 1))
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), " %s", wanted[i].name);
	if (missing[0])
		doctor_add(doctor, "rights", FINDING_FAIL, "kernel",
			   "sudo nomora doctor; run lab, inject and probe as root",
			   "this process lacks%s: it cannot create namespaces or open ports", missing);
	else
		doctor_add(doctor, "rights", FINDING_OK, "kernel", NULL,
			   "this process may create namespaces and open ports");
}

/* Reads the soft limit of a line such as "Max locked memory  unlimited  unlimited  bytes"; INT64_MAX = unlimited. */
static bool read_limit(struct doctor *doctor, const char *name, int64_t *limit)
{
	char rest[256], *end;

	if (!doctor_lookup(doctor, "/proc/self/limits", name, rest, sizeof rest))
		return false;
	*limit = INT64_MAX;
	if (strncmp(rest, "unlimited", 9) == 0)
		return true;
	*limit = strtoll(rest, &end, 10);
	return end != rest && *limit >= 0;
}

static void check_locked(struct doctor *doctor)
{
	uint64_t effective = 0;
	int64_t locked;

	if (!read_limit(doctor, "Max locked memory", &locked))
		doctor_unclear(doctor, "memlock", "kernel", "/proc/self/limits");
	else if (locked >> 20 >= LOCKED_GOOD_MIB)
		doctor_add(doctor, "memlock", FINDING_OK, "kernel", NULL,
			   "this process may lock as much memory as it needs");
	else if (read_capabilities(doctor, &effective) && effective >> CAPABILITY_IPC_LOCK & 1)
		doctor_add(doctor, "memlock", FINDING_OK, "kernel", NULL,
			   "this process has CAP_IPC_LOCK, so that the limit of %" PRId64 " MiB does not apply",
			   locked >> 20);
	else
		doctor_add(
			doctor, "memlock", doctor_serious(doctor), "kernel",
			"ulimit -l unlimited (for good: LimitMEMLOCK=infinity in the unit, or /etc/security/limits.d)",
			"may lock %" PRId64 " MiB of memory: af_xdp and VFIO must lock their buffers", locked >> 20);
}

static void check_files(struct doctor *doctor)
{
	int64_t files;

	if (!read_limit(doctor, "Max open files", &files))
		doctor_unclear(doctor, "files", "kernel", "/proc/self/limits");
	else if (files < FILES_GOOD)
		doctor_add(doctor, "files", FINDING_WARN, "kernel", "ulimit -n 65536",
			   "may open %" PRId64 " files: too few for hundreds of clients", files);
	else
		doctor_add(doctor, "files", FINDING_OK, "kernel", NULL,
			   "this process may open as many files as it needs");
}

/* The lab has no NIC to give to DPDK. */
static void check_iommu(struct doctor *doctor)
{
	char unsafe[8] = "";
	size_t units = doctor_each(doctor, "/sys/class/iommu", NULL, NULL);
	size_t groups = doctor_each(doctor, "/sys/kernel/iommu_groups", NULL, NULL);
	bool vfio =
		doctor_exists(doctor, "/sys/module/vfio_pci") || doctor_exists(doctor, "/sys/bus/pci/drivers/vfio-pci");

	if (doctor->purpose != FINDINGS_FOR_NIC)
		return;
	doctor_read(doctor, unsafe, sizeof unsafe, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	if (units > 0 && groups > 0)
		doctor_add(doctor, "iommu", FINDING_OK, "iommu", NULL, "IOMMU is on: %zu units, %zu groups", units,
			   groups);
	else if (unsafe[0] == 'Y' || unsafe[0] == '1')
		doctor_add(doctor, "iommu", FINDING_WARN, "iommu",
			   "add intel_iommu=on iommu=pt to the kernel's command line",
			   "no IOMMU; VFIO's unsafe mode is on: a device may write anywhere");
	else
		doctor_add(doctor, "iommu", FINDING_FAIL, "iommu",
			   "enable VT-d/AMD-Vi in the firmware set-up, then add intel_iommu=on iommu=pt (AMD: "
			   "iommu=pt) to the kernel's command line",
			   "no IOMMU: vfio-pci cannot give a NIC to DPDK (Linux interfaces need none)");
	if (vfio)
		doctor_add(doctor, "vfio", FINDING_OK, "iommu", NULL, "vfio-pci is loaded");
	else
		doctor_add(doctor, "vfio", FINDING_FAIL, "iommu", "modprobe vfio-pci",
			   "vfio-pci is not loaded: no NIC can be bound to DPDK");
}

void doctor_check_kernel(struct doctor *doctor)
{
	check_rights(doctor);
	check_locked(doctor);
	check_files(doctor);
	check_facilities(doctor);
	check_iommu(doctor);
}
