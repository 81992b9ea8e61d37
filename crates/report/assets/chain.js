// How the bytes went from node to node: links as wide as their rate.
const BOX = { width: 76, height: 34, across: 180, least: 130, down: 92, edge: 16 };
const DRAWN = 120;

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Returns all links of a copy, with their share of the time by the ledger, and the nodes' own shares.
function linksOf(run) {
  const told = run.timeline;
  const nameOf = (index) => told.names[index] ?? told.nodes.find((node) => node.index === index)?.name ?? `node ${index}`;
  const links = told.nodes.flatMap((node) => list(node.feeds).filter((feed) => feed.bytes > 0).map((feed) => ({
    ...feed, to: node.index, node: nameOf(feed.from), name: nameOf(node.index),
    rate: feed.end_ns > feed.begin_ns ? (feed.bytes * 1e9) / (feed.end_ns - feed.begin_ns) : 0,
  })));
  const main = new Map();
  for (const link of links) if (!(main.get(link.to)?.bytes >= link.bytes)) main.set(link.to, link);
  const shares = new Map();
  const add = (key, row) => {
    const all = shares.get(key) ?? {};
    all[kindOf(row)] = (all[kindOf(row)] ?? 0) + row.share;
    shares.set(key, all);
  };
  for (const row of list(run.explained?.rows)) {
    if (!known(row.share) || !row.node) continue;
    // A straggler that was slow at its wire waited for the link that fed it.
    const fed = row.cause === "straggler" && kindOf(row) === "wire" ? [...main.values()].find((link) => link.name === row.node) : null;
    if (fed) add(`${fed.node}\n${fed.name}`, row);
    else add(row.to ? `${row.node}\n${row.to}` : row.node, row);
  }
  const most = (key) => Object.entries(shares.get(key) ?? {}).filter(([kind]) => !["unknown", "fixed", "wait"].includes(kind)).sort(([, one], [, other]) => other - one)[0] ?? [null, 0];
  for (const link of links) {
    link.main = main.get(link.to) === link;
    [link.kind, link.share] = most(`${link.node}\n${link.name}`);
  }
  const indices = new Set([...told.names.keys(), ...links.flatMap((link) => [link.from, link.to])]);
  return { links, main, nodes: [...indices].map((index) => ({ index, name: nameOf(index), most: most(nameOf(index)) })) };
}

// Assigns a column and a row to each node: the chain goes on to the right and wraps; branches, and nodes
// that were fed on the side, are below the node that fed them.
function arranged({ main, nodes }, isSlow, columns) {
  const below = new Map(nodes.map((node) => [node.index, []]));
  for (const link of main.values()) below.get(link.from)?.push(link.to);
  const seen = new Set(), sizes = new Map();
  const size = (index) => {
    if (sizes.has(index)) return sizes.get(index);
    sizes.set(index, 0);
    sizes.set(index, below.get(index).reduce((sum, next) => sum + size(next), 1));
    return sizes.get(index);
  };
  // A slow node that feeds others is a part of the chain.
  const isAside = (index) => Number(isSlow(index) && size(index) === 1);
  const places = new Map();
  let rows = 0;
  const put = (index, column, row) => {
    if (seen.has(index)) return;
    seen.add(index);
    places.set(index, { column, row });
    rows = Math.max(rows, row + 1);
    const next = [...below.get(index)].sort((one, other) => isAside(one) - isAside(other) || size(other) - size(one));
    const ahead = next.length > 0 && !isAside(next[0]) ? next.shift() : null;
    if (ahead !== null) column + 1 < columns ? put(ahead, column + 1, row) : put(ahead, 0, rows);
    // Many nodes that feed no others share rows.
    const leaves = next.filter((one) => size(one) === 1 && !seen.has(one));
    const packed = leaves.length > 3 ? leaves : [];
    const first = Math.min(column + 1, columns - 1), above = rows;
    packed.forEach((one, at) => {
      seen.add(one);
      places.set(one, { column: first + (at % (columns - first)), row: above + Math.floor(at / (columns - first)), packed: true });
      rows = Math.max(rows, places.get(one).row + 1);
    });
    for (const one of next) put(one, first, rows);
  };
  const roots = nodes.filter((node) => !main.has(node.index) && below.get(node.index).length > 0);
  for (const node of [...roots, ...nodes]) if (!seen.has(node.index)) put(node.index, 0, rows);
  return { places, rows };
}

function chain(parent, run) {
  const told = run.timeline;
  if (!told || told.nodes.every((node) => list(node.feeds).length === 0)) return;
  const all = linksOf(run);
  const of = new Map(list(run.result?.nodes).map((node) => [node.name, node]));
  const fastest = Math.max(...all.links.map((link) => link.rate));
  const section = part(parent, "The way of the bytes", runLevel);
  if (all.nodes.length <= DRAWN) {
    const box = el("div", { class: "chain" });
    section.append(box);
    const draw = () => box.replaceChildren(drawn(all, of, fastest, box.clientWidth || 800, mediaOf(run)));
    draw();
    redraws.push(draw);
    const kinds = [...all.links, ...all.nodes.map((node) => ({ kind: node.most[0], share: node.most[1] }))].filter((one) => one.share >= 0.01).map((one) => one.kind);
    const joints = list(run.pictures?.[0]?.joints);
    const through = joints.length === 1 ? ` All go through one ${joints[0].kind} (${bits(joints[0].bits_per_second)}).` : joints.length > 1 ? " Below a node's name is what it is connected to." : Object.keys(run.racks ?? {}).length > 0 ? " Below a node's name is its rack." : "";
    const over = overTopology(run, all.links);
    section.append(el("p", { class: "note" }, `A link is as wide as its rate; the widest carried ${rate(fastest)}. Coloured links and nodes took so many percent of the time, by the ledger. Dashed: for a small part of the copy.${through}`), legend(kinds));
    if (over) section.append(over, el("p", { class: "note" }, "The cables that carried it, as wide as the busier direction's rate, and coloured where one limited the copy."));
  } else section.append(el("p", { class: "note" }, "There are too many nodes to draw."));
  const few = [...all.links].sort((one, other) => other.share - one.share || one.rate - other.rate).slice(0, 200);
  section.append(folded("The links in numbers", table("Links, those that took most of the time first", [
    ["from", (link) => link.node],
    ["to", (link) => link.name, "text"],
    ["bytes", (link) => bytes(link.bytes)],
    ["at", (link) => time(link.begin_ns)],
    ["for", (link) => time(link.end_ns - link.begin_ns)],
    ["rate", (link) => rate(link.rate)],
    ["share of the time", (link) => (link.share > 0 ? percent(link.share) : "-")],
  ], few), all.links.length > few.length ? el("p", { class: "note" }, `and ${all.links.length - few.length} more`) : null));
}

// Returns what each cable of the topology carried, by its number in the picture: bytes and the time of each
// direction, and the link that limited the copy there.
function carriedBy(run, links) {
  const cables = new Map();
  for (const crossing of list(run.pictures?.[0]?.crossings)) {
    const link = links.find((one) => one.from === crossing.from && one.to === crossing.to);
    for (const one of link ? crossing.cables : []) {
      if (!cables.has(one.cable)) cables.set(one.cable, { share: 0, ways: {} });
      const way = (cables.get(one.cable).ways[one.forth] ??= { bytes: 0, begin: Infinity, end: 0, limit: one.bits_per_second });
      way.bytes += link.bytes * one.share;
      way.begin = Math.min(way.begin, link.begin_ns);
      way.end = Math.max(way.end, link.end_ns);
      way.rate = way.end > way.begin ? (way.bytes * 1e9) / (way.end - way.begin) : 0;
    }
  }
  // A wire that limited a link is the fullest one on its way; all of them if rates are unknown.
  const used = (one) => (cables.get(one.cable).ways[one.forth].rate * 8) / (one.bits_per_second ?? Infinity);
  for (const crossing of list(run.pictures?.[0]?.crossings)) {
    const link = links.find((one) => one.from === crossing.from && one.to === crossing.to);
    if (!(link?.share >= 0.01)) continue;
    const most = Math.max(...crossing.cables.map(used));
    for (const one of crossing.cables) {
      const cable = cables.get(one.cable);
      if ((link.kind !== "wire" || used(one) >= 0.9 * most) && link.share > cable.share) [cable.share, cable.kind] = [link.share, link.kind];
    }
  }
  return cables;
}

// Draws the copy on the topology: cables as wide as their rate.
function overTopology(run, links) {
  const cables = carriedBy(run, links), text = run.pictures?.[0]?.svg;
  if (cables.size === 0 || !text) return null;
  const picture = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
  const rates = new Map([...cables].map(([key, cable]) => [key, Math.max(...Object.values(cable.ways).map((way) => way.rate))]));
  const fastest = Math.max(...rates.values());
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `${cables.size} cables of ${run.pictures[0].name}, which carried up to ${rate(fastest)}`);
  for (const line of picture.querySelectorAll("[data-cable]")) {
    const key = line.getAttribute("data-cable"), cable = cables.get(key);
    if (!cable) {
      line.classList.add("idle");
      continue;
    }
    const hub = key.startsWith("hub"), words = Object.entries(cable.ways).map(([forth, way]) => `${hub ? "" : forth === "true" ? "there " : "back "}${rate(way.rate)}${known(way.limit) ? ` of ${bits(way.limit)}` : ""}`);
    line.style.strokeWidth = Math.max(1.5, (12 * rates.get(key)) / fastest);
    line.classList.add("link", ...(cable.share > 0 ? [`l-${cable.kind}`] : []));
    line.querySelector("title").textContent += `: ${words.join(", ")}${cable.share > 0 ? `, ${percent(cable.share)} of the time` : ""}`;
    // A cable between media is labelled with its rate, each that limited the copy with its share of the time.
    const [x, y, right, under] = ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
    const uplink = key.startsWith("uplink"), between = uplink || key.startsWith("wire"), part = cable.share > 0 ? `${Math.round(cable.share * 100)} %` : "";
    const label = [uplink ? `${number(Math.round(rates.get(key) / 1e5) / 10)} MB/s` : "", part].filter(Boolean).join(", ");
    if (line.tagName === "line" && !hub && label && (between || x === right)) picture.append(svg("text", { x: (x + right) / 2 + (between ? 0 : 20), y: y + (under - y) * (between ? 0.5 : 0.68), class: "rate" }, label));
  }
  // The page needs no margin as wide as a picture's of its own.
  const [left, top, width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  picture.setAttribute("viewBox", `${left + 25} ${top + 40} ${width - 25} ${height - 80}`);
  picture.setAttribute("width", width - 25);
  picture.setAttribute("height", height - 80);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `The copy on ${run.pictures[0].name}` }, picture);
}

// Returns the media of each node, if there are several; without a topology, its rack.
function mediaOf(run) {
  const joints = list(run.pictures?.[0]?.joints), media = new Map();
  if (joints.length === 0) for (const [node, rack] of Object.entries(run.racks ?? {})) media.set(node, [rack]);
  for (const joint of joints.length > 1 ? joints : []) {
    for (const node of new Set(list(joint.stations).map((station) => station.split(" ")[0]))) media.set(node, [...(media.get(node) ?? []), joint.name]);
  }
  return media;
}

function drawn(all, of, fastest, width, media) {
  const isSlow = (index) => {
    const node = of.get(all.nodes.find((one) => one.index === index)?.name);
    return Boolean(node && slow(node));
  };
  const room = width - BOX.edge * 1.5 - BOX.width;
  const columns = Math.max(2, Math.floor(room / BOX.least) + 1);
  const { places, rows } = arranged(all, isSlow, columns);
  const across = Math.min(BOX.across, room / Math.max(1, ...[...places.values()].map((one) => one.column)));
  const left = (index) => BOX.edge + places.get(index).column * across, top = (index) => 22 + places.get(index).row * BOX.down;
  const height = 22 + rows * BOX.down - 34;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${all.nodes.length} nodes and ${all.links.length} links; the table below has their rates` });
  const labels = [];
  for (const link of [...all.links].sort((one, other) => one.share - other.share)) {
    if (!link.main && link.bytes < 0.01 * Math.max(...all.links.filter((one) => one.to === link.to).map((one) => one.bytes))) continue;
    const [from, to] = [places.get(link.from), places.get(link.to)];
    const [x, y, right, under] = [left(link.from), top(link.from), left(link.to), top(link.to)];
    const middle = y + BOX.height / 2, end = under + BOX.height / 2, centre = x + BOX.width / 2;
    const wide = Math.max(1.5, (12 * link.rate) / fastest);
    let way, beside = false, wraps = false, at = [(x + BOX.width + right) / 2, middle - wide / 2 - 5];
    if (!link.main) {
      const peak = Math.min(y, under) - 20;
      way = `M${centre} ${y} C${centre} ${peak} ${right + BOX.width / 2} ${peak} ${right + BOX.width / 2} ${under}`;
      at = null;
    } else if (to.packed) {
      way = `M${centre} ${y + BOX.height} V${under - 16} H${right + BOX.width / 2} V${under}`;
      at = [right + BOX.width / 2, under + BOX.height - 7];
    } else if (from.row === to.row) way = `M${x + BOX.width} ${middle} H${right}`;
    else if (to.column === 0 && from.column > 0) {
      const gap = y + BOX.height + 34;
      way = `M${centre} ${y + BOX.height} V${gap} H${6} V${end} H${right}`;
      // Below the line, since what is above it belongs to the nodes of the row.
      at = [(centre + 6) / 2, gap + wide / 2 + 11];
      wraps = true;
    } else if (to.column === from.column) {
      way = `M${centre} ${y + BOX.height} V${under}`;
      // Near the lower node: right below the upper one is what took its time.
      at = [centre + (centre + 76 > width ? -42 : 42), under - 22];
      beside = true;
    } else {
      way = `M${centre} ${y + BOX.height} V${end} H${right}`;
      at = [(centre + right) / 2, end - wide / 2 - 5];
    }
    const limits = link.share >= 0.01;
    const words = `${link.node} to ${link.name}: ${bytes(link.bytes)}, ${rate(link.rate)}${limits ? `, ${percent(link.share)} of the time` : ""}`;
    picture.append(svg("path", { d: way, class: `link ${limits ? `l-${link.kind}` : ""} ${link.main ? "" : "part"}`, "stroke-width": link.main ? wide : 1.5 }, svg("title", {}, words)));
    if (at) {
      const share = `${Math.round(link.share * 100)} %`;
      labels.push(svg("text", { x: at[0], y: at[1], class: "rate" }, `${Number((link.rate / 1e6).toPrecision(3))} MB/s${wraps && limits ? `, ${share}` : ""}`));
      if (limits && !wraps) labels.push(svg("text", { x: at[0], y: at[1] + (beside ? 14 : (to.packed ? 0 : wide) + 17), class: "share" }, share));
    }
  }
  for (const node of all.nodes) {
    const result = of.get(node.name), [kind, share] = node.most;
    const bad = result && result.verdict && result.verdict !== "ok";
    const [x, y] = [left(node.index), top(node.index)];
    const through = (media.get(short(node.name)) ?? []).join(", "), two = places.get(node.index).packed || through;
    const words = [node.name, through, result?.verdict, result && slow(result), share >= 0.01 ? `${KINDS[kind]} ${percent(share)} of the time` : ""].filter(Boolean).join(", ");
    const group = svg("g", { class: bad ? "bad" : "" }, svg("title", {}, words), svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }),
      svg("text", { x: x + BOX.width / 2, y: y + BOX.height / 2 - (two ? 7 : 0) }, short(node.name).length > 11 ? `${short(node.name).slice(0, 10)}…` : short(node.name)));
    if (through && !places.get(node.index).packed) group.append(svg("text", { x: x + BOX.width / 2, y: y + BOX.height - 10, class: "through" }, through.length > 15 ? `${through.slice(0, 14)}…` : through));
    if (share >= 0.01) {
      const inner = document.createElement("div");
      inner.className = `k-${kind}`;
      const band = svg("foreignObject", { x, y: y + BOX.height + 2, width: BOX.width, height: 6 });
      band.append(inner);
      group.append(band, svg("text", { x: x + BOX.width / 2, y: y + BOX.height + 18, class: "share" }, `${bad ? result.verdict : KINDS[kind]} ${Math.round(share * 100)} %`));
    } else if (bad || (result && slow(result))) group.append(svg("text", { x: x + BOX.width / 2, y: y + BOX.height + 12, class: "share" }, bad ? result.verdict : result.detached ? "detached" : "fed on the side"));
    picture.append(group);
  }
  picture.append(...labels);
  return picture;
}
