/* Ranks under MPI: mpirun -n 25 kiln-bench run DIR.  The same few steps as ranks_fork.c; packed
 * results travel as bytes, so all ranks run the same build on the same kind of machine. */
#include "bench/ranks.h"

#include "base/err.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

struct ranks {
	int id, count;
};

static int from_mpi(int rc)
{
	return rc == MPI_SUCCESS ? 0 : -KILN_ECLOSED;
}

int ranks_start(int *argc, char ***argv, unsigned procs, struct ranks **out)
{
	struct ranks *r = calloc(1, sizeof *r);
	int level;

	if (!r)
		return -KILN_ENOMEM;
	if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
		free(r);
		return -KILN_ECLOSED;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &r->id);
	MPI_Comm_size(MPI_COMM_WORLD, &r->count);
	if (procs != 1) { /* the launcher says how many */
		ranks_end(r);
		return -KILN_EINVAL;
	}
	*out = r;
	return 0;
}

void ranks_end(struct ranks *r)
{
	MPI_Finalize();
	free(r);
}

unsigned ranks_id(const struct ranks *r)
{
	return (unsigned)r->id;
}

unsigned ranks_count(const struct ranks *r)
{
	return (unsigned)r->count;
}

int ranks_agree(struct ranks *r, int rc)
{
	int all = 0, sent = MPI_Allreduce(&rc, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);

	return sent == MPI_SUCCESS ? all : from_mpi(sent);
}

int ranks_share(struct ranks *r, void *buf, size_t len)
{
	if (len > INT_MAX)
		return -KILN_ETOOBIG;
	return from_mpi(MPI_Bcast(buf, (int)len, MPI_BYTE, 0, MPI_COMM_WORLD));
}

static int collect_one(int from, ranks_take take, void *ctx)
{
	MPI_Status status;
	int len, rc = from_mpi(MPI_Probe(from, 0, MPI_COMM_WORLD, &status));
	void *data;

	if (rc < 0)
		return rc;
	MPI_Get_count(&status, MPI_BYTE, &len);
	data = malloc((size_t)len + 1);
	if (!data)
		return -KILN_ENOMEM;
	rc = from_mpi(MPI_Recv(data, len, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (rc == 0)
		rc = take(ctx, data, (size_t)len);
	free(data);
	return rc;
}

int ranks_collect(struct ranks *r, const void *mine, size_t len, ranks_take take, void *ctx)
{
	int rc = 0;

	if (len > INT_MAX)
		return -KILN_ETOOBIG;
	if (r->id)
		return from_mpi(MPI_Send(mine, (int)len, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
	for (int i = 1; i < r->count; i++) {
		int one = collect_one(i, take, ctx);

		if (one < 0)
			rc = one;
	}
	return rc;
}

/* mpirun passes signals on by itself. */
void ranks_interrupt(struct ranks *r)
{
}
