// Runs before the page is drawn: the theme that was chosen here before; without a choice the system's stands.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("attribution-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch { /* storage is off: the system's theme */ }
})();
