// What each node did over time, on a canvas that is as large as its visible part: one row a node, which
// opens to its stages.
const ROW = 12, STATE = 20, SIDE = 130, TOP = 22;

// Returns the patterns of kinds for a canvas, as the style has them for the rest of the page.
function patterns(pen) {
  const ground = colour("--sheet");
  const tile = (kind, draw) => {
    const canvas = el("canvas", { width: 8, height: 8 });
    const own = canvas.getContext("2d");
    own.fillStyle = colour(`--${kind}`);
    own.fillRect(0, 0, 8, 8);
    own.strokeStyle = own.fillStyle = ground;
    own.globalAlpha = 0.45;
    own.lineWidth = 2;
    draw(own);
    return pen.createPattern(canvas, "repeat");
  };
  const lines = (...all) => (own) => all.forEach(([x, y, right, end]) => { own.beginPath(); own.moveTo(x, y); own.lineTo(right, end); own.stroke(); });
  const rising = [[-2, 10, 10, -2], [-2, 2, 2, -2], [6, 10, 10, 6]], falling = [[-2, -2, 10, 10], [6, -2, 10, 2], [-2, 6, 2, 10]];
  return {
    wire: tile("wire", () => {}), wait: tile("wait", () => {}), disk: tile("disk", lines(...rising)), processor: tile("processor", lines([2, 0, 2, 8], [6, 0, 6, 8])),
    silent: tile("silent", lines(...rising, ...falling)), fixed: tile("fixed", lines([0, 2, 8, 2], [0, 6, 8, 6])), unknown: tile("unknown", (own) => { own.fillRect(1, 1, 3, 3); own.fillRect(5, 5, 3, 3); }),
  };
}

function timeline(parent, run) {
  const told = run.timeline;
  if (!told) return;
  const nameOf = (index) => told.names[index] ?? told.nodes.find((node) => node.index === index)?.name;
  const stageOf = (number) => told.stages[number - 1] ?? "work";
  const rows = [];
  if (told.path.length > 0) {
    rows.push({ node: "all nodes", stage: "critical path", path: true,
      slices: told.path.map((bar) => [bar.begin_ns / 1e3, (bar.end_ns - bar.begin_ns) / 1e3, 1000, 0, 1, 0, bar]) });
  }
  const opened = new Set();
  for (const node of told.nodes) {
    const states = list(node.states);
    if (states.length > 0) rows.push({ node: node.name, states });
    else opened.add(node.name);
    for (const row of node.rows) rows.push({ node: node.name, stage: row.stage, slices: row.slices, error: node.error_ns, kind: kindOfStage(row.stage) });
  }
  const heads = rows.filter((row) => row.states);
  const stages = [...new Set(rows.filter((row) => row.slices && !row.path).map((row) => row.stage))];
  const hidden = new Set();
  const length = Math.max(1, told.length_ns / 1e3);
  const followers = [];
  // What is seen, in microseconds, and where the cursor is.
  const view = { from: 0, to: length, at: null, side: () => side(), spare: () => box.offsetWidth - box.clientWidth, follow: (act) => followers.push(act), pointed: (us) => point(us) };
  let shown = rows, chosen = 0, fills = null;

  const canvas = el("canvas", { "aria-hidden": "true" });
  const spacer = el("div");
  const box = el("div", { class: "timeline", tabindex: "0", role: "application",
    "aria-label": `Timeline of ${told.nodes.length} nodes over ${time(told.length_ns)}. Arrow keys left and right move, up and down choose a node, Enter opens it; plus and minus zoom, 0 shows all.` }, canvas, spacer);
  const said = el("p", { class: "note", "aria-live": "polite" });

  function place() {
    let y = TOP;
    fills = null;
    shown = rows.filter((row) => row.path || row.states || (opened.has(row.node) && !hidden.has(row.stage)));
    let before = null;
    for (const row of shown) {
      row.head = !row.states && row.node !== before;
      if (row.head && !row.path) y += 18;
      before = row.node;
      row.y = y;
      row.height = row.states || row.path ? STATE : ROW;
      y += row.height + (row.states || row.path ? 4 : 0);
    }
    const whole = y + ROW;
    const seen = Math.min(whole, 510);
    const width = box.clientWidth || 800;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = seen * scale;
    canvas.style.height = `${seen}px`;
    spacer.style.height = `${Math.max(0, whole - seen)}px`;
    toggles.hidden = opened.size === 0;
    draw();
  }

  const side = () => Math.min(SIDE, (box.clientWidth || 800) * 0.27);
  const across = () => Math.max(1, canvas.clientWidth - side());
  const xOf = (us) => side() + ((us - view.from) / (view.to - view.from)) * across();
  const usOf = (x) => view.from + ((x - side()) / across()) * (view.to - view.from);

  function draw() {
    const scale = window.devicePixelRatio || 1;
    const pen = canvas.getContext("2d");
    const [width, height] = [canvas.width / scale, canvas.height / scale];
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const ink = colour("--ink"), soft = colour("--soft"), grid = colour("--line");
    fills ??= patterns(pen);
    pen.textAlign = "center";
    for (const us of ticks(view.from, view.to, across() / 110)) {
      const x = xOf(us);
      pen.fillStyle = grid;
      pen.fillRect(x, 18, 1, height);
      pen.fillStyle = soft;
      if (x + 24 < width) pen.fillText(time(us * 1e3), x, 12);
    }
    const scrolled = box.scrollTop;
    pen.save();
    pen.beginPath();
    pen.rect(0, 20, width, height);
    pen.clip();
    for (const row of shown) {
      const y = row.y - scrolled;
      if (y < -STATE || y > height + STATE) continue;
      pen.textAlign = "left";
      pen.fillStyle = ink;
      if (row.head && !row.path) pen.fillText(short(row.node), 4, y - 4, width - 8);
      if (row.states) {
        if (document.activeElement === box && heads[chosen] === row) pen.fillText("•", side() - 10, y + 14);
        pen.fillText(`${opened.has(row.node) ? "▾" : "▸"} ${short(row.node)}`, 4, y + 14, side() - 16);
        inStates(pen, row, y, ink);
        continue;
      }
      pen.fillStyle = row.path ? ink : soft;
      pen.fillText(row.stage, row.path ? 4 : 18, y + (row.path ? 14 : ROW - 3), side() - 22);
      for (const [begin, span, busy, , , , step] of row.slices) {
        if (begin + span < view.from || begin > view.to) continue;
        const x = Math.max(side(), xOf(begin));
        const end = Math.max(x + 1, xOf(begin + span));
        pen.globalAlpha = row.path ? 1 : 0.35 + (0.65 * busy) / 1000;
        pen.fillStyle = fills[row.path ? kindOf(step) : row.kind];
        pen.fillRect(x, y, end - x, row.height - (row.path ? 0 : 2));
      }
      pen.globalAlpha = 1;
    }
    if (view.at !== null) {
      pen.fillStyle = ink;
      pen.fillRect(xOf(view.at), 18, 1, height);
    }
    pen.restore();
    said.textContent = `From ${time(view.from * 1e3)} to ${time(view.to * 1e3)}; ${shown.length} rows.`;
    box.view = { from: view.from, to: view.to, rows: shown.length };
    followers.forEach((act) => act());
  }

  // A node's bar is as high as the node was busy; what remains waited for others, which long waits name.
  function inStates(pen, row, y, ink) {
    let wait = null;
    const name = () => {
      if (!wait) return;
      const [x, end] = [Math.max(side(), xOf(wait.begin)), Math.min(canvas.clientWidth, xOf(wait.end))];
      const text = `waits for ${short(nameOf(wait.peer - 1) ?? "?")}`;
      pen.textAlign = "center";
      pen.fillStyle = ink;
      if (end - x > pen.measureText(text).width + 12) pen.fillText(text, (x + end) / 2, y + 12);
    };
    for (const [begin, span, busy, work, waiting, peer] of row.states) {
      if (begin + span < view.from || begin > view.to) continue;
      const x = Math.max(side(), xOf(begin));
      const wide = Math.max(0.5, xOf(begin + span) - x);
      if (waiting > 0) {
        pen.fillStyle = fills.wait;
        pen.fillRect(x, y, wide, STATE);
      }
      if (work > 0 && busy > 0) {
        const high = Math.max(2, (STATE * busy) / 1000);
        pen.fillStyle = fills[kindOfStage(stageOf(work))];
        pen.fillRect(x, y + STATE - high, wide, high);
      }
      if (wait && (waiting === 0 || wait.peer !== peer || busy > 600)) {
        name();
        wait = null;
      }
      if (waiting > 0 && busy <= 600) wait ? (wait.end = begin + span) : (wait = { begin, end: begin + span, peer });
    }
    name();
  }

  function zoom(factor, about = (view.from + view.to) / 2) {
    const span = Math.min(length, Math.max(1, (view.to - view.from) * factor));
    view.from = Math.max(0, Math.min(length - span, about - (about - view.from) * (span / (view.to - view.from))));
    view.to = view.from + span;
    draw();
  }
  const move = (share) => {
    const by = Math.max(-view.from, Math.min(length - view.to, (view.to - view.from) * share));
    view.from += by;
    view.to += by;
    draw();
  };
  const all = () => { view.from = 0; view.to = length; draw(); };
  const point = (us) => {
    if (us === view.at) return;
    view.at = us;
    draw();
  };
  const open = (name) => {
    if (!opened.delete(name)) opened.add(name);
    place();
    said.textContent = `${name} is ${opened.has(name) ? "open" : "closed"}; ${shown.length} rows.`;
  };
  const choose = (by) => {
    chosen = Math.max(0, Math.min(heads.length - 1, chosen + by));
    const row = heads[chosen];
    if (!row) return;
    if (row.y - TOP < box.scrollTop) box.scrollTop = row.y - TOP;
    if (row.y + STATE > box.scrollTop + box.clientHeight) box.scrollTop = row.y + STATE - box.clientHeight;
    draw();
    said.textContent = row.node;
  };

  const rowAt = (event) => {
    const y = event.clientY - canvas.getBoundingClientRect().top + box.scrollTop;
    return shown.find((row) => y >= row.y && y < row.y + row.height);
  };
  function at(event) {
    const us = usOf(event.clientX - canvas.getBoundingClientRect().left);
    const row = rowAt(event);
    if (!row || us < view.from) return null;
    const near = ((view.to - view.from) / across()) * 2;
    const all = row.states ?? row.slices;
    const found = all.find(([begin, span]) => us >= begin - near && us <= begin + span + near);
    if (found) return row.states ? wordsOf(row, found) : words(row, found);
    const before = all.filter(([begin, span]) => begin + span <= us).pop();
    const after = all.find(([begin]) => begin >= us);
    if (!before || !after) return null;
    return `${row.node}: nothing at ${row.stage || "all"} for ${time((after[0] - before[0] - before[1]) * 1e3)}${gap(us)}`;
  }
  // Returns the text of a gap: the critical path at that time.
  function gap(us) {
    const step = told.path.find((bar) => us * 1e3 >= bar.begin_ns && us * 1e3 < bar.end_ns);
    return step ? `\ncritical path: ${causeText(step)}` : "";
  }
  const when = (begin, span) => `at ${time(begin * 1e3)} for ${time(span * 1e3)}`;
  function wordsOf(row, [begin, span, busy, work, waiting, peer]) {
    const worked = work > 0 ? `busy ${(busy / 10).toFixed(0)} %, mostly ${stageOf(work)}` : "not busy";
    const waited = waiting > 0 ? `\nwaited for ${nameOf(peer - 1) ?? "another node"}${stageOf(waiting) === "wait-for-downstream" ? " to take bytes" : " to send"}` : "";
    return `${row.node}: ${worked}${waited}\n${when(begin, span)}${gap(begin + span / 2)}`;
  }
  function words(row, [begin, span, busy, size, count, peer, step]) {
    if (row.path) return `${causeText(step)}\n${when(begin, span)}`;
    const other = peer > 0 ? nameOf(peer - 1) : null;
    const error = known(row.error) && row.error > 0 ? `\nclock error at most ${time(row.error)}` : "";
    const work = size > 0 ? `\n${bytes(size)}${span > 0 ? `, ${rate((size * 1e6) / span)}` : ""}` : "";
    const busyness = busy < 1000 ? `, busy ${(busy / 10).toFixed(0)} % of that` : "";
    return `${row.node}: ${row.stage}${other ? `, with ${other}` : ""}\n${when(begin, span)}${busyness}${work}${count > 1 ? `\n${count} blocks` : ""}${error}`;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from: view.from, to: view.to }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", (event) => {
    const row = rowAt(event);
    if (drag && Math.abs(event.clientX - drag.x) < 4 && row?.states) {
      chosen = heads.indexOf(row);
      open(row.node);
    }
    drag = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const span = drag.to - drag.from;
      view.from = Math.max(0, Math.min(length - span, drag.from + ((drag.x - event.clientX) / across()) * span));
      view.to = view.from + span;
    }
    const us = usOf(event.clientX - canvas.getBoundingClientRect().left);
    view.at = us >= view.from ? us : null;
    draw();
    const text = at(event);
    if (text) showTip(text, event.clientX, event.clientY);
    else hideTip();
  });
  canvas.addEventListener("pointerleave", () => { hideTip(); point(null); });
  canvas.addEventListener("dblclick", all);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, usOf(event.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  for (const change of ["scroll", "focus", "blur"]) box.addEventListener(change, draw);
  box.addEventListener("keydown", (event) => {
    const enter = () => heads[chosen] && open(heads[chosen].node);
    const act = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => choose(-1), ArrowDown: () => choose(1), Enter: enter, " ": enter,
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: all }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  const tools = el("div", { class: "tools" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("◀", "Earlier", () => move(-0.3)), button("▶", "Later", () => move(0.3)), button("All", "Show all of it", all));
  if (heads.length > 0) {
    tools.append(el("button", { type: "button", on: { click: () => {
      const some = opened.size < heads.length;
      heads.forEach((row) => (some ? opened.add(row.node) : opened.delete(row.node)));
      place();
    } } }, "Open or close all"));
  }
  const toggles = el("div", { class: "tools" });
  for (const stage of stages) {
    const toggle = el("button", { type: "button", "aria-pressed": "true" }, swatch(kindOfStage(stage)), stage);
    toggle.addEventListener("click", () => {
      if (!hidden.delete(stage)) hidden.add(stage);
      toggle.setAttribute("aria-pressed", String(!hidden.has(stage)));
      place();
    });
    toggles.append(toggle);
  }
  const kinds = [...told.path.map(kindOf), ...heads.flatMap((row) => row.states.map(([, , , work]) => (work > 0 ? kindOfStage(stageOf(work)) : "wait"))), ...(heads.length > 0 ? ["wait"] : stages.map(kindOfStage))];
  const how = heads.length > 0 ? "A bar is as high as the node was busy, in the colour of most of that; the rest of the time it waited for others. Click a node, or press Enter, for its stages. " : "";
  const section = part(parent, "Timeline", runLevel, el("p", { class: "note" }, `${how}Drag to move; Ctrl or Shift with the wheel, or + and −, to zoom. Point at a bar or a gap for details.`),
    tools, toggles, box, legend(kinds), said, inNumbers(heads, nameOf, stageOf));
  place();
  redraws.push(place);
  rates(section, told, view);
}

// The timeline as a table: how long each node worked at what, and for whom it waited longest.
function inNumbers(heads, nameOf, stageOf) {
  if (heads.length === 0) return "";
  const lines = heads.map((row) => {
    const line = { name: row.node, waits: new Map() };
    for (const [, span, busy, work, waiting, peer] of row.states) {
      const kind = work > 0 ? kindOfStage(stageOf(work)) : null;
      if (kind) line[kind] = (line[kind] ?? 0) + (span * busy) / 1000;
      if (waiting > 0) line.waits.set(peer, (line.waits.get(peer) ?? 0) + (span * (1000 - busy)) / 1000);
    }
    line.most = [...line.waits].sort(([, one], [, other]) => other - one)[0];
    return line;
  });
  const kinds = Object.keys(KINDS).filter((kind) => lines.some((line) => known(line[kind])));
  return folded("The timeline in numbers", table("The time that each node was busy, by what it mostly did, and the node it waited for longest", [
    ["node", (line) => line.name],
    ...kinds.map((kind) => [KINDS[kind], (line) => time((line[kind] ?? 0) * 1e3)]),
    ["waited for", (line) => (line.most ? `${nameOf(line.most[0] - 1) ?? "?"}, ${time(line.most[1] * 1e3)}` : ""), "text"],
  ], lines));
}
