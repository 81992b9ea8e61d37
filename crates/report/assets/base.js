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
// Returns a cause with its place, as in garland explain.
function causeText(row) {
  const place = row.node && row.to ? ` ${row.node} to ${row.to}` : row.node ? ` ${row.node}` : "";
  return `${row.cause}${place}${row.within ? ` (${row.within})` : ""}`;
}

const series = (place) => `--c${place % 8}`;

// Adds a part of the page, with an entry in the contents.
let parts = 0;
function part(parent, title, level, ...children) {
  const id = `part-${++parts}`;
  const heading = el(`h${level}`, { id }, title);
  const section = el("section", { "aria-labelledby": id }, heading, ...children);
  parent.append(section);
  return section;
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
    if (plot) plot.destroy();
    const { options, values } = make();
    const width = Math.max(260, Math.min(1100, box.clientWidth || parent.clientWidth || 800));
    const height = Math.max(200, Math.min(380, width * 0.5));
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const axes = options.axes.map((own) => ({ ...axis, ...own }));
    plot = new uPlot({ width, height, padding: [null, 28, null, null], ...options, axes }, values, box);
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
