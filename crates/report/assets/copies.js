// The parts of any run: phases, the ledger, nodes, rates.
function phases(parent, result) {
  const told = list(result.phases).filter((phase) => phase.name && phase.ns > 0);
  if (told.length === 0) return;
  const bar = el("div", { class: "phases", "aria-hidden": "true" });
  told.forEach((phase, place) => bar.append(el("span", { style: `flex: ${phase.ns} 0 0; background: var(${series(place)})`, title: `${phase.name} ${time(phase.ns)}` })));
  const whole = result.elapsed_ns || told.reduce((sum, phase) => sum + phase.ns, 0);
  part(parent, "Phases", 3, bar, table("The phases of the command", [
    ["phase", (phase) => phase.name],
    ["time", (phase) => time(phase.ns)],
    ["share", (phase) => percent(phase.ns / whole)],
  ], told));
}

function ledger(parent, explained) {
  const every = list(explained?.rows).filter((row) => row.ns > 0);
  if (every.length === 0) return;
  const rows = every.filter((row) => row.share >= 0.001);
  const small = every.filter((row) => row.share < 0.001);
  const sum = (of) => small.reduce((all, row) => all + of(row), 0);
  if (small.length > 0) rows.push({ cause: `${small.length} smaller ones`, ns: sum((row) => row.ns), share: sum((row) => row.share), covered: null });
  const most = Math.max(...rows.map((row) => row.share));
  const bar = (row) => el("span", { class: "bar", style: `width: ${(row.share / most) * 100}%` });
  const section = part(parent, "Where the time went", 3, table("The time of the command by cause; the rows sum to all of it", [
    ["cause", causeText],
    ["time", (row) => time(row.ns)],
    ["share", (row) => percent(row.share)],
    ["known for", (row) => percent(row.covered), "spare"],
    ["", bar, "of-bar"],
  ], rows));
  const path = list(explained.path);
  if (path.length > 0) {
    section.append(table("Critical path, in order", [
      ["at", (stretch) => time(stretch.begin_ns)],
      ["for", (stretch) => time(stretch.ns)],
      ["what", causeText, "text"],
      ["share of it", (stretch) => percent(stretch.share)],
    ], path));
  }
}

// Returns why a node was detached from the chain, as in the copy's table.
function slow(node) {
  const each = node.slow;
  if (each && known(each.rate) && known(each.others)) return `fed on the side: it wrote ${rate(each.rate)}, the others ${rate(each.others)}`;
  return node.detached === true ? "fed on the side: its writing fell behind" : "";
}

function nodes(parent, result) {
  const rows = list(result.nodes).filter((node) => node && node.name);
  if (rows.length === 0) return;
  const any = (key) => rows.some((node) => known(node[key]));
  const columns = [
    ["node", (node) => node.name],
    ["verdict", (node) => node.verdict ?? "-", "text"],
  ];
  if (any("bytes")) columns.push(["bytes", (node) => bytes(node.bytes)]);
  if (any("already")) columns.push(["already present", (node) => bytes(node.already)]);
  if (any("rate")) columns.push(["rate", (node) => rate(node.rate)]);
  if (any("cpu_ns")) columns.push(["CPU", (node) => time(node.cpu_ns)]);
  if (any("memory")) columns.push(["memory", (node) => bytes(node.memory)]);
  if (any("sends")) columns.push(["sends", (node) => percent(node.sends)], ["receives", (node) => percent(node.receives)]);
  if (rows.some(slow)) columns.push(["slow", slow, "text"]);
  columns.push(["reason", (node) => node.reason ?? "", "text"]);
  part(parent, "Nodes", 3, table(`${rows.length} nodes`, columns, rows, (node) => (node.verdict && node.verdict !== "ok" ? "bad" : null)));
}

function rates(parent, told) {
  const having = told.nodes.filter((node) => node.rates);
  if (having.length === 0) return;
  const bins = having[0].rates.sent.length;
  const x = Array.from({ length: bins }, (_, bin) => ((bin + 0.5) * told.width_ns) / 1e9);
  const scaled = (values) => values.map((size) => (size * 1e3) / told.width_ns);
  const whole = (key) => x.map((_, bin) => having.reduce((sum, node) => sum + node.rates[key][bin], 0));
  // Each node, and each NIC of those that used several.
  const whose = having.flatMap((node) => [
    { name: node.nic ? `${node.name}, ${node.nic}` : node.name, rates: node.rates },
    ...list(node.nics).map((nic) => ({ name: `${node.name}, ${nic.name}`, rates: nic })),
  ]);
  const choice = el("select", { "aria-label": "Rates of" }, el("option", { value: "" }, `all ${having.length} nodes, summed`),
    ...whose.map((one, place) => el("option", { value: String(place) }, one.name)));
  const section = part(parent, "Rates over time", 3, el("div", { class: "tools" }, choice));
  const make = () => {
    const of = choice.value === "" ? (key) => whole(key) : (key) => whose[Number(choice.value)].rates[key] ?? null;
    const lines = ["received", "sent", "disk"].filter((key) => of(key));
    return {
      options: {
        scales: { x: { time: false } },
        axes: [{ label: "seconds", labelSize: 20 }, { label: "MB/s", labelSize: 20, size: 60 }],
        series: [{ label: "seconds" }, ...lines.map((key, place) => line(key, place, { points: { show: false } }))],
      },
      values: [x, ...lines.map((key) => scaled(of(key)))],
    };
  };
  chart(section, "Rates of receiving, sending and disk over time", make);
  const redraw = redraws[redraws.length - 1];
  choice.addEventListener("change", redraw);
  const mean = (values) => (told.length_ns > 0 ? (values.reduce((sum, size) => sum + size, 0) * 1e9) / told.length_ns : null);
  const peak = (values) => (Math.max(0, ...values) * 1e9) / told.width_ns;
  section.append(folded("These rates in numbers", table("Rates of each node and NIC, over the whole run and at most", [
    ["whose", (one) => one.name],
    ["received", (one) => rate(mean(one.rates.received))],
    ["at most", (one) => rate(peak(one.rates.received))],
    ["sent", (one) => rate(mean(one.rates.sent))],
    ["at most", (one) => rate(peak(one.rates.sent))],
  ], whose)));
}

function environment(parent, run) {
  const result = run.result ?? {};
  const pairs = [["schema", result.schema], ["command", list(result.command).join(" ")], ["congestion control", result.congestion]];
  for (const key of ["transport", "wait", "target", "path", "cache", "mode", "topology", "scale"]) pairs.push([key, result[key]]);
  if (known(result.cpu?.busy ?? result.cpu)) pairs.push(["CPUs busy", percent(result.cpu?.busy ?? result.cpu)]);
  const first = list(result.nodes)[0];
  const conditions = list(first?.conditions ?? list(result.pairs)[0]?.from_conditions);
  for (const told of conditions) {
    const [name, value] = Array.isArray(told) ? told : [told?.name, told?.value];
    if (name) pairs.push([name, value]);
  }
  const items = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "" && typeof value !== "object")
    .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]);
  const warnings = [...list(result.warnings), ...list(result.notes), ...list(run.explained?.undecided)].filter((text) => typeof text === "string");
  const section = part(parent, "Environment and warnings", 3, el("dl", {}, ...items));
  if (warnings.length > 0) section.append(el("ul", {}, ...warnings.map((text) => el("li", {}, text))));
  else section.append(el("p", { class: "note" }, "No warnings."));
}
