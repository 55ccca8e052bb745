-- SPDX-License-Identifier: BSD-3-Clause
-- wrk prints its times in whatever unit suits: here they are in microseconds, as JSON. Any failure fails the run.
function done(summary, latency, requests)
	local e = summary.errors
	local failures = e.connect + e.read + e.write + e.status + e.timeout
	if failures > 0 then
		io.write(string.format("%d requests failed\n", failures))
		os.exit(1)
	end
	io.write(string.format('{"requests_per_s": %.3f, "latency_mean_us": %.3f, "latency_p99_us": %.3f}\n',
		1e6 * summary.requests / summary.duration, latency.mean, latency:percentile(99)))
end
