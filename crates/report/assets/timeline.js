// The stages of nodes over time, on a canvas that is as large as its visible part.
const WAITS = /^(wait|pause)/;
const ROW = 12, HEAD = 18, SIDE = 130, TOP = 22;

function timeline(parent, told) {
  const rows = [];
  if (told.path.length > 0) {
    const names = [...new Set(told.path.map((bar) => bar.name.split(",")[0]))];
    rows.push({ node: "all nodes", stage: "critical path", path: true, names,
      slices: told.path.map((bar) => [bar.begin_ns / 1e3, (bar.end_ns - bar.begin_ns) / 1e3, 1000, 0, 1, 0, bar.name]) });
  }
  for (const node of told.nodes) {
    for (const row of node.rows) rows.push({ node: node.name, stage: row.stage, slices: row.slices, error: node.error_ns });
  }
  const stages = [...new Set(rows.filter((row) => !row.path).map((row) => row.stage))];
  const shade = new Map();
  let next = 0;
  for (const stage of stages) shade.set(stage, WAITS.test(stage) ? "--wait" : `--c${next++ % 12}`);
  const hidden = new Set();
  const length = Math.max(1, told.length_ns / 1e3);
  let from = 0, to = length, shown = rows;

  const canvas = el("canvas", { "aria-hidden": "true" });
  const spacer = el("div");
  const box = el("div", { class: "timeline", tabindex: "0", role: "application",
    "aria-label": `Timeline of ${told.nodes.length} nodes over ${time(told.length_ns)}. Arrow keys move, plus and minus zoom, 0 shows all.` }, canvas, spacer);
  const said = el("p", { class: "note", "aria-live": "polite" });

  function place() {
    let y = TOP;
    shown = rows.filter((row) => !hidden.has(row.stage));
    let before = null;
    for (const row of shown) {
      row.head = row.node !== before;
      if (row.head) y += HEAD;
      before = row.node;
      row.y = y;
      y += ROW;
    }
    const whole = y + ROW;
    const seen = Math.min(whole, 510);
    const width = box.clientWidth || 800;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = seen * scale;
    canvas.style.height = `${seen}px`;
    spacer.style.height = `${Math.max(0, whole - seen)}px`;
    draw();
  }

  const side = () => Math.min(SIDE, canvas.clientWidth * 0.3);
  const across = () => Math.max(1, canvas.clientWidth - side());
  const xOf = (us) => side() + ((us - from) / (to - from)) * across();
  const usOf = (x) => from + ((x - side()) / across()) * (to - from);

  function draw() {
    const scale = window.devicePixelRatio || 1;
    const pen = canvas.getContext("2d");
    const [width, height] = [canvas.width / scale, canvas.height / scale];
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const ink = colour("--ink"), soft = colour("--soft"), grid = colour("--line");
    const step = nice((to - from) / Math.max(2, across() / 110));
    pen.textAlign = "center";
    for (let us = Math.ceil(from / step) * step; us <= to; us += step) {
      const x = xOf(us);
      pen.fillStyle = grid;
      pen.fillRect(x, 18, 1, height);
      pen.fillStyle = soft;
      pen.fillText(time(us * 1e3), x, 12);
    }
    const scrolled = box.scrollTop;
    pen.textAlign = "left";
    const colours = new Map([...shade].map(([stage, name]) => [stage, colour(name)]));
    pen.save();
    pen.beginPath();
    pen.rect(0, 20, width, height);
    pen.clip();
    for (const row of shown) {
      const y = row.y - scrolled;
      if (y < -ROW || y > height + HEAD) continue;
      if (row.head) {
        pen.fillStyle = ink;
        pen.fillText(row.node, 4, y - 4, width - 8);
      }
      pen.fillStyle = soft;
      pen.fillText(row.stage, 12, y + ROW - 3, side() - 16);
      for (const [begin, span, busy, , , , name] of row.slices) {
        if (begin + span < from || begin > to) continue;
        const x = Math.max(side(), xOf(begin));
        const end = Math.max(x + 1, xOf(begin + span));
        pen.globalAlpha = row.path ? 1 : 0.35 + (0.65 * busy) / 1000;
        pen.fillStyle = row.path ? colour(series(row.names.indexOf(name.split(",")[0]))) : colours.get(row.stage);
        pen.fillRect(x, y, end - x, ROW - 2);
      }
      pen.globalAlpha = 1;
    }
    pen.restore();
    said.textContent = `From ${time(from * 1e3)} to ${time(to * 1e3)}; ${shown.length} rows.`;
    box.view = { from, to, rows: shown.length };
  }

  function nice(step) {
    const ten = 10 ** Math.floor(Math.log10(step));
    return ten * [1, 2, 5, 10].find((factor) => ten * factor >= step);
  }

  function zoom(factor, about = (from + to) / 2) {
    const span = Math.min(length, Math.max(1, (to - from) * factor));
    from = Math.max(0, Math.min(length - span, about - (about - from) * (span / (to - from))));
    to = from + span;
    draw();
  }
  const move = (share) => {
    const by = Math.max(-from, Math.min(length - to, (to - from) * share));
    from += by;
    to += by;
    draw();
  };
  const all = () => { from = 0; to = length; draw(); };

  function at(event) {
    const rect = canvas.getBoundingClientRect();
    const y = event.clientY - rect.top + box.scrollTop;
    const us = usOf(event.clientX - rect.left);
    const row = shown.find((row) => y >= row.y && y < row.y + ROW);
    if (!row) return null;
    const near = ((to - from) / across()) * 2;
    const slice = row.slices.find(([begin, span]) => us >= begin - near && us <= begin + span + near);
    if (slice) return words(row, slice);
    const before = row.slices.filter(([begin, span]) => begin + span <= us).pop();
    const after = row.slices.find(([begin]) => begin >= us);
    if (!before || !after) return null;
    return `${row.node}: nothing at ${row.stage || "all"} for ${time((after[0] - before[0] - before[1]) * 1e3)}${gap(us)}`;
  }
  // Returns the text of a gap: the critical path at that time.
  function gap(us) {
    const step = told.path.find((bar) => us * 1e3 >= bar.begin_ns && us * 1e3 < bar.end_ns);
    return step ? `\ncritical path: ${step.name}` : "";
  }
  function words(row, [begin, span, busy, size, count, peer, name]) {
    const when = `at ${time(begin * 1e3)} for ${time(span * 1e3)}`;
    if (row.path) return `${name}\n${when}`;
    const other = peer > 0 ? told.nodes[peer - 1]?.name : null;
    const error = known(row.error) && row.error > 0 ? `\nclock error at most ${time(row.error)}` : "";
    const work = size > 0 ? `\n${bytes(size)}${span > 0 ? `, ${rate((size * 1e6) / span)}` : ""}` : "";
    const busyness = busy < 1000 ? `, busy ${(busy / 10).toFixed(0)} % of that` : "";
    return `${row.node}: ${row.stage}${other ? `, with ${other}` : ""}\n${when}${busyness}${work}${count > 1 ? `\n${count} blocks` : ""}${error}`;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from, to }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = ((drag.x - event.clientX) / across()) * (drag.to - drag.from);
      const span = drag.to - drag.from;
      from = Math.max(0, Math.min(length - span, drag.from + by));
      to = from + span;
      draw();
    }
    const text = at(event);
    if (text) showTip(text, event.clientX, event.clientY);
    else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", all);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, usOf(event.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  box.addEventListener("scroll", draw);
  box.addEventListener("keydown", (event) => {
    const act = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: all }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  const tools = el("div", { class: "tools" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("◀", "Earlier", () => move(-0.3)), button("▶", "Later", () => move(0.3)), button("All", "Show all of it", all));
  for (const stage of stages) {
    const toggle = el("button", { type: "button", "aria-pressed": "true" }, el("span", { class: "swatch", style: `background: var(${shade.get(stage)})` }), stage);
    toggle.addEventListener("click", () => {
      if (!hidden.delete(stage)) hidden.add(stage);
      toggle.setAttribute("aria-pressed", String(!hidden.has(stage)));
      place();
    });
    tools.append(toggle);
  }
  const section = part(parent, "Timeline", 3, tools, box, said,
    el("p", { class: "note" }, "Drag to move; Ctrl or Shift with the wheel, or + and −, to zoom. Pale bars were busy only part of the time. Point at a bar or a gap for details."));
  place();
  redraws.push(place);
  return section;
}
