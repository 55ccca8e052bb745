#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora trace with real MPI programs: what is recorded has the messages that the program sends.
. "$(dirname "$0")/lib.sh"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip_all "needs mpicc and mpirun"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# build NAME: compiles an MPI program from stdin.
build() { cat >"$scratch/$1.c" && mpicc -O1 -o "$scratch/$1" "$scratch/$1.c" 2>"$scratch/mpicc" || fail "mpicc $1" "$(cat "$scratch/mpicc")"; }
# record NAME RANKS: runs it under nomora trace in $scratch/NAME.run.
record() {
	rm -rf "$scratch/$1.run"
	run "$nomora" trace -o "$scratch/$1.run" -- mpirun --oversubscribe -n "$2" "$scratch/$1"
}
# slope NAME: messages on the longest path once latency outweighs all else.
slope() {
	run "$nomora" predict --json --longest 1000000 "$scratch/$1.run"/*.trace
	[ "$code" -eq 0 ] && printf '%s' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["pieces"][-1]["messages"])' || echo "$err"
}
check_slope() {
	record "$2" "$3"
	local recorded="exit $code $err" found
	found=$(slope "$2")
	[ "$found" = "$4" ] && pass "$1" || fail "$1" "$found messages, expected $4" "$recorded"
}

build pingpong <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++) {
		if (rank == 0) {
			MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
			MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
		}
	}
	MPI_Finalize();
}
END
check_slope "100 round trips are 200 messages, one after the other" pingpong 2 200

# Each round: a ring without waiting (1 message deep), by requests, by persistent requests, by MPI_Sendrecv and from any
# source; then an allreduce and a barrier of 4 ranks (2 deep each).
build ring <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, ranks, x = 0, y, z, index;
	MPI_Request r[2], p[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
	MPI_Send_init(&x, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &p[0]);
	MPI_Recv_init(&y, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &p[1]);
	for (int i = 0; i < 10; i++) {
		MPI_Irecv(&y, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&x, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Startall(2, p);
		MPI_Waitany(2, p, &index, MPI_STATUS_IGNORE);
		MPI_Waitall(2, p, MPI_STATUSES_IGNORE);
		MPI_Sendrecv(&x, 1, MPI_INT, right, 3, &y, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
		MPI_Send(&x, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
		MPI_Wait(&r[0], MPI_STATUS_IGNORE);
		MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&x, &z, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Request_free(&p[0]);
	MPI_Request_free(&p[1]);
	MPI_Finalize();
}
END
check_slope "requests, persistent ones, any source, PROC_NULL, collectives" ring 4 80

# Two halves; in each, 10 broadcasts of 2 ranks from their second rank (1 deep) and messages in the half's numbers;
# a duplicate has its own messages. The split and the dup count as a barrier of 4 ranks (2 deep each).
build halves <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, half_rank, x = 0, y;
	MPI_Comm half, copy;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &half);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_rank(half, &half_rank);
	for (int i = 0; i < 10; i++) {
		MPI_Bcast(&x, 1, MPI_INT, 1, half);
		if (half_rank == 0)
			MPI_Send(&x, 1, MPI_INT, 1, 0, half);
		else
			MPI_Recv(&x, 1, MPI_INT, 0, 0, half, MPI_STATUS_IGNORE);
	}
	MPI_Ibarrier(half, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_SELF);
	MPI_Comm_free(&half);
	MPI_Comm_free(&copy);
	MPI_Finalize();
}
END
check_slope "communicators of some ranks" halves 4 $((2 + 2 + 10 * 2 + 1))

# Fortran: 50 round trips by mpif.h and 50 by mpi_f08 where there is that, then an allreduce of 2 ranks (1 deep).
cat >"$scratch/fortran.f95" <<'END'
program pingpong
  use mpi_f08
  implicit none
  integer :: rank, i, x, y
  type(MPI_Request) :: r(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  x = rank
  do i = 1, 50
    if (rank == 0) then
      call MPI_Send(x, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD)
      call MPI_Recv(y, 1, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
      call MPI_Recv(y, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Send(x, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD)
    end if
  end do
  call old(rank)
  call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (x /= 1) stop 1
  call MPI_Finalize()
end program
subroutine old(rank)
  implicit none
  include 'mpif.h'
  integer :: rank, i, x, y, r(2), code, statuses(MPI_STATUS_SIZE, 2)
  x = rank
  do i = 1, 50
    call MPI_Irecv(y, 1, MPI_INTEGER, 1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, r(1), code)
    if (rank == 1) call MPI_Wait(r(1), MPI_STATUS_IGNORE, code)
    call MPI_Isend(x, 1, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, r(2), code)
    call MPI_Waitall(2, r, statuses, code)
    if (y /= 1 - rank) stop 2
  end do
end subroutine
END
if command -v mpifort >/dev/null && mpifort -o "$scratch/fortran" "$scratch/fortran.f95" 2>"$scratch/mpifort"; then
	check_slope "Fortran: mpif.h and mpi_f08" fortran 2 201
else
	skip "Fortran: mpif.h and mpi_f08" "no mpifort"
fi

# Calls that fail, and receives that are too small: the program gets from each call what it gets without us.
build errors <<'END'
#include <mpi.h>
#include <stdio.h>
static int x[4], y[4], flag, done, at = MPI_UNDEFINED, places[4], less[4] = {-1};
static MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static MPI_Status status, statuses[2];
static void tell(const char *name, int code)
{
	int class = 0;
	MPI_Error_class(code, &class);
	printf("%s %d\n", name, class);
}
#define SAY(name, ...) tell(#name, MPI_##name(__VA_ARGS__))
#define BOTH(name, later, ...) SAY(name, __VA_ARGS__, MPI_COMM_WORLD), SAY(later, __VA_ARGS__, MPI_COMM_WORLD, &r[0])
static void small(int kind, const char *name)
{
	MPI_Request s;
	int code;
	MPI_Isend(x, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, &s);
	MPI_Irecv(y, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r[0]);
	do {
		flag = done = 1;
		code = kind == 0 ? MPI_Wait(&r[0], &status) : kind == 1 ? MPI_Test(&r[0], &flag, &status) :
		       kind == 2 ? MPI_Waitall(2, r, statuses) : kind == 3 ? MPI_Testall(2, r, &flag, statuses) :
		       kind == 4 ? MPI_Waitany(2, r, &at, &status) : kind == 5 ? MPI_Testany(2, r, &at, &flag, &status) :
		       kind == 6 ? MPI_Waitsome(2, r, &done, places, statuses) : MPI_Testsome(2, r, &done, places, statuses);
	} while (code == 0 && (!flag || !done));
	tell(name, code);
	MPI_Wait(&s, MPI_STATUS_IGNORE);
	r[0] = MPI_REQUEST_NULL;
}
int main(int argc, char **argv)
{
	static const char *const names[] = {"Wait", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome"};
	MPI_Comm made;
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	BOTH(Send, Isend, x, 1, MPI_INT, 99, 1), BOTH(Bsend, Ibsend, x, 1, MPI_INT, 99, 1);
	BOTH(Rsend, Irsend, x, 1, MPI_INT, 99, 1), BOTH(Ssend, Issend, x, 1, MPI_INT, 99, 1);
	SAY(Recv, x, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, &status), SAY(Irecv, x, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, &r[0]);
	SAY(Send_init, x, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, &r[0]);
	SAY(Recv_init, x, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, &r[0]);
	SAY(Sendrecv, x, 1, MPI_INT, 99, 1, y, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
	SAY(Sendrecv_replace, x, 1, MPI_INT, 99, 1, 0, 1, MPI_COMM_WORLD, &status);
	SAY(Start, &r[0]);
	SAY(Startall, -1, r);
	for (int i = 0; i < 8; i++)
		small(i, names[i]);
	BOTH(Bcast, Ibcast, x, -1, MPI_INT, 0), BOTH(Reduce, Ireduce, x, y, -1, MPI_INT, MPI_SUM, 0);
	BOTH(Allreduce, Iallreduce, x, y, -1, MPI_INT, MPI_SUM), BOTH(Scan, Iscan, x, y, -1, MPI_INT, MPI_SUM), BOTH(Exscan, Iexscan, x, y, -1, MPI_INT, MPI_SUM);
	BOTH(Gather, Igather, x, -1, MPI_INT, y, 1, MPI_INT, 0), BOTH(Scatter, Iscatter, x, 1, MPI_INT, y, -1, MPI_INT, 0);
	BOTH(Gatherv, Igatherv, x, -1, MPI_INT, y, less, places, MPI_INT, 0), BOTH(Scatterv, Iscatterv, x, less, places, MPI_INT, y, -1, MPI_INT, 0);
	BOTH(Allgather, Iallgather, x, -1, MPI_INT, y, -1, MPI_INT), BOTH(Alltoall, Ialltoall, x, -1, MPI_INT, y, -1, MPI_INT);
	BOTH(Reduce_scatter_block, Ireduce_scatter_block, x, y, -1, MPI_INT, MPI_SUM);
	SAY(Comm_split, MPI_COMM_WORLD, -7, 0, &made);
	SAY(Cart_create, MPI_COMM_WORLD, -1, x, y, 0, &made);
	SAY(Probe, 99, 0, MPI_COMM_WORLD, &status);
	SAY(File_open, MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
	MPI_Finalize();
}
END
record errors 1
recorded="exit $code
$out"
run mpirun --oversubscribe -n 1 "$scratch/errors"
[ "$recorded" = "exit $code
$out" ] && pass "a program's calls have the results that they have without us" ||
	fail "a program's calls have the results that they have without us" "$(diff <(echo "$recorded") <(echo "exit $code
$out"))"
check "which are errors" test "$(grep -c ' [1-9]' <<<"$out")" -gt 40

# Receives that are cancelled: the 2 messages, which match later ones, and a barrier of 2 ranks (1 deep) are left.
build cancel <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, x[3] = {0};
	MPI_Request r[3];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Irecv(&x[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&x[1], 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 2; i++)
		MPI_Cancel(&r[i]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Waitall(1, &r[1], MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Irecv(&x[2], 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &r[2]);
	if (rank == 1)
		MPI_Wait(&r[2], MPI_STATUS_IGNORE);
	MPI_Send(x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
	MPI_Wait(&r[2], MPI_STATUS_IGNORE);
	MPI_Finalize();
}
END
check_slope "cancelled receives" cancel 2 3

# A file written through ROMIO, whose own messages are not the program's. Opening counts no messages; a barrier is 1 deep.
build file <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, values[64] = {0};
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, argv[0][0] ? "written" : "", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, rank * 256, values, 64, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}
END
run env -C "$scratch" OMPI_MCA_io=romio321 "$nomora" trace -o "$scratch/file.run" -- mpirun --oversubscribe -n 2 "$scratch/file"
found="$(slope file)"
[ "$found" = 1 ] && pass "messages within the library are not recorded" || fail "messages within the library are not recorded" "$found" "$err"
run "$nomora" predict "$scratch/file.run"/*.trace
check "what is not modelled is named, with its share of the run" sh -c 'printf "%s" "$1" | grep -Eq "^Not modelled, .* MPI_File_close \(2 calls, .* MPI_File_write_at_all \(2 calls, .*\); together [0-9.]+ % of the run$"' - "$out"

# A rank dies by SIGKILL: what it recorded is there.
build killed <<'END'
#include <mpi.h>
#include <signal.h>
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 1000; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		raise(SIGKILL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}
END
record killed 2
[ "$code" -ne 0 ] && says "$err" 'recorded 2 ranks, .* did not reach MPI_Finalize' && pass "a killed rank: status and message" ||
	fail "a killed rank: status and message" "$code" "$err"
run "$nomora" predict --json --longest 1000000 "$scratch/killed.run"/*.trace
check "its 1,000 barriers were recorded" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
sys.exit(d["pieces"][-1]["messages"] != 1000)' "$out"

# A file that grows beyond one chunk of 4 MiB.
build many <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
	int x = 0, y;
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 200000; i++)
		MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Finalize();
}
END
record many 1
check "a long file has its 800,000 records and no more" test "$(stat -c %s "$scratch/many.run/rank-000000.trace")" -eq $((4096 + 32 * 800000))
check "and is read" "$nomora" predict "$scratch/many.run"/*.trace

build threads <<'END'
#include <mpi.h>
#include <pthread.h>
static void *other(void *none) { MPI_Barrier(MPI_COMM_SELF); return none; }
int main(int argc, char **argv)
{
	int level;
	pthread_t thread;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Barrier(MPI_COMM_WORLD);
	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	MPI_Finalize();
	return level != MPI_THREAD_MULTIPLE;
}
END
record threads 1
[ "$code" -eq 0 ] && refuses "several threads" 1 'several threads called MPI' "$nomora" predict "$scratch/threads.run"/*.trace ||
	skip "several threads" "this MPI has no MPI_THREAD_MULTIPLE"

# MPICH beside Open MPI: its recorder is taken for its launcher and for programs that are linked with it.
if command -v mpicc.mpich >/dev/null && mpicc --showme:version 2>/dev/null | grep -q 'Open MPI'; then
	for name in ring halves killed; do mpicc.mpich -O1 -o "$scratch/mpich-$name" "$scratch/$name.c" 2>/dev/null; done
	# record_mpich NAME RANKS LAUNCHER...: in $scratch/mpich-NAME.run
	record_mpich() { run "$nomora" trace -o "$scratch/mpich-$1.run" -- "${@:3}" -n "$2" "$scratch/mpich-$1"; }
	record_mpich ring 4 mpirun.mpich
	check "MPICH: requests, persistent ones, any source, PROC_NULL, collectives" test "$(slope mpich-ring)" = 80
	record_mpich halves 4 mpirun.mpich
	check "MPICH: communicators of some ranks" test "$(slope mpich-halves)" = $((2 + 2 + 10 * 2 + 1))
	if [ -x "$scratch/fortran" ] && mpifort.mpich -o "$scratch/mpich-fortran" "$scratch/fortran.f95" 2>/dev/null; then
		record_mpich fortran 2 mpirun.mpich
		check "MPICH: Fortran" test "$(slope mpich-fortran)" = 201
	fi
	record_mpich killed 2 mpirun.mpich
	check "MPICH: a killed rank" test "$(slope mpich-killed)" = 1000
	# The same by the program alone: the launcher's name says nothing.
	printf '#!/bin/sh\nexec mpirun.mpich "$@"\n' >"$scratch/start" && chmod +x "$scratch/start"
	rm -rf "$scratch/mpich-ring.run"
	record_mpich ring 4 "$scratch/start"
	check "MPICH: by the program, not by its launcher" test "$(slope mpich-ring)" = 80
	rm -rf "$scratch/mpich-ring.run"
	run "$nomora" trace -o "$scratch/mpich-ring.run" -- mpirun.mpich -n 4 sh -c "exec '$scratch/mpich-ring'"
	check "MPICH: by its launcher alone" test "$(slope mpich-ring)" = 80
	printf '#!/bin/sh\nexec mpirun.mpich -n 4 "%s"\n' "$scratch/mpich-ring" >"$scratch/hidden" && chmod +x "$scratch/hidden"
	run "$nomora" trace -o "$scratch/other.run" -- "$scratch/hidden"
	[ "$code" -eq 1 ] && says "$err" 'the program uses MPICH.*, but the recorder is for Open MPI: not recorded' &&
		says "$err" 'no rank was recorded' && ! printf '%s' "$err" | grep -qi 'segmentation\|signal' &&
		pass "a program of another MPI that a script hides" || fail "a program of another MPI that a script hides" "$code" "$err"
	run "$nomora" trace --calibrate "$scratch/model.json" -- mpirun.mpich -n 2
	check "MPICH: calibrated" grep -q '"library": "MPICH' "$scratch/model.json"
else
	skip "a program of another MPI" "needs MPICH beside Open MPI"
fi

# --calibrate against what is known of the library: its eager limit counts its own header of 56 bytes over TCP.
for limit in 8192 32768; do
	run "$nomora" trace --calibrate "$scratch/model.json" -- mpirun --oversubscribe -n 2 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_eager_limit $limit
	found=$(sed -n 's/.*"eager_bytes": \([0-9]*\).*/\1/p' "$scratch/model.json")
	[ "$code" -eq 0 ] && [ "$found" = $((limit - 56)) ] && pass "the eager limit of $limit bytes" || fail "the eager limit of $limit bytes" "$found $code $err"
done
check "latency and overheads are half of the round trip of a byte" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
half = d["round_trips"][0]["us"] / 2
assert d["round_trips"][0]["bytes"] == 1 and abs(d["latency_us"] + 2 * d["overhead_us"] - half) < 1e-6 * half
assert d["hosts"] == [sys.argv[2]] * 2 and d["library"].startswith("Open MPI") and d["gap_ns"] > 0' "$scratch/model.json" "$(uname -n)"
# 200 messages of 4 bytes, one after the other: each 2o + L + 3G.
printf '{"schema": "nomora.loggps/1", "latency_us": 3e5, "overhead_us": 2000, "gap_ns": 1e6, "eager_bytes": 99}' >"$scratch/slow.json"
run "$nomora" predict --json --model "$scratch/slow.json" "$scratch/pingpong.run"/*.trace
check "predict --model: the run time is that of the model, worked out by hand" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["model"] == {"latency_us": 3e5, "overhead_us": 2000, "gap_ns": 1e6, "eager_bytes": 99}
assert abs(d["run_time_s"] - 200 * (2 * 2e-3 + 0.3 + 3 * 1e-3)) < 0.5, d["run_time_s"]' "$out"
refuses "a model and its options" 2 '\-\-model has what' "$nomora" predict --model "$scratch/slow.json" --gap 1 "$scratch/pingpong.run"/*.trace
sed 's/0.3\|3e5/-1/' "$scratch/slow.json" >"$scratch/bad.json"
refuses "a model that cannot be" 1 'bad\.json: latency_us: ' "$nomora" predict --model "$scratch/bad.json" "$scratch/pingpong.run"/*.trace
refuses "a calibration of three ranks" 1 'exit status' "$nomora" trace --calibrate "$scratch/none.json" -- mpirun --oversubscribe -n 3
refuses "a launcher that starts nothing" 1 'did not print all its values' "$nomora" trace --calibrate "$scratch/none.json" -- true
refuses "a launcher that does not exist" 1 'no-such-mpirun' "$nomora" trace --calibrate "$scratch/none.json" -- no-such-mpirun
check "they leave no file" test ! -e "$scratch/none.json"
refuses "a folder and a calibration" 2 'expected one of' "$nomora" trace -o "$scratch/x" --calibrate "$scratch/x.json" -- true

refuses "a rank is missing" 1 'rank 0 of 4, but 3 files were given: one for each rank' "$nomora" predict "$scratch/ring.run"/rank-00000[0-2].trace
refuses "a rank comes twice" 1 'rank 0 was in .* already' "$nomora" predict "$scratch/ring.run"/rank-00000[0-2].trace "$scratch/ring.run/rank-000000.trace"
head -c 5000 "$scratch/ring.run/rank-000003.trace" >"$scratch/cut.trace"
refuses "a cut file" 1 'cut\.trace: cut: it should have [0-9]+ records' "$nomora" predict "$scratch/ring.run"/rank-00000[0-2].trace "$scratch/cut.trace"
refuses "a folder with traces" 1 'has traces already' "$nomora" trace -o "$scratch/ring.run" -- true
refuses "a program without MPI" 1 'no rank was recorded' "$nomora" trace -o "$scratch/none.run" -- true
refuses "no folder" 2 'expected one of' "$nomora" trace -- true
refuses "no command" 2 'command' "$nomora" trace -o "$scratch/none.run"
run "$nomora" trace -o "$scratch/none.run" -- sh -c 'exit 7'
[ "$code" -eq 1 ] && pass "a failed command without ranks" || fail "a failed command without ranks" "$code"
plan
