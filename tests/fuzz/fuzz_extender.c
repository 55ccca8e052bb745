/* SPDX-License-Identifier: BSD-3-Clause */
/* Kubernetes' extender: any body is answered with JSON or refused with a reason. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <sched/extender/extender.h>

static void check(char *text, const struct error *err)
{
	json_t *answer = text ? json_loads(text, 0, NULL) : NULL;

	if (text ? !answer : err->code == 0 || err->text[0] == '\0')
		abort();
	json_decref(answer);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct live *live;
	static struct extender *extender;
	struct error err = {0}, other = {0}, third = {0};
	struct live_settings settings;
	char path[64];

	if (!live) {
		live_settings_default(&settings);
		live = live_create(&settings, &err);
		live_machine_set(live, "n1", "r1", "", 4, LIVE_UP, &err);
		live_machine_set(live, "n2", "r2", "", 4, LIVE_UP, &err);
		snprintf(path, sizeof path, "/tmp/nomora-fuzz-extender.%d", (int)getpid());
		extender = extender_create(path, &err);
	}
	check(extender_filter(extender, live, (const char *)data, size, &err), &err);
	check(extender_prioritize(extender, live, (const char *)data, size, &other), &other);
	check(extender_preempt(extender, live, (const char *)data, size, &third), &third);
	return 0;
}
