// Bars of one measure as a table, so that screen readers read the same contents.
// Rows are [label, value, text, kind]; a bar is as long as its value by `whole`.
function bars(caption, rows, whole, title = "") {
  const most = whole > 0 ? whole : 1;
  const bar = ([, value, , kind]) => (known(value) && value > 0 ? el("span", { class: kind ? `bar k-${kind}` : "bar", style: `width: ${Math.max(0, Math.min(1, value / most)) * 100}%` }) : "");
  const box = table(caption, [
    ["", (row) => row[0]],
    [title, (row) => row[2]],
    ["", (row) => bar(row), "of-bar"],
  ], rows);
  box.classList.add("bars");
  return box;
}
