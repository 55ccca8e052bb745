/* SPDX-License-Identifier: BSD-3-Clause */
/* net_memif: a peer that ends while a worker is in a burst. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dp/eal.h>
#include <dp/packet.h>
#include <dp/port.h>

enum { CONNECTIONS = 20, BURST = 32, FRAME_BYTES = 1400 };

static char folder[] = "/tmp/test-memif-XXXXXX", socket_path[64];
static struct dp_pool *pool;
static atomic_bool stop;

static struct dp_port *start_port(const char *role)
{
	char name[160];
	struct dp_port_options options = {.name = name, .pool = pool};
	struct error err = {0};
	struct dp_port *port;

	snprintf(name, sizeof name, "net_memif0,role=%s,socket=%s,socket-abstract=no", role, socket_path);
	port = dp_port_open(&options, &err);
	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0, "%s", err.text);
	return port;
}

static void start_eal(unsigned int workers)
{
	struct dp_eal_options options = {.memory_MiB = 64, .workers = workers};
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	pool = dp_pool_create("pool", 4095, 2048, &err);
	cr_assert_not_null(pool, "%s", err.text);
}

static void send_back(const struct dp_port *port)
{
	struct dp_packet *packets[BURST];
	uint16_t count = dp_receive(dp_port_id(port), 0, packets, BURST);
	uint16_t sent = count ? dp_transmit(dp_port_id(port), 0, packets, count) : 0;

	dp_packets_free(packets + sent, count - sent);
	dp_transmit_poll(dp_port_id(port), 0);
}

static int work(void *port)
{
	while (!stop)
		send_back(port);
	return 0;
}

static bool is_up(const struct dp_port *port)
{
	struct dp_port_report report;

	dp_port_report(port, &report);
	return report.link_up;
}

/* Sends until something comes back, and ends with packets on their way. */
static void exchange(const struct dp_port *port)
{
	struct dp_packet *packets[BURST];
	uint16_t id = dp_port_id(port), count = 0, sent;

	while (!is_up(port))
		usleep(100);
	for (int i = 0; i < 100 || count == 0; i++) {
		cr_assert_eq(dp_packets_alloc(pool, packets, BURST), 0);
		for (int j = 0; j < BURST; j++)
			dp_packet_set_length(packets[j], FRAME_BYTES);
		sent = dp_transmit(id, 0, packets, BURST);
		dp_packets_free(packets + sent, BURST - sent);
		count = dp_receive(id, 0, packets, BURST);
		dp_packets_free(packets, count);
	}
}

static void be_peer(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (access(socket_path, F_OK) != 0)
		usleep(1000);
	start_eal(0);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct dp_port *port = start_port("client");

		exchange(port);
		dp_port_close(port);
	}
	_exit(0);
}

Test(memif, survives_peers_that_end_in_mid_burst, .timeout = 120)
{
	struct dp_port_statistics statistics;
	struct dp_port *port;
	pid_t peer;
	int status;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(socket_path, sizeof socket_path, "%s/socket", folder);
	peer = fork(); /* before EAL starts, which is once in a process */
	if (peer == 0)
		be_peer();
	start_eal(1);
	port = start_port("server");
	cr_assert_eq(dp_lcore_run(dp_eal_worker(0), work, port), 0);
	while (waitpid(peer, &status, WNOHANG) == 0) {
		dp_port_statistics(port, &statistics);
		usleep(1000);
	}
	cr_expect_eq(status, 0, "the peer ended with %d", status);
	while (is_up(port))
		usleep(1000);
	stop = true;
	dp_lcore_wait(dp_eal_worker(0));
	dp_port_close(port);
	dp_pool_free(pool);
	dp_eal_stop();
	rmdir(folder);
}
