/* Runs before the first paint, so that a remembered theme does not flash. */
(function () {
  var root = document.documentElement;
  root.classList.replace("no-js", "js");
  try {
    var theme = localStorage.getItem("compilescope-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch (error) {
    /* A sandboxed frame has no storage: the system's preference stands. */
  }
})();
