// The speed-up curve with its interval, its knee, and the measured points.
function forecast(parent, told) {
  const curve = list(told?.forecast?.curve);
  if (curve.length === 0) return;
  const answer = told.forecast;
  const first = answer.curve[0];
  const growing = told.work === "growing";
  // Power is the time of one node over the time of several (with the work of all if each node adds work).
  const one = growing ? (first.power * first.seconds) / first.nodes : first.power * first.seconds;
  const power = (nodes, secs) => (known(secs) && secs > 0 ? (one / secs) * (growing ? nodes : 1) : null);
  const x = curve.map((at) => at.nodes);
  const measured = new Map();
  for (const point of list(told.points)) measured.set(point.nodes, point.seconds);
  const every = [...new Set([...x, ...measured.keys()])].sort((a, b) => a - b);
  const at = new Map(curve.map((point) => [point.nodes, point]));
  const column = (of) => every.map((nodes) => { const point = at.get(nodes); return point ? of(point) : null; });
  const knee = answer.knee;
  const section = part(parent, "Forecast", 2, document.getElementById("forecast-words"));
  chart(section, `Power by nodes${knee ? `; the knee is at ${number(knee.nodes)} nodes: ${knee.resource}` : ""}`, () => ({
    options: {
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high * 1.05 || 1] } },
      axes: [{ label: "nodes", labelSize: 20 }, { label: "power, in nodes", labelSize: 20, size: 60 }],
      series: [
        { label: "nodes" },
        line("forecast", 0, { points: { show: false } }),
        line("at least", 0, { width: 1, dash: [3, 3], points: { show: false } }),
        line("at most", 0, { width: 1, dash: [3, 3], points: { show: false } }),
        line("Amdahl", 1, { width: 1, points: { show: false } }),
        line("USL", 3, { width: 1, points: { show: false } }),
        line("measured", 4, { width: 0, paths: () => null, points: { show: true, size: 9, fill: colour("--c4") } }),
      ],
      bands: [{ series: [3, 2], fill: colour("--band") }],
      hooks: {
        draw: [(plot) => {
          if (!knee || knee.nodes > x[x.length - 1]) return;
          const pen = plot.ctx, left = plot.valToPos(knee.nodes, "x", true);
          pen.save();
          pen.strokeStyle = colour("--warn");
          pen.setLineDash([6, 4]);
          pen.beginPath();
          pen.moveTo(left, plot.bbox.top);
          pen.lineTo(left, plot.bbox.top + plot.bbox.height);
          pen.stroke();
          pen.restore();
        }],
      },
    },
    values: [every, column((p) => p.power), column((p) => power(p.nodes, p.interval?.[1])), column((p) => power(p.nodes, p.interval?.[0])),
      column((p) => power(p.nodes, p.amdahl)), column((p) => power(p.nodes, p.usl)), every.map((nodes) => power(nodes, measured.get(nodes)))],
  }));
  const columns = [
    ["nodes", (p) => p.nodes],
    ["time", (p) => seconds(p.seconds)],
    ["90 % interval", (p) => (p.interval ? `${seconds(p.interval[0])} to ${seconds(p.interval[1])}` : "-")],
    ["power", (p) => number(p.power)],
    ["by Amdahl", (p) => seconds(p.amdahl)],
    ["by USL", (p) => seconds(p.usl)],
    ["measured", (p) => seconds(measured.get(p.nodes))],
  ];
  if (curve.some((p) => p.cost)) {
    columns.push(["price", (p) => number(p.cost?.price)], ["price of power", (p) => number(p.cost?.of_power)], ["of more", (p) => number(p.cost?.of_more)]);
  }
  section.append(folded("The curve in numbers", table("The curve", columns, curve)));
  if (curve.some((p) => p.cost)) {
    chart(section, "What a unit of power costs", () => ({
      options: {
        scales: { x: { time: false } },
        axes: [{ label: "nodes", labelSize: 20 }, { label: "price of one node's power", labelSize: 20, size: 70 }],
        series: [{ label: "nodes" }, line("price of power", 2, { points: { show: false } })],
      },
      values: [x, curve.map((p) => p.cost?.of_power ?? null)],
    }));
  }
}
