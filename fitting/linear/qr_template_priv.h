/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Householder QR with column scaling and pivoting for one number type. qr_priv.h includes this file twice, with QR_REAL
 * double and long double, so it has no include guard; QR_NAME(x) gives each type its own names.
 *
 * A S^-1 P = Q R, where S holds the column norms. Matrices are column-major without gaps. The arrays belong to the
 * caller. `a` is overwritten by R (on and above the diagonal) and the Householder vectors (below the diagonal; head[k]
 * is the first element of v_k).
 */

struct QR_NAME(qr) {
	size_t rows, columns, rank;
	QR_REAL *a;       /* rows x columns */
	QR_REAL *head;    /* columns: first elements of the Householder vectors */
	QR_REAL *factor;  /* columns: 2 / v'v */
	QR_REAL *scale;   /* columns: norm of column j of A; 1 for a column of zeros */
	QR_REAL *norms;   /* columns: squared norm of the part of each column that is not reduced yet */
	QR_REAL *scratch; /* columns */
	size_t *pivot;    /* columns: pivot[k] is the index in A of column k of R */
};

static inline void QR_NAME(lay_out)(struct QR_NAME(qr) * qr, struct arena *arena, size_t rows, size_t columns)
{
	qr->rows = rows;
	qr->a = arena_take(arena, rows * columns, sizeof(QR_REAL));
	qr->head = arena_take(arena, columns, sizeof(QR_REAL));
	qr->factor = arena_take(arena, columns, sizeof(QR_REAL));
	qr->scale = arena_take(arena, columns, sizeof(QR_REAL));
	qr->norms = arena_take(arena, columns, sizeof(QR_REAL));
	qr->scratch = arena_take(arena, columns, sizeof(QR_REAL));
	qr->pivot = arena_take(arena, columns, sizeof(size_t));
}

/* Four running sums give shorter dependency chains and smaller rounding errors than one. */
static inline QR_REAL QR_NAME(dot)(const QR_REAL *x, const QR_REAL *y, size_t count)
{
	QR_REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	size_t i = 0;

	for (; i + 4 <= count; i += 4) {
		s0 += x[i] * y[i];
		s1 += x[i + 1] * y[i + 1];
		s2 += x[i + 2] * y[i + 2];
		s3 += x[i + 3] * y[i + 3];
	}
	for (; i < count; i++)
		s0 += x[i] * y[i];
	return (s0 + s1) + (s2 + s3);
}

static inline void QR_NAME(add_multiple)(QR_REAL *into, QR_REAL multiple, const QR_REAL *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		into[i] += multiple * x[i];
}

/* Returns the norm. Divides very large or small elements by the largest one, so that no square overflows. */
static inline QR_REAL QR_NAME(norm)(const QR_REAL *x, size_t count)
{
	QR_REAL largest = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		QR_REAL size = x[i] < 0 ? -x[i] : x[i];

		if (size > largest)
			largest = size;
	}
	if (largest == 0 || !isfinite(largest))
		return largest;
	if (largest > (QR_REAL)1e-100 && largest < (QR_REAL)1e100)
		return QR_SQRT(QR_NAME(dot)(x, x, count));
	for (size_t i = 0; i < count; i++)
		sum += (x[i] / largest) * (x[i] / largest);
	return largest * QR_SQRT(sum);
}

static inline void QR_NAME(reflect)(const struct QR_NAME(qr) * qr, size_t k, QR_REAL *column)
{
	const QR_REAL *v = qr->a + k * qr->rows + k + 1;
	size_t below = qr->rows - k - 1;
	QR_REAL product = qr->head[k] * column[k] + QR_NAME(dot)(v, column + k + 1, below);

	product *= qr->factor[k];
	column[k] -= product * qr->head[k];
	QR_NAME(add_multiple)(column + k + 1, -product, v, below);
}

static inline void QR_NAME(swap_columns)(struct QR_NAME(qr) * qr, size_t k, size_t l)
{
	QR_REAL *x = qr->a + k * qr->rows, *y = qr->a + l * qr->rows;
	size_t place = qr->pivot[k];

	for (size_t i = 0; i < qr->rows; i++) {
		QR_REAL value = x[i];

		x[i] = y[i];
		y[i] = value;
	}
	qr->pivot[k] = qr->pivot[l];
	qr->pivot[l] = place;
	qr->norms[l] = qr->norms[k];
}

static inline void QR_NAME(scale_columns)(struct QR_NAME(qr) * qr)
{
	for (size_t j = 0; j < qr->columns; j++) {
		QR_REAL *column = qr->a + j * qr->rows;
		QR_REAL norm = QR_NAME(norm)(column, qr->rows);

		qr->pivot[j] = j;
		qr->scale[j] = norm > 0 ? norm : 1;
		qr->norms[j] = norm > 0 ? 1 : 0;
		for (size_t i = 0; i < qr->rows; i++)
			column[i] /= qr->scale[j];
	}
}

/*
 * Factors qr->a, of any shape, in place. The rank is the number of diagonal elements above `tolerance` times the first
 * one; the remaining columns are not reduced further. Returns false if a number is not finite.
 */
static inline bool QR_NAME(factorise)(struct QR_NAME(qr) * qr, QR_REAL tolerance)
{
	size_t steps = qr->rows < qr->columns ? qr->rows : qr->columns;
	QR_REAL first = 0;

	QR_NAME(scale_columns)(qr);
	qr->rank = 0;
	for (size_t k = 0; k < steps; k++) {
		QR_REAL *column = qr->a + k * qr->rows;
		size_t best = k;
		QR_REAL norm;

		for (size_t j = k; j < qr->columns; j++) {
			if (!isfinite(qr->scale[qr->pivot[j]]))
				return false;
			if (qr->norms[j] > qr->norms[best])
				best = j;
		}
		norm = QR_SQRT(qr->norms[best]);
		if (best != k)
			QR_NAME(swap_columns)(qr, k, best);
		/* norms[] holds 1 for each scaled column, which is correct only up to rounding errors */
		if (k == 0)
			first = norm = QR_NAME(norm)(column, qr->rows);
		if (!(norm > tolerance * first))
			break;
		if (column[k] > 0)
			norm = -norm;
		/* v = x - norm e_1; the sign of norm avoids cancellation in its first element; v'v = -2 norm v_1 */
		qr->head[k] = column[k] - norm;
		qr->factor[k] = -1 / (norm * qr->head[k]);
		qr->rank = k + 1;
		for (size_t j = k + 1; j < qr->columns; j++) {
			QR_REAL *other = qr->a + j * qr->rows;

			QR_NAME(reflect)(qr, k, other);
			/* recompute the norms: updating them saves little on narrow matrices and loses digits */
			qr->norms[j] = QR_NAME(dot)(other + k + 1, other + k + 1, qr->rows - k - 1);
		}
		column[k] = norm;
	}
	return true;
}

/* apply_transposed() computes v := Q'v, and apply() v := Q v. v has qr->rows elements. */
static inline void QR_NAME(apply_transposed)(const struct QR_NAME(qr) * qr, QR_REAL *v)
{
	for (size_t k = 0; k < qr->rank; k++)
		QR_NAME(reflect)(qr, k, v);
}

static inline void QR_NAME(apply)(const struct QR_NAME(qr) * qr, QR_REAL *v)
{
	for (size_t k = qr->rank; k-- > 0;)
		QR_NAME(reflect)(qr, k, v);
}

/* q (rows x rank, column-major) := the leading columns of Q, built from the last reflection to the first. */
static inline void QR_NAME(form_q)(const struct QR_NAME(qr) * qr, QR_REAL *q)
{
	for (size_t k = qr->rank; k-- > 0;) {
		QR_REAL *column = q + k * qr->rows;
		const QR_REAL *v = qr->a + k * qr->rows;
		QR_REAL product = qr->factor[k] * qr->head[k];

		for (size_t j = k + 1; j < qr->rank; j++)
			QR_NAME(reflect)(qr, k, q + j * qr->rows);
		/* Apply reflection k to unit vector k. */
		memset(column, 0, k * sizeof *column);
		column[k] = 1 - product * qr->head[k];
		for (size_t i = k + 1; i < qr->rows; i++)
			column[i] = -product * v[i];
	}
}

/* solve_upper() computes v := R^-1 v, and solve_upper_transposed() v := R^-T v, on the first `rank` elements. */
static inline void QR_NAME(solve_upper)(const struct QR_NAME(qr) * qr, QR_REAL *v)
{
	for (size_t k = qr->rank; k-- > 0;) {
		const QR_REAL *column = qr->a + k * qr->rows;

		v[k] /= column[k];
		QR_NAME(add_multiple)(v, -v[k], column, k);
	}
}

static inline void QR_NAME(solve_upper_transposed)(const struct QR_NAME(qr) * qr, QR_REAL *v)
{
	for (size_t k = 0; k < qr->rank; k++) {
		const QR_REAL *column = qr->a + k * qr->rows;

		v[k] = (v[k] - QR_NAME(dot)(column, v, k)) / column[k];
	}
}

/* x (columns, in A's order and scale) := S^-1 P [v; 0]: 0 for the columns beyond the rank. */
static inline void QR_NAME(unscale)(const struct QR_NAME(qr) * qr, const QR_REAL *v, QR_REAL *x)
{
	for (size_t k = 0; k < qr->columns; k++)
		x[qr->pivot[k]] = k < qr->rank ? v[k] / qr->scale[qr->pivot[k]] : 0;
}

/* Solves least squares: overwrites b (rows) by Q'b; x gets the basic solution of min |A x - b|. */
static inline void QR_NAME(least_squares)(struct QR_NAME(qr) * qr, QR_REAL *b, QR_REAL *x)
{
	QR_NAME(apply_transposed)(qr, b);
	for (size_t k = 0; k < qr->rank; k++)
		qr->scratch[k] = b[k];
	QR_NAME(solve_upper)(qr, qr->scratch);
	QR_NAME(unscale)(qr, qr->scratch, x);
}

/*
 * Computes root (columns x columns) = S^-1 P R^-1, so that (A'A)^-1 = root root'. The rows of columns beyond the rank
 * are 0 (their variance is infinite).
 */
static inline void QR_NAME(covariance_root)(const struct QR_NAME(qr) * qr, QR_REAL *root)
{
	size_t n = qr->columns;

	memset(root, 0, n * n * sizeof *root);
	for (size_t c = 0; c < qr->rank; c++) {
		memset(qr->scratch, 0, n * sizeof *qr->scratch);
		qr->scratch[c] = 1;
		for (size_t k = c + 1; k-- > 0;) {
			const QR_REAL *column = qr->a + k * qr->rows;

			qr->scratch[k] /= column[k];
			QR_NAME(add_multiple)(qr->scratch, -qr->scratch[k], column, k);
		}
		QR_NAME(unscale)(qr, qr->scratch, root + c * n);
	}
}
