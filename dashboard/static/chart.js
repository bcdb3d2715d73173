// Draws each figure[data-chart] from the table inside it with uPlot; the server's own drawing and the table stay the fallback.
"use strict";
(() => {
  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function read(table) {
    const names = [...table.tHead.rows[0].cells].slice(2).map((cell) => ({ key: cell.dataset.key, label: cell.textContent.trim() }));
    const times = [], columns = names.map(() => []);
    for (const row of table.tBodies[0].rows) {
      times.push(Date.parse(row.cells[0].dataset.start) / 1000);
      names.forEach((_, index) => columns[index].push(Number(row.cells[index + 2].textContent.replaceAll(",", ""))));
    }
    return { names, times, columns };
  }

  // uPlot draws series over one another: the sums of what lies below make them a stack, the top one drawn first.
  function stacked(columns) {
    const sums = columns.map((column) => column.slice());
    for (let index = 1; index < sums.length; index += 1) {
      for (let at = 0; at < sums[index].length; at += 1) sums[index][at] += sums[index - 1][at];
    }
    return sums;
  }

  // Days and hours in UTC, as everywhere else on the pages.
  function moments(_, splits) {
    const hours = splits.length > 1 && splits[1] - splits[0] < 86400;
    return splits.map((at) => {
      const text = new Date(at * 1000).toISOString();
      return hours && !text.includes("T00:00") ? text.slice(11, 16) : text.slice(5, 10);
    });
  }

  function draw(figure) {
    const { names, times, columns } = read(figure.querySelector("details table"));
    if (times.length < 2) return;
    const place = figure.querySelector(".chart");
    place.replaceChildren();
    const sums = stacked(columns);
    const bars = uPlot.paths.bars({ size: [0.86, 60] });
    const axis = { stroke: value("--soft"), grid: { stroke: value("--line"), width: 1 }, ticks: { stroke: value("--line") } };
    const series = names.map((name, index) => ({
      label: name.label, fill: value(`--${name.key}`), width: 0, paths: bars, points: { show: false },
      value: (_, __, ___, at) => (at === null || at === undefined ? "–" : String(columns[index][at])),
    })).reverse();
    new uPlot({
      width: place.clientWidth, height: 190, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      cursor: { y: false }, scales: { x: { time: true }, y: { range: (_, __, high) => [0, Math.max(1, high * 1.05)] } },
      axes: [{ ...axis, values: moments }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] }],
      series: [{ label: "UTC", value: "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...series],
    }, [times, ...sums.reverse()], place);
    figure.querySelector(".bars")?.setAttribute("hidden", "");
  }

  function all() { document.querySelectorAll("figure[data-chart]").forEach(draw); }

  all();
  document.addEventListener("themechange", all);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
})();
