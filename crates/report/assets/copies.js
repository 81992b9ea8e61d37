// The parts of any run: phases, nodes, rates, environment.
function phases(parent, result) {
  const told = list(result.phases).filter((phase) => phase.name && phase.ns > 0);
  if (told.length === 0) return;
  const bar = el("div", { class: "phases", "aria-hidden": "true" });
  told.forEach((phase) => bar.append(el("span", { style: `flex: ${phase.ns} 0 0`, title: `${phase.name} ${time(phase.ns)}` }, phase.name)));
  const whole = result.elapsed_ns || told.reduce((sum, phase) => sum + phase.ns, 0);
  part(parent, "Phases", runLevel + 1, bar, table("The phases of the command", [
    ["phase", (phase) => phase.name],
    ["time", (phase) => time(phase.ns)],
    ["share", (phase) => percent(phase.ns / whole)],
  ], told));
}

// Returns why a node was detached from the chain, as in the copy's table.
function slow(node) {
  const each = node.slow;
  if (each && known(each.rate) && known(each.others)) return `fed on the side: it received ${rate(each.rate)}, the others ${rate(each.others)}`;
  return node.detached === true ? "detached: its disk was slower" : "";
}

function nodes(parent, result) {
  const rows = list(result.nodes).filter((node) => node && node.name);
  if (rows.length === 0) return;
  const any = (key) => rows.some((node) => known(node[key]));
  const urgency = (node) => (node.verdict && node.verdict !== "ok" ? 0 : slow(node) ? 1 : 2);
  rows.sort((one, other) => urgency(one) - urgency(other));
  const size = (key) => (node) => (known(node[key]) ? node[key] : -1);
  const columns = [
    ["node", (node) => node.name, null, (node) => String(node.name)],
    ["verdict", (node) => node.verdict ?? "-", "text", (node) => String(node.verdict ?? "")],
  ];
  if (rows.some((node) => slow(node) || node.reason)) columns.push(["attention", (node) => [slow(node), node.reason].filter(Boolean).join("; "), "text", urgency]);
  for (const [key, title, show] of [["bytes", "bytes", bytes], ["already", "already present", bytes], ["rate", "rate", rate], ["cpu_ns", "CPU", time], ["memory", "memory", bytes], ["sends", "sends", percent], ["receives", "receives", percent]]) {
    if (any(key) && (key !== "already" || rows.some((node) => node.already > 0))) columns.push([title, (node) => show(node[key]), null, size(key)]);
  }
  const words = rows.some((node) => urgency(node) < 2) ? "; those that need attention come first" : "";
  const box = table(`${rows.length} nodes${words}`, columns, rows, (node) => ["bad", "slow", null][urgency(node)]);
  box.classList.add("nodes");
  part(parent, "Nodes", runLevel, sortable(box, columns, rows));
}

// The rates below a timeline, on its axis. `view` is the timeline's.
function rates(parent, told, view) {
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
  const choice = el("select", { "aria-label": "Rates of" }, el("option", { value: "" }, having.length === 1 ? "1 node" : `all ${having.length} nodes, summed`),
    ...whose.map((one, place) => el("option", { value: String(place) }, one.name)));
  const section = part(parent, "Rates over time", runLevel + 1, el("div", { class: "tools" }, choice));
  // Colours as elsewhere; what is received and what is sent are told apart by the line.
  const looks = { sent: { dash: [5, 4] } };
  const make = () => {
    const of = choice.value === "" ? (key) => whole(key) : (key) => whose[Number(choice.value)].rates[key] ?? null;
    const lines = ["received", "sent", "disk"].filter((key) => of(key));
    return {
      options: {
        widest: 4000, tall: 220, padding: [null, view.spare(), null, 0],
        scales: { x: { time: false, auto: false, min: view.from / 1e6, max: view.to / 1e6 } },
        cursor: { drag: { x: false, y: false }, y: false },
        axes: [{ values: (_, all) => all.map((at) => time(at * 1e9)) }, { label: "MB/s", labelSize: 20, size: view.side() - 20 }],
        series: [{ label: "at", value: (_, at) => seconds(at) }, ...lines.map((key) => line(key, 0, { ...looks[key], stroke: colour(key === "disk" ? "--disk" : "--wire"), width: 1.5, points: { show: false }, value: (_, value) => (known(value) ? `${number(value)} MB/s` : "-") }))],
        hooks: { setCursor: [(plot) => view.pointed(plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") * 1e6 : null)] },
      },
      values: [x, ...lines.map((key) => scaled(of(key)))],
    };
  };
  const box = chart(section, "Rates of receiving, sending and disk over time", make);
  view.follow(() => {
    box.plot.setScale("x", { min: view.from / 1e6, max: view.to / 1e6 });
    const left = view.at === null ? -10 : box.plot.valToPos(view.at / 1e6, "x");
    box.plot.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
  });
  choice.addEventListener("change", redraws[redraws.length - 1]);
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
  const section = part(parent, "Environment and warnings", runLevel + 1, el("dl", {}, ...items));
  if (warnings.length > 0) section.append(el("ul", {}, ...warnings.map((text) => el("li", {}, text))));
  else section.append(el("p", { class: "note" }, "No warnings."));
}
