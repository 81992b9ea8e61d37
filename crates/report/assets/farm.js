// The bars of a farm: its time beside one PC's, its losses, and how busy each node was.
const isFarm = (result) => String(result?.schema ?? "").startsWith("garland.farm/");

function farm(parent, result) {
  if (!isFarm(result)) return;
  const section = part(parent, "The farm beside one PC", runLevel);
  if (result.sentence) section.append(el("p", {}, result.sentence));
  if (known(result.standing?.of_one) && known(result.one?.seconds)) section.append(beside([["this cluster", result]]));
  else section.append(el("p", { class: "note" }, "Not all jobs are done, so there is nothing to compare."));
  losses(section, result);
  busy(section, result);
}

// The time of one PC is 100 %; a cluster that is slower has a longer bar.
function beside(runs) {
  const rows = runs.map(([name, result]) => [name, result.standing.of_one, `${percent(result.standing.of_one)}, ${seconds(result.total)}`]);
  const base = runs.find(([, result]) => known(result.one?.seconds))?.[1].one;
  rows.unshift([base?.run ? `one PC, measured in ${base.run}` : "one PC, from the jobs' CPU time", 1, `100.0 %, ${seconds(base?.seconds)}`]);
  return bars("Time in percent of one PC's", rows, Math.max(...rows.map((row) => row[1])), "of one PC");
}

const KIND_OF_LOSS = { work: "processor", network: "wire", disk: "disk", engine: "fixed", stragglers: "wait", "integer-rounds": "wait" };

function losses(section, result) {
  const told = result.losses;
  if (!known(told?.whole) || told.whole <= 0) return;
  const rows = [["work", told.work], ...list(told.causes)].filter(([, value]) => known(value));
  section.append(bars("Where the run's time went", rows.map(([name, value]) => [name.replaceAll("-", " "), value, `${seconds(value)}, ${percent(value / told.whole)}`, KIND_OF_LOSS[name]]), told.whole, "time"), legend(Object.values(KIND_OF_LOSS)));
  if (!told.counted) section.append(el("p", { class: "note" }, "The CPU time of some jobs is unknown: their waiting counts as work."));
}

// The share of a node's slots' time in which it had jobs.
function busy(section, result) {
  if (!known(result.total) || result.total <= 0) return;
  const rows = list(result.nodes).filter((node) => node?.name).map((node) => {
    const own = list(result.records).filter((record) => record.node === node.name && known(record.started) && known(record.ended));
    const at = own.reduce((sum, record) => sum + record.ended - record.started, 0);
    const share = at / (result.total * Math.max(1, node.cores ?? 1));
    return [node.name, share, `${percent(share)}, ${own.length} jobs`];
  });
  const most = Math.max(1, ...rows.map((row) => row[1]));
  if (rows.length > 0) section.append(bars("Share of the run in which each node had jobs", rows, most, "busy"));
}

// Several farms of the same jobs, as they were compared in 2004.
function farms(parent, runs) {
  const done = runs.filter((run) => isFarm(run.result) && known(run.result.standing?.of_one) && known(run.result.one?.seconds));
  if (done.length < 2) return;
  const one = done[0].result;
  const alike = done.filter((run) => run.result.jobs === one.jobs);
  if (alike.length < 2) return;
  const name = (run) => `${list(run.result.nodes).length === 1 ? "1 node" : `${list(run.result.nodes).length} nodes`} over ${run.result.network ?? "this network"} (${run.name})`;
  part(parent, "Farms beside one PC", 2, el("p", { class: "note" }, `${one.jobs} jobs each. Every cluster is compared with its own measurement of one PC; the bar of one PC is that of the first.`),
    beside(alike.map((run) => [name(run), run.result])));
}
