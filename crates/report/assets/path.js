// Where the time went: the critical path as one strip, and the ledger as a waterfall below it.
const place = (stretch, length) => `left: ${(stretch.begin_ns / length) * 100}%; width: ${((stretch.end_ns - stretch.begin_ns) / length) * 100}%`;

// Returns the critical path of a run as a strip of this length in nanoseconds; null if it is unknown.
function strip(run, length) {
  const path = pathOf(run);
  if (path.length === 0) return null;
  const words = `Critical path: ${broad(run).map((one) => `${causeText(one)} ${time(one.end_ns - one.begin_ns)}`).join(", ")}`;
  return el("div", { class: "strip", role: "img", "aria-label": words }, ...path.map((one) =>
    el("span", { class: `k-${kindOf(one)}`, style: place(one, length), title: `${causeText(one)}, at ${time(one.begin_ns)} for ${time(one.end_ns - one.begin_ns)}` })));
}

// The path in detail, and its few stretches as in garland explain.
const pathOf = (run) => (list(run.timeline?.path).length > 0 ? run.timeline.path : broad(run));
const broad = (run) => list(run.explained?.path).filter((one) => one.ns > 0).map((one) => ({ ...one, end_ns: one.begin_ns + one.ns }));
const lengthOf = (run) => Math.max(1, run.result?.elapsed_ns ?? 0, run.timeline?.length_ns ?? 0, ...broad(run).map((one) => one.end_ns));

function axis(length) {
  return el("div", { class: "axis", "aria-hidden": "true" }, ...ticks(0, length * 0.93, innerWidth < 640 ? 5 : 10).map((at) => el("span", { style: `left: ${(at / length) * 100}%` }, time(at))));
}

function ledger(parent, run) {
  const every = list(run.explained?.rows).filter((row) => row.ns > 0);
  if (every.length === 0) return;
  const section = part(parent, "Where the time went", runLevel);
  const length = lengthOf(run), shown = strip(run, length);
  if (shown) {
    const names = broad(run).filter((one) => one.ns > 0.06 * length).map((one) => el("span", { style: place(one, length), title: causeText(one) }, shortCause(one)));
    section.append(el("p", { class: "note" }, "The critical path: what the copy waited for at each time."),
      el("div", { class: "names", "aria-hidden": "true" }, ...names), shown, axis(length),
      legend([...pathOf(run), ...every].map(kindOf)));
  }
  section.append(waterfall(run, every));
  const path = broad(run);
  section.append(folded("The ledger and the critical path in numbers",
    table("The time of the command by cause; the rows sum to all of it", [
      ["cause", causeText],
      ["time", (row) => time(row.ns)],
      ["share", (row) => percent(row.share)],
      ["known for", (row) => percent(row.covered)],
    ], every),
    path.length > 0 ? table("Critical path, in order", [
      ["at", (stretch) => time(stretch.begin_ns)],
      ["for", (stretch) => time(stretch.ns)],
      ["what", causeText, "text"],
      ["share of it", (stretch) => percent(stretch.share)],
    ], path) : null));
}

const shortCause = (row) => {
  const [node, to] = [row.node && short(row.node), row.to && short(row.to)];
  return `${row.cause}${to ? ` ${node} → ${to}` : node ? ` ${node}` : ""}`;
};

// Each row begins where the one before it ends, so that they lead from nothing to the whole time. Wires
// come first: the line of the limit says how much of them could not be avoided.
function waterfall(run, every) {
  const large = Math.min(0.01, every[0].share);
  const rows = every.filter((row) => row.share >= large).map((row) => ({ ...row }));
  const small = every.filter((row) => row.share < large);
  const sum = (of) => small.reduce((all, row) => all + of(row), 0);
  rows.sort((one, other) => (kindOf(other) === "wire" && other.cause !== "straggler") - (kindOf(one) === "wire" && one.cause !== "straggler"));
  if (small.length > 0) rows.push({ cause: `${small.length} smaller ones`, kind: "unknown", ns: sum((row) => row.ns), share: sum((row) => row.share) });
  const whole = every.reduce((all, row) => all + row.ns, 0);
  let at = 0;
  for (const row of rows) {
    row.from = at;
    at += row.ns;
  }
  const result = run.result ?? {};
  const least = known(result.limit?.achieved) && known(result.elapsed_ns) ? result.limit.achieved * result.elapsed_ns : null;
  const longest = Math.max(whole, least ?? 0);
  const limit = known(least) ? { total: true, cause: "what the limit needs", ns: least, from: 0, share: least / whole, kind: "limit" } : null;
  const total = { total: true, cause: "all of it", ns: whole, from: 0, share: 1, kind: "all" };
  const bar = (row) => el("span", { class: "fall" },
    known(least) ? el("i", { style: `left: ${(least / longest) * 100}%` }) : null,
    el("span", { class: `k-${row.kind ?? kindOf(row)}`, style: `left: ${(row.from / longest) * 100}%; width: ${(row.ns / longest) * 100}%` }));
  const cause = (row) => (row.total ? row.cause : el("span", {}, swatch(row.kind ?? kindOf(row)), causeText(row)));
  const box = table(`The time by cause; the rows sum to all of it${limit ? ". The dashed line is the least that the limit needs" : ""}`, [
    ["cause", cause],
    ["", bar, "of-bar"],
    ["time", (row) => time(row.ns)],
    ["share", (row) => percent(row.share)],
  ], [limit, ...rows, total].filter(Boolean), (row) => (row.total ? "total" : null));
  box.classList.add("waterfall");
  return box;
}

// The critical paths of several runs on one scale of time.
function strips(parent, runs) {
  const having = runs.filter((run) => pathOf(run).length > 0);
  if (having.length < 2) return;
  const longest = Math.max(...having.map(lengthOf));
  part(parent, "Critical paths", 2, ...having.map((run) => el("div", { class: "multiple" },
    el("p", {}, el("b", {}, run.title ?? run.name), ` ${time(run.result?.elapsed_ns)}`, el("span", { class: "note" }, ` ${run.name}`)), strip(run, longest))),
  axis(longest), legend(having.flatMap((run) => pathOf(run).map(kindOf))));
}
