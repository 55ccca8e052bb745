/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <model/latency_live.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct latency_live_size capacity = {.hosts = 4, .racks = 2, .pairs = 8};

/* A small live matrix, made once; its bytes are copied for each input. */
static const uint8_t *whole_file(size_t *bytes)
{
	static uint8_t file[1 << 16];
	static size_t length;
	char path[64];
	FILE *in;

	snprintf(path, sizeof path, "/tmp/nomora-fuzz-live-%ld", (long)getpid());
	if (!length) {
		latency_matrix_destroy(latency_live_open(path, &capacity, NULL));
		in = fopen(path, "rb");
		length = in ? fread(file, 1, sizeof file, in) : 0;
		if (!length)
			abort();
		fclose(in);
		unlink(path);
	}
	*bytes = length;
	return file;
}

/* A damaged file is refused or read within its bounds. The first two bytes are the offset of the damage. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct latency_matrix *matrix, *copy;
	struct latency_maximum maximum;
	struct latency_entry entry;
	struct error err = {0};
	char path[64];
	size_t bytes, at;
	const uint8_t *file = whole_file(&bytes);
	uint8_t *map;
	int fd;

	if (size < 2 || size > bytes)
		return 0;
	at = (size_t)(data[0] << 8 | data[1]) % (bytes - size + 2);
	fd = memfd_create("live", 0);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		abort();
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memcpy(map, file, bytes);
	memcpy(map + at, data + 2, size - 2);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	matrix = latency_live_map(path, &err);
	if (!matrix && err.code <= 0)
		abort();
	if (matrix) {
		latency_live_maximum(matrix, 0, 1, &maximum);
		for (uint32_t i = 0; i < 4; i++) {
			const char *name = latency_matrix_host(matrix, i);

			if (name && latency_matrix_find_host(matrix, name) >= 4)
				abort();
			latency_live_rack_name(matrix, latency_live_rack_of(matrix, i));
			latency_matrix_load_pair(matrix, i, 1, &entry);
		}
		copy = latency_live_snapshot(matrix);
		latency_matrix_destroy(copy);
	}
	latency_matrix_destroy(matrix);
	munmap(map, bytes);
	close(fd);
	return 0;
}
