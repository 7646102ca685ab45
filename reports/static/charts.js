"use strict";
(function () {
  /* Colors stand in the style sheet; a probe resolves them for the current theme. */
  function color(name) {
    const probe = document.createElement("span");
    probe.style.color = "var(--" + name + ")";
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  function themed(figure) {
    const ink = color("ink");
    const line = color("line");
    const layout = figure.layout;
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { color: ink, size: 12, family: getComputedStyle(document.body).fontFamily };
    layout.hoverlabel = { bgcolor: color("panel"), bordercolor: line, font: { color: ink } };
    for (const axis of ["xaxis", "xaxis2", "yaxis"]) {
      Object.assign(layout[axis], { gridcolor: line, zerolinecolor: line, linecolor: line });
    }
    for (const trace of figure.data) {
      const fill = color("chart-" + trace.meta);
      trace.marker = Object.assign(trace.marker || {}, { color: fill });
      if (trace.marker.pattern) {
        Object.assign(trace.marker.pattern, { bgcolor: color("ground"), fgcolor: fill, size: 6, solidity: 0.5 });
        trace.marker.line = { color: fill, width: 1 };
      }
    }
    return figure;
  }

  const PRINTED_WIDTH_PX = 680; /* A4 and Letter between the margins */

  function draw() {
    if (!window.Plotly) return;
    const printing = document.documentElement.classList.contains("printing");
    for (const place of document.querySelectorAll("figure[data-chart]")) {
      const figure = themed(JSON.parse(document.getElementById(place.dataset.chart).textContent));
      /* On a resize Plotly takes the height of the element, which without one of its own is none. */
      place.style.height = figure.layout.height + "px";
      if (printing) figure.layout.width = PRINTED_WIDTH_PX;
      Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
    }
  }

  /* The page is read without its picture: the library is unpacked when nothing else is to be done. */
  async function load() {
    const script = document.createElement("script");
    script.textContent = await unpack("bundle");
    document.head.append(script);
    draw();
  }

  for (const place of document.querySelectorAll("figure[data-chart]")) {
    place.style.height = JSON.parse(document.getElementById(place.dataset.chart).textContent).layout.height + "px";
  }
  document.addEventListener("compilescope-theme", draw);
  if (window.requestIdleCallback) requestIdleCallback(load, { timeout: 1000 });
  else setTimeout(load, 50);
})();
