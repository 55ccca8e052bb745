/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor_priv.h"

#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ask(int socket_fd, struct ifreq *request, void *command)
{
	int status;

	request->ifr_data = command;
	status = ioctl(socket_fd, SIOCETHTOOL, request);
	request->ifr_data = NULL;
	return status == 0;
}

static int ask_flag(int socket_fd, struct ifreq *request, uint32_t command)
{
	struct ethtool_value value = {.cmd = command};

	return ask(socket_fd, request, &value) ? (int)value.data : -1;
}

static enum nic_stamps ask_stamps(int socket_fd, struct ifreq *request)
{
	struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};

	if (!ask(socket_fd, request, &info))
		return STAMPS_UNKNOWN;
	if (!(info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE) || !(info.rx_filters >> 1))
		return STAMPS_NONE;
	return info.rx_filters & 1u << HWTSTAMP_FILTER_ALL ? STAMPS_ALL : STAMPS_PTP;
}

/*
 * A driver has separate receive and transmit queues, combined queues, or both. For a kind that it lacks, the maximum is
 * 0.
 */
static void ask_channels(int socket_fd, struct ifreq *request, struct nic_settings *settings)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (!ask(socket_fd, request, &channels))
		return;
	if (channels.max_combined > 0)
		settings->combined = (int)channels.combined_count;
	if (channels.max_rx > 0)
		settings->rx_queues = (int)channels.rx_count;
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
	if (ask(socket_fd, &request, &driver))
		snprintf(settings->firmware, sizeof settings->firmware, "%.32s", driver.fw_version);
	if (ask(socket_fd, &request, &pause)) {
		settings->rx_pause = pause.rx_pause != 0;
		settings->tx_pause = pause.tx_pause != 0;
	}
	if (ask(socket_fd, &request, &coalesce)) {
		settings->rx_usecs = (int)coalesce.rx_coalesce_usecs;
		settings->adaptive_rx = coalesce.use_adaptive_rx_coalesce != 0;
	}
	settings->gro = ask_flag(socket_fd, &request, ETHTOOL_GGRO);
	settings->tso = ask_flag(socket_fd, &request, ETHTOOL_GTSO);
	settings->gso = ask_flag(socket_fd, &request, ETHTOOL_GGSO);
	flags = ask_flag(socket_fd, &request, ETHTOOL_GFLAGS);
	settings->stamps = ask_stamps(socket_fd, &request);
	settings->lro = flags < 0 ? -1 : (flags & ETH_FLAG_LRO) != 0;
	settings->ntuple = flags < 0 ? -1 : (flags & ETH_FLAG_NTUPLE) != 0;
	ask_channels(socket_fd, &request, settings);
	close(socket_fd);
}

static void ask_file(const struct doctor *doctor, const char *name, struct nic_settings *settings)
{
	struct {
		const char *key;
		int *value;
	} numbers[] = {{"rx_pause", &settings->rx_pause},
		       {"tx_pause", &settings->tx_pause},
		       {"gro", &settings->gro},
		       {"lro", &settings->lro},
		       {"tso", &settings->tso},
		       {"gso", &settings->gso},
		       {"rx_usecs", &settings->rx_usecs},
		       {"stamps", &settings->stamps},
		       {"adaptive_rx", &settings->adaptive_rx},
		       {"combined", &settings->combined},
		       {"rx", &settings->rx_queues},
		       {"ntuple", &settings->ntuple}};
	char path[128], text[64];

	snprintf(path, sizeof path, "/ethtool/%.63s", name);
	doctor_lookup(doctor, path, "firmware", settings->firmware, sizeof settings->firmware);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (doctor_lookup(doctor, path, numbers[i].key, text, sizeof text))
			*numbers[i].value = atoi(text);
}

void nic_settings_ask(const struct doctor *doctor, const char *name, struct nic_settings *settings)
{
	*settings = (struct nic_settings){.rx_pause = -1,
					  .tx_pause = -1,
					  .gro = -1,
					  .lro = -1,
					  .tso = -1,
					  .gso = -1,
					  .rx_usecs = -1,
					  .adaptive_rx = -1,
					  .stamps = STAMPS_UNKNOWN,
					  .combined = -1,
					  .rx_queues = -1,
					  .ntuple = -1};
	if (doctor_is_live(doctor))
		ask_kernel(name, settings);
	else
		ask_file(doctor, name, settings);
}
