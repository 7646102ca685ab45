"use strict";
(function () {
  const root = document.documentElement;
  const filter = document.getElementById("filter");
  const help = document.getElementById("help");
  const rows = Array.from(document.querySelectorAll("[data-item]"));
  const texts = new Map();

  /* ---- filter: its state is part of the address, so that a link opens the same view ---- */

  function textOf(row) {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  }

  function applyFilter() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => textOf(row).includes(word));
      if (!row.hidden) shown += 1;
    }
    const all = words.length === 0;
    document.getElementById("filter-count").textContent = all ? "" : shown + " of " + rows.length + " rows";
  }

  function setHash(hash) {
    try {
      history.replaceState(null, "", hash || "#");
    } catch (error) {
      /* A sandboxed frame may not touch its history; the filter works all the same. */
    }
  }

  function setFilter(text) {
    filter.value = text;
    applyFilter();
  }

  filter.addEventListener("input", function () {
    applyFilter();
    setHash(filter.value ? "#filter=" + encodeURIComponent(filter.value) : "");
  });

  function decode(text) {
    try {
      return decodeURIComponent(text);
    } catch (error) {
      return text;
    }
  }

  function followHash() {
    const hash = location.hash.slice(1);
    if (hash.startsWith("filter=")) {
      setFilter(decode(hash.slice("filter=".length)));
      return;
    }
    const target = hash ? document.getElementById(decode(hash)) : null;
    if (!target) return;
    if (target.hidden) setFilter("");
    for (const details of target.querySelectorAll("details")) details.open = true;
    if (target.matches("[data-item]")) select(target);
    target.scrollIntoView();
    /* Sections on the way may take another height once they are laid out. */
    requestAnimationFrame(() => requestAnimationFrame(() => target.scrollIntoView()));
  }

  /* ---- rows: j and k walk over what is visible ---- */

  let current = null;

  function select(row) {
    if (current) current.classList.remove("current");
    current = row;
    row.classList.add("current");
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const visible = rows.filter((row) => !row.hidden && row.getClientRects().length);
    if (!visible.length) return;
    const at = visible.indexOf(current);
    const next = at < 0 ? (by > 0 ? 0 : visible.length - 1) : at + by;
    select(visible[Math.min(Math.max(next, 0), visible.length - 1)]);
  }

  function stepSection(by) {
    const heads = Array.from(document.querySelectorAll("main h2"));
    const line = document.querySelector(".topbar").offsetHeight + 24;
    const tops = heads.map((head) => head.getBoundingClientRect().top);
    let at = by > 0 ? tops.findIndex((top) => top > line) : tops.findLastIndex((top) => top < line - 30);
    if (at < 0) at = by > 0 ? heads.length - 1 : 0;
    heads[at].scrollIntoView();
  }

  /* ---- sorting: each head becomes a button; unknown values stay last ---- */

  function valueOf(body, column) {
    const cell = body.rows[0].cells[column];
    if ("sort" in cell.dataset) return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
    return cell.textContent.trim().toLowerCase();
  }

  function compare(a, b) {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return typeof a === "number" ? a - b : a.localeCompare(b);
  }

  function sortBy(head) {
    const table = head.closest("table");
    const numeric = head.classList.contains("num");
    const before = head.getAttribute("aria-sort");
    const ascending = before === "none" ? !numeric : before === "descending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const bodies = Array.from(table.tBodies).filter((body) => "item" in body.dataset);
    const keyed = bodies.map((body) => [valueOf(body, head.cellIndex), body]);
    keyed.sort(function (left, right) {
      const order = compare(left[0], right[0]);
      return ascending || left[0] === null || right[0] === null ? order : -order;
    });
    const rest = table.querySelector("tbody.rest");
    for (const [, body] of keyed) table.insertBefore(body, rest && rest.parentNode === table ? rest : null);
  }

  for (const head of document.querySelectorAll("th[aria-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(head));
    head.append(button);
  }

  function sortNext() {
    const table = current && current.closest("table");
    const heads = Array.from((table || document.querySelector("table")).querySelectorAll("th[aria-sort]"));
    const at = heads.findIndex((head) => head.getAttribute("aria-sort") !== "none");
    if (heads.length) sortBy(heads[(at + 1) % heads.length]);
    if (current) current.scrollIntoView({ block: "nearest" });
  }

  /* ---- theme, help, print ---- */

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function announceTheme() {
    document.dispatchEvent(new Event("compilescope-theme"));
  }

  function toggleTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("compilescope-theme", root.dataset.theme);
    } catch (error) {
      /* Without storage the choice lasts as long as the page. */
    }
    announceTheme();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announceTheme);
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.getElementById("help-open").addEventListener("click", () => help.showModal());
  document.getElementById("help-close").addEventListener("click", () => help.close());

  let opened = [];
  let screenTheme;
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    for (const details of opened) details.open = true;
    screenTheme = root.dataset.theme;
    root.classList.add("printing");
    root.dataset.theme = "light";
    announceTheme();
  });
  window.addEventListener("afterprint", function () {
    for (const details of opened) details.open = false;
    root.classList.remove("printing");
    if (screenTheme) root.dataset.theme = screenTheme;
    else delete root.dataset.theme;
    announceTheme();
  });

  const keys = {
    "/": () => filter.focus(),
    j: () => step(1),
    k: () => step(-1),
    "]": () => stepSection(1),
    "[": () => stepSection(-1),
    s: sortNext,
    t: toggleTheme,
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target === filter) {
      if (event.key === "Escape" || event.key === "Enter") {
        if (event.key === "Escape") {
          setFilter("");
          setHash("");
        }
        filter.blur();
        event.preventDefault();
      }
      return;
    }
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  window.addEventListener("hashchange", followHash);
  followHash();
})();
