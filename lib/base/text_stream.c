/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/text_stream.h>

#include <stdlib.h>
#include <string.h>

enum { ROOM_AT_FIRST = 256 };

struct text_stream {
	char **text;
	size_t *bytes, length, room;
	char *written; /* [room] ends with a NUL; NULL: a write failed */
};

static ssize_t append(void *cookie, const char *piece, size_t bytes)
{
	struct text_stream *stream = cookie;
	size_t needed = stream->length + bytes + 1;

	if (stream->written && needed > stream->room) {
		char *larger = realloc(stream->written, 2 * needed);

		if (!larger)
			free(stream->written);
		stream->written = larger;
		stream->room = 2 * needed;
	}
	if (!stream->written)
		return 0;
	memcpy(stream->written + stream->length, piece, bytes);
	stream->length += bytes;
	stream->written[stream->length] = '\0';
	return (ssize_t)bytes;
}

static int finish(void *cookie)
{
	struct text_stream *stream = cookie;
	int code = stream->written ? 0 : -1;

	*stream->text = stream->written;
	*stream->bytes = stream->written ? stream->length : 0;
	free(stream);
	return code;
}

FILE *text_stream_open(char **text, size_t *bytes)
{
	struct text_stream *stream = malloc(sizeof *stream);
	FILE *out;

	*text = NULL;
	*bytes = 0;
	if (!stream)
		return NULL;
	*stream = (struct text_stream){
		.text = text, .bytes = bytes, .room = ROOM_AT_FIRST, .written = calloc(1, ROOM_AT_FIRST)};
	out = stream->written ? fopencookie(stream, "w", (cookie_io_functions_t){.write = append, .close = finish})
			      : NULL;
	if (out)
		return out;
	free(stream->written);
	free(stream);
	return NULL;
}
