// A topology: a picture, and a table with the same contents.
const bits = (value) => {
  if (!known(value)) return "not limited";
  for (const [unit, size] of [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]]) if (value >= size) return `${number(value / size)} ${unit}`;
  return `${number(value)} bit/s`;
};

function pictures(parent, told) {
  const all = list(told);
  if (all.length === 0) return;
  const section = part(parent, all.length > 1 ? "Topologies" : "Topology", runLevel + 1);
  for (const one of all) {
    const words = `${one.name}: ${one.nodes} nodes, ${one.nics} NICs, ${one.joints.length} ${one.joints.length === 1 ? "medium" : "media"}`;
    section.append(el("p", {}, words));
    if (one.svg) {
      const drawn = new DOMParser().parseFromString(one.svg, "image/svg+xml").documentElement;
      drawn.setAttribute("role", "img");
      drawn.setAttribute("aria-label", `Picture of ${words}`);
      section.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Picture of ${one.name}` }, document.importNode(drawn, true)));
    } else section.append(el("p", { class: "note" }, "There are too many nodes to draw."));
    const few = one.joints.slice(0, 200);
    section.append(folded("NICs by medium", table(`The media of ${one.name}`, [
      ["medium", (joint) => joint.name],
      ["kind", (joint) => joint.kind, "text"],
      ["rate", (joint) => bits(joint.bits_per_second)],
      ["NICs", (joint) => joint.stations.join(", "), "text"],
    ], few), one.joints.length > few.length ? el("p", { class: "note" }, `and ${one.joints.length - few.length} more`) : null));
  }
}
