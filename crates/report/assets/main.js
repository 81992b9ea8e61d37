// Adds all parts in order: of one run; or of one that leads, and of the others beside it; or the differences of
// several that are alike. All but the one that leads are folded.
// Describes a change in text as well as in colour, for readers who cannot see the colour.
function changed(change, worse, isNew) {
  if (isNew) return " (not in the first)";
  if (change === null) return "";
  const size = change > 9 ? `×${number(change + 1)}` : `${change >= 0 ? "+" : ""}${(change * 100).toFixed(1)} %`;
  return ` (${size}${worse === "more" ? ", worse" : worse === "less" ? ", better" : ""})`;
}

function differences(parent, runs) {
  if (runs.length < 2) return;
  const figures = [["elapsed_ns", "elapsed", time], ["rate", "rate", rate], ["stream_rate", "rate of the stream", rate], ["bytes", "bytes", bytes]];
  const names = [...new Set(runs.flatMap((run) => list(run.result?.phases).map((phase) => phase.name).filter(Boolean)))];
  const rows = figures.map(([key, label, show]) => ({ label, show, slower: key.includes("rate") ? -1 : 1, values: runs.map((run) => run.result?.[key]) }));
  for (const name of names) rows.push({ label: `phase ${name}`, show: time, slower: 1, values: runs.map((run) => list(run.result?.phases).find((phase) => phase.name === name)?.ns) });
  // Sum causes over all places, since nodes of other runs have other names.
  const causes = [...new Set(runs.flatMap((run) => list(run.explained?.rows).map((row) => row.cause)))];
  const of = (run, cause) => list(run.explained?.rows).filter((row) => row.cause === cause).reduce((all, row) => all + row.ns, 0);
  const most = (cause) => Math.max(...runs.map((run) => of(run, cause)));
  causes.sort((one, other) => most(other) - most(one));
  for (const cause of causes) rows.push({ label: cause, show: time, slower: 1, values: runs.map((run) => (run.explained ? of(run, cause) : null)) });
  const told = rows.filter((row) => row.values.some(known));
  // Only runs of the same kind can be faster or slower.
  const alike = runs.map((run) => run.result?.schema === runs[0].result?.schema && run.result?.bytes === runs[0].result?.bytes);
  const cells = (row) => row.values.map((value, place) => {
    const base = row.values[0];
    const compared = place > 0 && alike[place] && known(value) && known(base);
    const change = compared && base > 0 ? value / base - 1 : null;
    const worse = change === null || Math.abs(change) < 0.05 ? null : change * row.slower > 0 ? "more" : "less";
    return el("td", { class: worse }, row.show(value) + changed(change, worse, compared && base === 0 && value > 0));
  });
  const head = () => el("tr", {}, el("th", {}, "figure"), ...runs.map((run) => el("th", { scope: "col" }, run.title ?? "", el("br"), el("span", { class: "note" }, run.name))));
  const beside = (words, rows) => el("div", { class: "scroll beside", tabindex: "0", role: "region", "aria-label": words },
    el("table", {}, el("thead", {}, head()), el("tbody", {}, ...rows.map((row) => el("tr", {}, el("td", {}, row.label), ...cells(row))))));
  const isSmall = (row) => row.show === time && row.values.every((value, place) => !(value >= 0.01 * (runs[place].result?.elapsed_ns ?? 0)));
  const small = told.filter(isSmall);
  part(parent, "Side by side", 2, el("p", { class: "note" }, "Changes are relative to the first run, if it is of the same kind. Changes of 5 % and more are marked; worse means slower, or a larger share of the time."),
    beside("Runs side by side", told.filter((row) => !isSmall(row))),
    small.length > 0 ? folded("Phases and causes of less than 1 %", beside("Small times side by side", small)) : null);
}

// Invalid data may prevent one part from being shown, but not the others.
function attempt(parent, show) {
  try {
    show();
  } catch (error) {
    parent.append(el("p", { class: "note" }, `A part of the page cannot be shown, because its data is invalid: ${error.message}.`));
  }
}

function sheet(parent, run) {
  const result = run.result ?? {};
  for (const show of [
    () => chain(parent, run),
    () => ledger(parent, run),
    () => farm(parent, result),
    () => timeline(parent, run),
    () => heat(parent, result.heat),
    () => loads(parent, result),
    () => ping(parent, result),
    () => balance(parent, result),
    () => disks(parent, result),
    () => scenario(parent, result),
    () => nodes(parent, result),
  ]) attempt(parent, show);
  const details = fold(parent, "Details", runLevel);
  for (const show of [() => phases(details, result), () => pictures(details, run.pictures), () => environment(details, run)]) attempt(details, show);
}

const main = document.getElementById("runs");
document.body.append(tip);
if (data.leads) sheet(main, data.runs[0]);
attempt(main, () => differences(main, data.runs));
attempt(main, () => strips(main, data.runs));
attempt(main, () => farms(main, data.runs));
attempt(main, () => forecast(main, data.forecast));
// The answers of folded runs are folded, too.
const answers = [...document.querySelectorAll("header > section.run")];
runLevel = 3;
data.runs.forEach((run, place) => {
  if (data.leads && place === 0) return;
  const box = fold(main, `${run.title} (${run.name})`, 2);
  answers[place].querySelector("h2").remove();
  box.append(answers[place]);
  sheet(box, run);
});
const link = (title) => el("a", { href: `#${title.id}`, on: { click: () => { const inside = title.closest("details"); if (inside) inside.open = true; } } }, title.textContent);
document.getElementById("contents").append(el("ul", {}, ...[...main.querySelectorAll("h2[id]")].map((title) => el("li", {}, link(title)))));
let waiting = 0;
const again = () => { clearTimeout(waiting); waiting = setTimeout(() => redraws.forEach((draw) => draw()), 120); };
addEventListener("resize", again);
// What was folded away has its size only now.
document.addEventListener("toggle", again, true);
addEventListener("beforeprint", () => redraws.forEach((draw) => draw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
document.documentElement.dataset.drawn = "true";
