"use strict";
/* User's line -> node, or all ops of a kernel where nodes have no line of their own -> kernel, drawn from the rows of a table of kernels when somebody asks for it. */
(function () {
  const MOST_KERNELS = 40;
  const ROW = 30;
  const BOX = 22;
  const COLUMNS = [
    { x: 0, width: 270, head: "User's line" },
    { x: 320, width: 220, head: "Nodes, ops" },
    { x: 590, width: 260, head: "Kernel" },
  ];

  function svg(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function oneLine(element) {
    return element.textContent.replace(/\s+/g, " ").trim();
  }

  function withoutFolder(line) {
    const folder = line.querySelector(".dir");
    return oneLine(line).slice(folder ? oneLine(folder).length : 0);
  }

  function kernelsOf(table) {
    return Array.from(table.tBodies[0].rows, function (row) {
      const [name, kind, , ops, lines] = row.cells;
      const nodes = Array.from(ops.querySelectorAll(".node"), function (node) {
        const at = node.querySelector(".at");
        return { text: oneLine(node.firstElementChild), lines: at ? [withoutFolder(at)] : [] };
      });
      const together = {
        text: oneLine(ops.firstChild || ops) || "no op known",
        lines: Array.from(lines.querySelectorAll("div:not(.sub)"), withoutFolder),
      };
      return {
        name: name.firstChild.textContent.trim() + " · " + kind.firstChild.textContent.trim(),
        parts: nodes.some((node) => node.lines.length) ? nodes : [together],
      };
    });
  }

  function box(column, row, text) {
    const { x, width } = COLUMNS[column];
    const most = Math.floor(width / 7.4);
    const group = svg("g", {});
    group.append(
      svg("title", {}, text),
      svg("rect", { x, y: row * ROW + 28, width, height: BOX, rx: 4 }),
      svg("text", { x: x + 8, y: row * ROW + 43 }, text.length > most ? text.slice(0, most - 1) + "…" : text)
    );
    return group;
  }

  function edge(column, from, to) {
    const x1 = COLUMNS[column].x + COLUMNS[column].width;
    const x2 = COLUMNS[column + 1].x;
    const [y1, y2] = [from, to].map((row) => row * ROW + 28 + BOX / 2);
    const middle = (x1 + x2) / 2;
    return svg("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  }

  function draw(every) {
    const kernels = every.slice(0, MOST_KERNELS);
    const lines = [...new Set(kernels.flatMap((kernel) => kernel.parts.flatMap((part) => part.lines)))];
    const parts = kernels.reduce((sum, kernel) => sum + kernel.parts.length, 0);
    const height = Math.max(parts, lines.length) * ROW + 34;
    const picture = svg("svg", { class: "flow", width: 854, height, viewBox: `-2 0 854 ${height}`, role: "img" });
    const left = every.length - kernels.length;
    const label = `${lines.length} lines, ${kernels.length} kernels${left ? `, ${left} more in the table` : ""}`;
    picture.setAttribute("aria-label", "From the user's lines over ops to kernels: " + label + ". The table has the same facts.");
    COLUMNS.forEach((column) => picture.append(svg("text", { x: column.x, y: 16, class: "head" }, column.head)));
    let row = 0;
    for (const kernel of kernels) {
      const own = row;
      for (const part of kernel.parts) {
        for (const line of part.lines) picture.append(edge(0, lines.indexOf(line), row));
        picture.append(edge(1, row, own), box(1, row, part.text));
        row += 1;
      }
      picture.append(box(2, own, kernel.name));
    }
    lines.forEach((line, row) => picture.append(box(0, row, line)));
    return picture;
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-flow]");
    if (!button) return;
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) button.nextElementSibling.remove();
    else {
      const place = document.createElement("div");
      place.className = "scroll";
      place.tabIndex = 0;
      place.setAttribute("role", "region");
      const row = button.closest("[data-item]");
      place.setAttribute("aria-label", "Picture of the flow" + (row ? " of " + row.id : ""));
      place.append(draw(kernelsOf(button.previousElementSibling)));
      button.after(place);
    }
  });
})();
