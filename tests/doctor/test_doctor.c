/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor on hosts simulated by files: a good one, and the same with one file changed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctor/doctor.h>

#define CPU "/sys/devices/system/cpu"
#define PCI "/sys/bus/pci/devices/0000:03:00.0"

static char root[64];

/* Writes a file with one line; NULL removes the file. */
static void put(const char *path, const char *line)
{
	char whole[PATH_MAX];
	FILE *file;

	snprintf(whole, sizeof whole, "%s%s", root, path);
	if (!line) {
		cr_assert_eq(unlink(whole), 0, "%s", whole);
		return;
	}
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	cr_assert_not_null(file, "%s", whole);
	fprintf(file, "%s\n", line);
	fclose(file);
}

static void link_to(const char *path, const char *target)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof whole, "%s%s", root, path);
	cr_assert_eq(symlink(target, whole), 0, "%s", whole);
}

/* Four CPUs, two of them isolated and tickless; an X520 bound to ixgbe. */
static void make_good_host(void)
{
	static const char *const files[][2] = {
		{"/proc/cpuinfo", "flags : fpu tsc constant_tsc nonstop_tsc"},
		{"/proc/meminfo", "MemAvailable:   60000000 kB"},
		{"/proc/stat", "cpu  1000 0 1000 100000 0 0 0 0 0 0"},
		{"/proc/loadavg", "0.10 0.10 0.10 1/100 1234"},
		{"/proc/self/status", "CapEff:	000001ffffffffff"},
		{"/proc/self/limits", "Max locked memory  unlimited unlimited bytes\nMax open files 65536 65536 files"},
		{"/proc/self/ns/net", "x"},
		{"/proc/net/protocols", "protocol\nXDP 960 0\nPACKET 1472 2"},
		{"/proc/irq/24/smp_affinity_list", "0-1"},
		{"/proc/sys/kernel/nmi_watchdog", "0"},
		{"/dev/net/tun", "x"},
		{"/usr/lib/librte_eal.so.23", "x"},
		{"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"},
		{CPU "/online", "0-3"},
		{CPU "/isolated", "2-3"},
		{CPU "/nohz_full", "2-3"},
		{CPU "/smt/active", "0"},
		{CPU "/cpu3/cpufreq/scaling_governor", "performance"},
		{CPU "/cpu3/cpuidle/state1/latency", "2"},
		{"/sys/devices/system/node/node0/cpulist", "0-3"},
		{"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024"},
		{"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1024"},
		{"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"},
		{"/sys/kernel/mm/ksm/run", "0"},
		{"/sys/class/iommu/dmar0/x", "1"},
		{"/sys/kernel/iommu_groups/1/x", "1"},
		{"/sys/module/vfio_pci/x", "1"},
		{"/sys/bus/pci/drivers/ixgbe/x", "1"},
		{PCI "/numa_node", "0"},
		{PCI "/current_link_width", "8"},
		{PCI "/max_link_width", "8"},
		{PCI "/current_link_speed", "5.0 GT/s PCIe"},
		{PCI "/max_link_speed", "5.0 GT/s PCIe"},
		{PCI "/class", "0x020000"},
		{"/sys/class/net/port0/operstate", "up"},
		{"/ethtool/port0", "firmware=0x61c10001\nrx_pause=0\ntx_pause=0\ngro=0\nlro=0\nrx_usecs=0\nstamps=1\n"
				   "combined=1"},
	};

	/* Criterion runs the suite's .init as well as the test's own: the first folder would never be removed. */
	cr_assert_str_empty(root, "the host has been made already");
	strcpy(root, "/tmp/nomora-doctor-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		put(files[i][0], files[i][1]);
	link_to(PCI "/driver", "../../drivers/ixgbe");
	link_to("/sys/class/net/port0/device", "../../../bus/pci/devices/0000:03:00.0");
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

static void remove_host(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(doctor, .init = make_good_host, .fini = remove_host);

static struct findings examine(enum findings_purpose purpose, const char *port)
{
	const struct doctor_options options = {.root = root, .purpose = purpose, .port = port};
	struct findings findings = {0};
	struct error err = {0};

	cr_assert_eq(doctor_examine(&options, &findings, &err), 0, "%s", err.text);
	cr_assert_eq(findings.purpose, purpose);
	return findings;
}

/* The worst finding of a check, or NULL. */
static const struct finding *worst_of(const struct findings *findings, const char *check)
{
	const struct finding *worst = NULL;

	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].check, check) == 0 && (!worst || findings->items[i].level > worst->level))
			worst = &findings->items[i];
	return worst;
}

Test(doctor, a_good_host_has_nothing_to_fix)
{
	struct findings findings = examine(FINDINGS_FOR_LAB, NULL);

	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *finding = &findings.items[i];

		cr_expect(finding->level == FINDING_OK || strcmp(finding->check, "nic-stamps") == 0, "%s: %s",
			  finding->check, finding->found);
		cr_expect(finding->note[0] && (finding->level == FINDING_OK) == (finding->fix[0] == '\0'), "%s",
			  finding->check);
	}
	cr_assert_gt(findings.count, 30);
	findings_free(&findings);
}

Test(doctor, what_is_a_warning_in_the_lab_is_a_failure_on_a_nic)
{
	static const char *const checks[] = {"isolcpus", "hugepages", "clocksource", "memlock"};

	put(CPU "/isolated", "");
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0");
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
	put("/proc/self/limits", "Max locked memory 65536 65536 bytes");
	put("/proc/self/status", "CapEff: 0");
	put("/sys/class/iommu/dmar0/x", NULL);
	put("/sys/kernel/iommu_groups/1/x", NULL);
	for (enum findings_purpose purpose = FINDINGS_FOR_LAB; purpose <= FINDINGS_FOR_NIC; purpose++) {
		struct findings findings = examine(purpose, NULL);

		for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
			cr_expect_eq(worst_of(&findings, checks[i])->level,
				     purpose == FINDINGS_FOR_NIC ? FINDING_FAIL : FINDING_WARN, "%s", checks[i]);
		findings_free(&findings);
	}
}

Test(doctor, the_lab_needs_no_iommu_and_no_vfio)
{
	struct findings findings = examine(FINDINGS_FOR_LAB, NULL);

	cr_expect_null(worst_of(&findings, "iommu"));
	cr_expect_null(worst_of(&findings, "vfio"));
	findings_free(&findings);
}

Test(doctor, only_a_clock_that_the_kernel_offers_is_advised)
{
	static const char *const available[][2] = {{"kvm-clock", "hypervisor"}, {"kvm-clock tsc hpet", "echo tsc >"}};

	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock");
	for (size_t i = 0; i < 2; i++) {
		struct findings findings;

		put("/sys/devices/system/clocksource/clocksource0/available_clocksource", available[i][0]);
		findings = examine(FINDINGS_FOR_NIC, NULL);
		cr_expect_not_null(strstr(worst_of(&findings, "clocksource")->fix, available[i][1]), "%s",
				   available[i][0]);
		cr_expect_eq(strstr(worst_of(&findings, "clocksource")->fix, "echo") != NULL, i == 1);
		findings_free(&findings);
	}
}

struct change {
	char path[80], text[48], check[16], found[48];
	enum finding_level level;
};

static const struct change changes[] = {
	{"/proc/cpuinfo", "flags : fpu constant_tsc", "tsc", "flags missing: nonstop_tsc", FINDING_FAIL},
	{"/proc/cpuinfo", "flags : constant_tsc nonstop_tsc2", "tsc", "flags missing: nonstop_tsc", FINDING_FAIL},
	{"/proc/meminfo", "MemAvailable: 600000 kB", "memory", "585 MiB", FINDING_WARN},
	{"/proc/meminfo", "MemAvailable: 524287 kB", "memory", "511 MiB", FINDING_FAIL},
	{"/proc/meminfo", "MemAvailable: 2097152 kB", "memory", "2048 MiB", FINDING_OK},
	{"/proc/stat", "cpu 0 0 0 1000 0 0 0 6", "steal", "0.60 % of CPU time", FINDING_WARN},
	{"/proc/stat", "cpu 0 0 0 1000 0 0 0 4", "steal", "0.40 % of CPU time", FINDING_OK},
	{"/proc/loadavg", "2.01 1 1 1/1 1", "load", "2.01 on 4 CPUs", FINDING_WARN},
	{"/proc/loadavg", "2.00 1 1 1/1 1", "load", "2.00 on 4 CPUs", FINDING_OK},
	{CPU "/cpu3/cpuidle/state1/latency", "11", "c-states", "11 us", FINDING_WARN},
	{CPU "/cpu3/cpuidle/state1/latency", "10", "c-states", "within 10 us", FINDING_OK},
	{CPU "/cpu3/cpufreq/scaling_governor", "powersave", "governor", "powersave on 1 of 1", FINDING_WARN},
	{CPU "/smt/active", "1", "smt", "SMT is on", FINDING_WARN},
	{CPU "/nohz_full", "3", "nohz_full", "timer tick", FINDING_WARN},
	{CPU "/nohz_full", "1-3", "nohz_full", "without the timer tick", FINDING_OK},
	{"/proc/irq/24/smp_affinity_list", "1-2", "irq-affinity", "1 of 1 interrupts", FINDING_WARN},
	{"/proc/sys/kernel/nmi_watchdog", "1", "watchdog", "NMI", FINDING_WARN},
	{"/sys/kernel/mm/ksm/run", "1", "ksm", "same-page", FINDING_WARN},
	{"/sys/kernel/mm/ksm/run", "yes", "ksm", "cannot be read or understood", FINDING_WARN},
	{"/sys/kernel/mm/transparent_hugepage/enabled", "[always] never", "thp", "always on", FINDING_WARN},
	{PCI "/current_link_width", "4", "pcie", "x4 at 5.0 GT/s PCIe of x8", FINDING_WARN},
	{"/ethtool/port0", "rx_pause=0\ntx_pause=1", "flow-control", "rx off, tx on", FINDING_WARN},
	{"/ethtool/port0", "gro=0\nlro=1", "offloads", "LRO on", FINDING_WARN},
	{"/ethtool/port0", "combined=2", "queues", "2 receive queues", FINDING_WARN},
	{"/ethtool/port0", "stamps=2", "nic-stamps", "every received packet", FINDING_OK},
};

ParameterizedTestParameters(doctor, one_changed_file_changes_its_finding)
{
	static size_t indices[sizeof changes / sizeof changes[0]];

	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof changes / sizeof changes[0]);
}

ParameterizedTest(size_t *index, doctor, one_changed_file_changes_its_finding)
{
	const struct change *change = &changes[*index];
	const struct finding *finding;
	struct findings findings;

	put(change->path, change->text);
	findings = examine(FINDINGS_FOR_NIC, NULL);
	finding = worst_of(&findings, change->check);
	cr_assert_not_null(finding, "%s", change->check);
	cr_expect_eq(finding->level, change->level, "%s '%s': %s", change->path, change->text, finding->found);
	cr_expect_not_null(strstr(finding->found, change->found), "%s '%s': %s", change->path, change->text,
			   finding->found);
	findings_free(&findings);
}

Test(doctor, one_port_alone_is_examined_and_must_exist)
{
	const struct doctor_options options = {.root = root};
	struct findings findings;

	put("/sys/class/net/veth0/operstate", "up");
	cr_assert(doctor_has_port(&options, "veth0"));
	cr_assert_not(doctor_has_port(&options, "veth1"));
	findings = examine(FINDINGS_FOR_LAB, "veth0");
	cr_assert(strncmp(worst_of(&findings, "nic")->found, "veth0: ", 7) == 0);
	cr_assert_null(worst_of(&findings, "pcie"), "port0 is not looked at");
	findings_free(&findings);
	findings = examine(FINDINGS_FOR_LAB, NULL);
	cr_assert(strncmp(worst_of(&findings, "nic")->found, "port0: ", 7) == 0, "veth0 is no hardware");
	findings_free(&findings);
}

Test(doctor, stalls_are_measured_on_the_cpus_of_the_list)
{
	struct findings findings = {0};
	struct error err = {0};

	cr_assert_eq(doctor_measure_stalls(0.01, "all", &findings, &err), -EINVAL);
	cr_assert_eq(doctor_measure_stalls(0.01, "", &findings, &err), -EINVAL);
	cr_assert_eq(doctor_measure_stalls(0.01, "1023", &findings, &err), -EINVAL, "no such CPU");
	cr_assert_eq(findings.count, 0);
	cr_assert_eq(doctor_measure_stalls(0.01, "0", &findings, &err), 0, "%s", err.text);
	cr_assert_eq(findings.count, 1);
	cr_assert_str_eq(findings.items[0].check, "stalls");
	cr_assert_not_null(strstr(findings.items[0].found, "CPU 0: "), "%s", findings.items[0].found);
	findings_free(&findings);
}
