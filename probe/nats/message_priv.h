/* SPDX-License-Identifier: BSD-3-Clause */
/* Subjects about one host: PREFIX.HOST and a word such as ".%status". */
#ifndef MESH_MESSAGE_PRIV_H
#define MESH_MESSAGE_PRIV_H

#include <probe/nats/message.h>

bool mesh_subject_ends(const char *subject, const char *word);
void mesh_subject_of_host(const char *prefix, const char *host, const char *word, char subject[MESH_SUBJECT_BYTES]);
/* Returns false if the subject is not exactly as mesh_subject_of_host() writes it. */
bool mesh_host_of_subject(const char *prefix, const char *subject, const char *word, char host[LATENCY_NAME_BYTES]);

#endif
