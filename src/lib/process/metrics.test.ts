import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "./metrics.ts";

test("render() writes counters, gauges and histograms as Prometheus reads them", () => {
  const metrics = new Metrics();
  const total = metrics.counter("requests_total", "Requests.", ["verb", "code"]);
  const plain = metrics.counter("plain_total", "Without labels.");
  const duration = metrics.histogram("seconds", "How long.", { labels: ["verb"], buckets: [0.1, 1] });
  let level = 1;
  metrics.gauge("level", "How high.", () => level);

  total.add(["GET", "200"]);
  total.add(["GET", "200"], 2);
  total.add(['a"b\\c', "500"]);
  plain.add([]);
  for (const seconds of [0.05, 0.1, 0.5, 7]) duration.observe(["GET"], seconds);
  level = 4;

  assert.equal(
    metrics.render(),
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{verb="GET",code="200"} 3
requests_total{verb="a\\"b\\\\c",code="500"} 1
# HELP plain_total Without labels.
# TYPE plain_total counter
plain_total 1
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{verb="GET",le="0.1"} 2
seconds_bucket{verb="GET",le="1"} 3
seconds_bucket{verb="GET",le="+Inf"} 4
seconds_sum{verb="GET"} 7.65
seconds_count{verb="GET"} 4
# HELP level How high.
# TYPE level gauge
level 4
`,
  );
});

test("using a name twice results in one family", () => {
  const metrics = new Metrics();

  metrics.counter("x_total", "X.").add([]);
  metrics.counter("x_total", "X.").add([]);

  assert.match(metrics.render(), /^x_total 2$/m);
});

test("render() escapes exactly what Prometheus unescapes", () => {
  const metrics = new Metrics();
  const total = metrics.counter("total", "All.", ["a", "b"]);

  total.add(['\\ " \n \t \u2028 é', "x"]);
  total.add(["one\u0000", "two"]);

  const [, , first, second] = metrics.render().split(/\n(?=total|#)/);
  assert.equal(first, 'total{a="\\\\ \\" \\n \t \u2028 é",b="x"} 1');
  assert.equal(second?.trimEnd(), 'total{a="one\ufffd",b="two"} 1');
});
