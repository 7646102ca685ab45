"use strict";
(function () {
  const LONGEST_COLORED = 300000; /* characters: more spans than that make a tab stall */
  const WORDS =
    "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|" +
    "global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield";
  const TOKENS = new RegExp(
    [
      "(#[^\\n]*)",
      "([rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?\"\"\"|'''[\\s\\S]*?'''|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'))",
      "\\b(" + WORDS + ")\\b",
      "(@[\\w.]+|(?<=\\b(?:def|class) )\\w+)",
      "\\b(\\d[\\w.]*)",
    ].join("|"),
    "g"
  );
  const KINDS = ["comment", "string", "word", "name", "number"];
  const blocks = new Map();
  let shownTexts = 0; /* texts shown so far: each has a name of its own */

  function textsOf(block) {
    if (!blocks.has(block)) blocks.set(block, unpack("block-" + block).then((content) => content.split("\0")));
    return blocks.get(block);
  }

  /* Only ever as text nodes: what was recorded cannot become markup. */
  function colored(code) {
    const made = document.createDocumentFragment();
    let from = 0;
    for (const found of code.slice(0, LONGEST_COLORED).matchAll(TOKENS)) {
      made.append(code.slice(from, found.index));
      const span = document.createElement("span");
      span.className = "t-" + KINDS[found.slice(1).findIndex((group) => group !== undefined)];
      span.textContent = found[0];
      made.append(span);
      from = found.index + found[0].length;
    }
    made.append(code.slice(from));
    return made;
  }

  function element(tag, className, ...children) {
    const made = document.createElement(tag);
    made.className = className;
    made.append(...children);
    return made;
  }

  function shown(code, label) {
    const lines = code.replace(/\n$/, "").split("\n").length;
    const numbers = element("pre", "numbers", Array.from({ length: lines }, (_, n) => n + 1).join("\n"));
    numbers.setAttribute("aria-hidden", "true");
    const box = element("div", "text-box", numbers, element("pre", "", colored(code)));
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    return box;
  }

  async function toggle(button) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      const box = document.getElementById(button.getAttribute("aria-controls"));
      if (box) box.remove();
      button.removeAttribute("aria-controls");
      return;
    }
    const [block, part] = button.dataset.text.split(".").map(Number);
    const code = (await textsOf(block))[part];
    if (button.getAttribute("aria-expanded") !== "true" || button.hasAttribute("aria-controls")) return;
    const row = button.closest("[data-item]");
    shownTexts += 1;
    const box = shown(code, "Text " + shownTexts + ": " + button.textContent + (row && row.id ? " of " + row.id : ""));
    box.id = "text-" + shownTexts;
    button.setAttribute("aria-controls", box.id);
    button.closest(".texts").after(box);
  }

  for (const button of document.querySelectorAll("[data-text]")) button.setAttribute("aria-expanded", "false");
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-text]");
    if (button) toggle(button);
  });
})();
