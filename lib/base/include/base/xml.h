/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_XML_H
#define BASE_XML_H

#include <stdio.h>

/* Prints text escaped for XML and HTML, also for use within double quotes. */
void xml_print(FILE *out, const char *text);

#endif
