// Helpers of all parts of the page: elements, formatted numbers, colours, tables, charts.
const data = JSON.parse(document.getElementById("data").textContent);
const redraws = [];

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (key === "style") element.style.cssText = value;
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const known = (value) => typeof value === "number" && Number.isFinite(value);
// Returns the entries of a list, without null and undefined.
const list = (value) => (Array.isArray(value) ? value.filter((one) => one !== null && one !== undefined) : []);

function number(value) {
  if (!known(value)) return "-";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.01 || size >= 1e6)) return Number(value).toPrecision(3);
  return String(Number(Number(value).toPrecision(4)));
}

function time(ns) {
  if (!known(ns)) return "-";
  if (Math.abs(ns) < 0.5) return "0";
  for (const [unit, length] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (Math.abs(ns) >= length * 0.9995) return `${number(ns / length)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}
const seconds = (value) => (known(value) ? time(value * 1e9) : "-");

function bytes(value) {
  if (!known(value)) return "-";
  let size = Number(value);
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024 || unit === "TiB") return `${number(size)} ${unit}`;
    size /= 1024;
  }
  return "-";
}
const rate = (value) => (known(value) ? `${number(value / 1e6)} MB/s (${number((value * 8) / 1e9)} Gbit/s)` : "-");
const percent = (share) => (known(share) ? `${(share * 100).toFixed(1)} %` : "-");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// What time is spent on: one colour and one pattern each, in all parts of the page.
const KINDS = { wire: "wires", disk: "disks", processor: "processors", silent: "silent nodes", fixed: "set-up and teardown", wait: "waiting for others", unknown: "not known" };
const OF_CAUSES = {
  wire: "wire", loss: "wire", ssh: "wire", "send blocked by peer": "wire", "send blocked by local buffer": "wire",
  "source disk": "disk", "sink disk": "disk", fsync: "disk",
  "source CPU": "processor", seal: "processor", relay: "processor", processor: "processor", open: "processor", emulator: "processor",
  "dead node": "silent", pause: "silent",
  "set-up": "fixed", "busy agents": "fixed", "control round trips": "fixed", "final acknowledgement": "fixed", teardown: "fixed",
  "pipeline bubble": "wait", source: "wait", straggler: "wait",
};
// A straggler is shown as what it was slow at.
const kindOf = (row) => OF_CAUSES[row.cause === "straggler" && row.within ? row.within : row.cause] ?? "unknown";
const OF_STAGES = {
  send: "wire", receive: "wire", relay: "wire", "copying inputs": "wire", "returning outputs": "wire", read: "disk", write: "disk", fsync: "disk", pause: "silent",
  "set-up": "fixed", dial: "fixed", control: "fixed", commit: "fixed", "look-up": "fixed", change: "fixed",
};
const kindOfStage = (stage) => OF_STAGES[stage] ?? (stage.startsWith("wait") ? "wait" : "processor");

// Returns a cause with its place, as in garland explain.
function causeText(row) {
  const place = row.node && row.to ? ` ${row.node} to ${row.to}` : row.node ? ` ${row.node}` : "";
  return `${row.cause}${place}${row.within ? ` (${row.within})` : ""}`;
}

const swatch = (kind) => el("span", { class: `swatch k-${kind}`, "aria-hidden": "true" });
// Names all kinds that a picture shows, in the same order everywhere.
function legend(kinds) {
  const shown = new Set(kinds);
  return el("ul", { class: "legend" }, ...Object.entries(KINDS).filter(([kind]) => shown.has(kind)).map(([kind, words]) => el("li", {}, swatch(kind), words)));
}

// Names of nodes in pictures: in a lab, its prefix says nothing. Tables have the whole name.
const short = (name) => String(name).replace(/^lab:/, "");

// Returns round times of an axis of this length, about `count` of them.
function ticks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 5, 10].find((factor) => ten * factor >= rough);
  return Array.from({ length: Math.floor(to / step) - Math.ceil(from / step) + 1 }, (_, at) => (Math.ceil(from / step) + at) * step);
}

const series = (place) => `--c${place % 8}`;

// The level of the titles of a run's parts. Runs that are folded have titles of their own.
let runLevel = 2;

// Adds a part of the page, with an entry in the contents.
let parts = 0;
function part(parent, title, level, ...children) {
  const id = `part-${++parts}`;
  const heading = el(`h${level}`, { id }, title);
  const section = el("section", { "aria-labelledby": id }, heading, ...children);
  parent.append(section);
  return section;
}

// Adds a part that is folded away.
function fold(parent, title, level) {
  const id = `part-${++parts}`;
  const box = el("details", { class: "part" }, el("summary", {}, el(`h${level}`, { id }, title)));
  parent.append(box);
  return box;
}

// Columns are [title, of(row), kind]; kind "text" is left aligned.
function table(caption, columns, rows, classOf = () => null) {
  const head = el("tr", {}, ...columns.map(([title, , kind]) => el("th", { scope: "col", class: kind ?? null }, title)));
  const body = rows.map((row) => el("tr", { class: classOf(row) }, ...columns.map(([, of, kind]) => {
    const cell = of(row);
    return el("td", { class: kind ?? null }, cell instanceof Node ? cell : String(cell ?? "-"));
  })));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)));
}

// Makes a table sortable by buttons in its head. A column's fourth entry returns what to sort by.
function sortable(box, columns, rows) {
  const body = box.querySelector("tbody");
  const lines = [...body.children].map((line, place) => [line, rows[place]]);
  const heads = [...box.querySelectorAll("thead th")];
  columns.forEach(([title, , , value], place) => {
    if (!value) return;
    const button = el("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      const down = heads[place].getAttribute("aria-sort") === "ascending";
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[place].setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);
      const sorted = [...lines].sort(([, one], [, other]) => order(value(one), value(other)) * (down ? -1 : 1));
      body.append(...sorted.map(([line]) => line));
    });
    heads[place].replaceChildren(button);
  });
  return box;
}

// Folds many rows, which are unfolded on demand and when printed.
const folded = (words, ...inside) => el("details", {}, el("summary", {}, words), ...inside);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

// uPlot's legend switches series by the pointer; make the keys do the same.
function switchable(box) {
  for (const label of [...box.querySelectorAll(".u-legend .u-series th")].slice(1)) {
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      label.click();
    });
  }
}

// Adds a chart, which is redrawn when the page's width or colours change. `make` returns uPlot's options
// and data; `words` describe the chart to screen readers.
function chart(parent, words, make) {
  const box = el("div", { class: "chart", role: "group", "aria-label": words });
  parent.append(box);
  let plot = null;
  const draw = () => {
    // What is folded away has no size, and is drawn when it is opened.
    if (box.clientWidth === 0 && plot) return;
    if (plot) plot.destroy();
    const { options, values } = make();
    const width = Math.max(260, Math.min(options.widest ?? 1100, box.clientWidth || parent.clientWidth || 800));
    const height = options.tall ?? Math.max(200, Math.min(380, width * 0.5));
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const axes = options.axes.map((own) => ({ ...axis, ...own }));
    // The legend has values only while something is pointed at.
    const pointed = (plot) => box.classList.toggle("pointed", known(plot.cursor.idx));
    const hooks = { ...options.hooks, setCursor: [pointed, ...list(options.hooks?.setCursor)] };
    plot = new uPlot({ width, height, padding: [null, 28, null, null], ...options, axes, hooks }, values, box);
    box.plot = plot;
    switchable(box);
  };
  draw();
  redraws.push(draw);
  return box;
}

const line = (label, place, more = {}) => ({ label, stroke: colour(series(place)), width: 2, points: { size: 5 }, spanGaps: true, ...more });

const tip = el("div", { class: "tip", hidden: "", role: "status" });
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
}
const hideTip = () => { tip.hidden = true; };
