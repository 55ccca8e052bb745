/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a shared matrix: its disk space and its mapping. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "latency_store_priv.h"

enum {
	RESERVED_AT_ONCE = 1 << 12, /* number of pairs whose disk space is allocated at once: 0.4 MB */
	LOCK_WAIT_S = 10,           /* a batch takes milliseconds: a writer that holds the lock longer is stopped */
};

int latency_store_allocate(int fd, size_t offset, size_t bytes)
{
	int code;

	do {
		code = fallocate(fd, 0, (off_t)offset, (off_t)bytes) == 0 ? 0 : errno;
	} while (code == EINTR);
	return code == EOPNOTSUPP ? 0 : -code;
}

int latency_store_reserve(struct latency_matrix *matrix, uint32_t position)
{
	uint32_t count = RESERVED_AT_ONCE;
	int code;

	if (position < matrix->reserved)
		return 0;
	if (count > matrix->pair_capacity - position)
		count = (uint32_t)matrix->pair_capacity - position;
	code = latency_store_allocate(matrix->fd,
				      (size_t)((char *)latency_store_block(matrix, position) - (char *)matrix->map),
				      count * matrix->block_bytes);
	matrix->reserved = code ? 0 : position + count;
	return code;
}

int latency_store_reserve_hops(struct latency_matrix *matrix)
{
	int code;

	if (matrix->hops_reserved)
		return 0;
	code = latency_store_allocate(matrix->fd, (size_t)((char *)matrix->hops - (char *)matrix->map),
				      matrix->hop_capacity * sizeof *matrix->hops);
	matrix->hops_reserved = !code;
	return code;
}

void latency_store_unmap(struct latency_matrix *matrix)
{
	if (matrix->map)
		munmap(matrix->map, matrix->map_bytes);
	close(matrix->fd);
	if (matrix->lock_fd >= 0)
		close(matrix->lock_fd);
}

/* True if the folder of this path belongs to the user, and nobody else but root may write there. */
static bool folder_is_of(const char *path, uid_t user)
{
	char *copy = strdup(path);
	struct stat status;
	bool own = copy && stat(dirname(copy), &status) == 0 && status.st_uid == user && !(status.st_mode & 022);

	free(copy);
	return own;
}

int latency_store_open(const char *path, bool writable, struct error *err)
{
	int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0) {
		error_set(err, errno, "%s: cannot open: %s", path, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		error_set(err, EINVAL, "%s: expected a live matrix, found no regular file", path);
	} else if (status.st_mode & 022) {
		error_set(err, EPERM, "%s: others than its owner may write to it; chmod go-w, or remove it", path);
	} else if (status.st_uid != geteuid() && status.st_uid != 0 && !folder_is_of(path, status.st_uid)) {
		error_set(err, EPERM,
			  "%s: belongs to user %u, who may be a stranger: expected your own file, root's, or one in a "
			  "folder to which only its owner may write",
			  path, (unsigned)status.st_uid);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int latency_store_open_lock(const char *path, int matrix_fd, struct error *err)
{
	struct stat matrix, lock;
	char name[4096];
	int fd;

	snprintf(name, sizeof name, "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || fstat(matrix_fd, &matrix) != 0 || fstat(fd, &lock) != 0)
		error_set(err, errno, "%s: cannot open: %s", name, strerror(errno));
	else if (lock.st_uid != matrix.st_uid &&
		 (lock.st_uid != geteuid() || fchown(fd, matrix.st_uid, (gid_t)-1) != 0))
		error_set(err, EPERM, "%s: belongs to user %u, the matrix to user %u; remove it", name,
			  (unsigned)lock.st_uid, (unsigned)matrix.st_uid);
	else if (!S_ISREG(lock.st_mode) || lock.st_mode & 077)
		error_set(err, EPERM, "%s: others than its owner may lock it; chmod 600, or remove it", name);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int latency_store_lock(int fd, struct error *err)
{
	static const struct timespec nap = {.tv_nsec = NS_PER_MS};
	struct ns until = {ns_now_monotonic().v + LOCK_WAIT_S * NS_PER_S};

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(err, errno, "cannot lock the live matrix: %s", strerror(errno));
		if (ns_now_monotonic().v > until.v)
			return error_set(err, EBUSY,
					 "cannot lock the live matrix: another writer has held its lock for %d s",
					 LOCK_WAIT_S);
		nanosleep(&nap, NULL);
	}
	return 0;
}
