// The parts of measurements: pairs, latency, balance, scenarios.
function heat(parent, told) {
  const names = list(told?.names);
  if (names.length === 0) return;
  const all = told.rates.flat().filter(known).sort((a, b) => a - b);
  if (all.length === 0) return;
  const middle = all[Math.floor(all.length / 2)];
  const shade = (value) => {
    if (!known(value)) return "transparent";
    const share = Math.max(0, Math.min(1.2, value / middle));
    return share < 0.8 ? `color-mix(in srgb, var(--c4) ${Math.round((1 - share) * 90 + 10)}%, var(--sheet))` : `color-mix(in srgb, var(--c2) ${Math.round(share * 50)}%, var(--sheet))`;
  };
  const small = names.length <= 24;
  const head = el("tr", {}, el("th", {}, "from, to"), ...names.map((name) => el("th", { scope: "col" }, small ? name : "")));
  const rows = told.rates.map((row, from) => el("tr", {}, el("th", { scope: "row" }, names[from]), ...row.map((value, to) =>
    el("td", { style: `background: ${shade(value)}`, title: known(value) ? `${names[from]} to ${names[to]}: ${rate(value)}, ${percent(value / middle)} of the median` : "" }, small && known(value) ? (value / 1e6).toPrecision(3) : ""))));
  part(parent, "Pairs", runLevel, el("p", { class: "note" }, `Rates in MB/s; rows send, columns receive. The median is ${rate(middle)}; red is below 80 % of it.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heat map of pairs" }, el("table", { class: "heat" }, el("thead", {}, head), el("tbody", {}, ...rows))));
}

function loads(parent, result) {
  const told = list(result.loads).filter((load) => known(load.pairs));
  if (told.length === 0) return;
  const section = part(parent, "Pairs at once", runLevel);
  section.append(table("Pairs at once, one direction", [
    ["pairs", (load) => load.pairs],
    ["all", (load) => rate(load.rate)],
    ["median", (load) => rate(load.median)],
    ["lowest", (load) => rate(load.lowest)],
  ], told));
}

function ping(parent, result) {
  list(result.pairs).forEach((pair) => {
    const points = list(pair?.points);
    if (points.length === 0) return;
    const section = part(parent, `${pair.from} and ${pair.to}`, runLevel);
    curve(section, points.filter((point) => point.in_flight === points[0].in_flight), "size", "bytes", "Latency against size");
    curve(section, points.filter((point) => point.size === points[0].size), "in_flight", "in flight", "Time of each against depth", pair.sweep?.knee);
    section.append(folded(`All ${points.length} points in numbers`, table("Every point", [
      ["function", (point) => point.function],
      ["bytes", (point) => point.size],
      ["in flight", (point) => point.in_flight],
      ["each", (point) => time(point.each_ns)],
      ["p50", (point) => time(point.sojourn?.p50)],
      ["p99", (point) => time(point.sojourn?.p99)],
      ["max", (point) => time(point.sojourn?.max)],
    ], points)));
  });
}

function curve(section, points, key, label, words, knee = null) {
  const sorted = [...new Map(points.map((point) => [point[key], point])).values()].filter((point) => point[key] > 0).sort((a, b) => a[key] - b[key]);
  if (sorted.length < 2) return;
  chart(section, words, () => ({
    options: {
      title: words + (known(knee) ? `; the knee is at ${knee}` : ""),
      scales: { x: { time: false, distr: 3, log: 2 }, y: { range: (_, low, high) => [0, high * 1.1 || 1] } },
      axes: [{ label, labelSize: 20 }, { label: "µs", labelSize: 20, size: 60 }],
      series: [{ label }, line("each", 0), line("p50", 1), line("p99", 3)],
    },
    values: [sorted.map((point) => point[key]), ...["each_ns", "p50", "p99"].map((what) => sorted.map((point) => {
      const value = what === "each_ns" ? point.each_ns : point.sojourn?.[what];
      return known(value) ? value / 1e3 : null;
    }))],
  }));
}

function balance(parent, result) {
  const points = list(result.points).filter((point) => known(point.remote));
  if (points.length === 0) return;
  const sizes = [...new Set(points.map((point) => point.size))];
  const counts = [...new Set(points.map((point) => point.remote))].sort((a, b) => a - b);
  const at = (size, remote) => points.find((point) => point.size === size && point.remote === remote);
  const section = part(parent, "Balance of disks and network", runLevel);
  for (const verdict of list(result.verdicts).filter((one) => one.text)) section.append(el("p", {}, `${bytes(verdict.size)}: ${verdict.text}`));
  if (counts.length > 1) {
    chart(section, "Rate of all copies by how many of them are between nodes", () => ({
      options: {
        scales: { x: { time: false }, y: { range: (_, low, high) => [0, high * 1.1 || 1] } },
        axes: [{ label: "copies between nodes", labelSize: 20 }, { label: "MB/s", labelSize: 20, size: 60 }],
        series: [{ label: "remote" }, ...sizes.map((size, place) => line(bytes(size), place))],
      },
      values: [counts, ...sizes.map((size) => counts.map((remote) => { const point = at(size, remote); return point ? point.rate / 1e6 : null; }))],
    }));
  }
  section.append(folded(`All ${points.length} points in numbers`, table("Every point", [
    ["size", (point) => bytes(point.size)],
    ["remote", (point) => point.remote],
    ["rate", (point) => rate(point.rate)],
    ["held up by", (point) => point.resource ?? "-", "text"],
    ["with disks twice as fast", (point) => rate(point.disk_twice)],
    ["with wires twice as fast", (point) => rate(point.network_twice)],
  ], points)));
}

function disks(parent, result) {
  const rows = list(result.nodes).flatMap((node) => list(node.measurements).map((one) => ({ node: node.name, ...one })));
  if (rows.length === 0) return;
  part(parent, "Disks", runLevel, table("Every measurement", [
    ["node", (row) => row.node],
    ["what", (row) => `${row.pattern} ${row.direction}, ${row.mode}`, "text"],
    ["depth", (row) => row.depth],
    ["rate", (row) => rate(row.rate)],
    ["a second", (row) => number(row.iops)],
    ["p50", (row) => time(row.times?.p50)],
    ["p99", (row) => time(row.times?.p99)],
  ], rows));
}

// The predicted figures of a scenario beside the emulated ones. Older results have none.
function predictions(result) {
  const all = list(result.predictions).filter((one) => known(one?.predicted) && known(one?.emulated) && one.emulated > 0);
  if (all.length === 0) return "";
  const off = (one) => one.predicted / one.emulated - 1;
  // Where the emulation was not what it says, a prediction is neither right nor wrong.
  const errors = all.filter((one) => !one.void).map((one) => Math.abs(off(one))).sort((a, b) => a - b);
  const median = (errors[(errors.length - 1) >> 1] + errors[errors.length >> 1]) / 2;
  const words = errors.length === 0
    ? "Predicted and emulated: all void"
    : `Predicted and emulated: ${errors.length}, within ${percent(median)} in the median and ${percent(errors.at(-1))} at worst`;
  return table(words, [
    ["what", (one) => one.what, "text"],
    ["unit", (one) => one.unit, "text"],
    ["predicted", (one) => number(one.predicted)],
    ["emulated", (one) => number(one.emulated)],
    ["off by", (one) => (one.void ? "void" : percent(off(one)))],
  ], all);
}

// The rows of a scenario: published, emulated and their bounds, side by side.
function scenario(parent, result) {
  // Results before version 3 have one table, which is not in `repetitions`.
  const tables = Array.isArray(result.repetitions) ? result.repetitions : [result];
  const numbered = (row, at) => (tables.length > 1 ? { repetition: at + 1, ...row } : row);
  const rows = tables.flatMap((one, at) => list(one?.rows).filter((row) => row && typeof row === "object").map((row) => numbered(row, at)));
  if (rows.length === 0) return;
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  // Labels of a row come before its figures.
  const names = all.filter((key) => rows.some((row) => typeof row[key] === "string"));
  const keys = [...names, ...all.filter((key) => !names.includes(key))];
  const show = (key, value) => {
    if (value === null || value === undefined) return "-";
    if (typeof value === "object") {
      const shown = Object.entries(value).filter(([, inner]) => inner !== null && typeof inner !== "object");
      return shown.map(([name, inner]) => `${name} ${show(`${key}_${name}`, inner)}`).join(", ") || "-";
    }
    if (key.endsWith("_ns")) return time(value);
    if (/rate|bound$|wires$|twice$/.test(key) && known(value) && value > 1e4) return rate(value);
    return typeof value === "number" ? number(value) : String(value);
  };
  const about = typeof result.scenario === "string" ? { name: result.scenario } : result.scenario ?? {};
  part(parent, about.name ?? "Scenario", runLevel, ...[about.question, about.answer, about.source && `From: ${about.source}.`].filter(Boolean).map((text) => el("p", {}, text)),
    result.broken ? el("p", {}, `Wrong: ${result.broken}`) : el("p", { class: "note" }, "The published statements and their grades are on top of the page."),
    predictions(result),
    table("Every row", keys.map((key) => [key.replaceAll("_", " "), (row) => show(key, row[key]), names.includes(key) ? "text" : null]), rows));
}
