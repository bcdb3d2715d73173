// What makes pages handier where scripts run. Everything works without: this only adds.
"use strict";
(() => {
  const root = document.documentElement;

  function dark() {
    return (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  }

  function themeButton() {
    const button = document.getElementById("theme");
    if (!button) return;
    const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
    name();
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("attribution-theme", root.dataset.theme); } catch { /* lasts for this page only */ }
      name();
      document.dispatchEvent(new Event("themechange"));
    });
  }

  function copyButtons() {
    for (const button of document.querySelectorAll("button[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        const source = document.getElementById(button.dataset.copy);
        const said = document.getElementById("said");
        try {
          await navigator.clipboard.writeText(source.value);
          said.textContent = "Copied.";
        } catch {
          source.closest("details").open = true;
          source.focus();
          source.select();
          said.textContent = "Press Ctrl+C to copy the selected text.";
        }
      });
    }
  }

  // "/" goes to the search for a job, as in many tools of operators.
  function slash() {
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const search = document.getElementById("jump-job");
      if (search) { event.preventDefault(); search.focus(); }
    });
  }

  themeButton();
  copyButtons();
  slash();
})();
