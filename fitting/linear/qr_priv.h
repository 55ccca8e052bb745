/* SPDX-License-Identifier: BSD-3-Clause */
/* The QR of qr_template_priv.h in double (factorise_double, ...) and in long double (factorise_extended, ...). */
#ifndef FITTING_QR_PRIV_H
#define FITTING_QR_PRIV_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "arena_priv.h"

#define QR_REAL double
#define QR_SQRT sqrt
#define QR_NAME(name) name##_double
#include "qr_template_priv.h"
#undef QR_REAL
#undef QR_SQRT
#undef QR_NAME

#define QR_REAL long double
#define QR_SQRT sqrtl
#define QR_NAME(name) name##_extended
#include "qr_template_priv.h"
#undef QR_REAL
#undef QR_SQRT
#undef QR_NAME

#endif
