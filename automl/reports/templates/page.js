// What a mark of a picture says: at once, on touch, and by keyboard. Without this script browsers show the marks' titles.
(() => {
  const REACH = 14; // pixels around a mark that still mean it: fingers are broad
  const tip = document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
  tip.setAttribute("role", "status");
  let shown = null;

  function show(mark) {
    if (mark === shown) return;
    shown?.classList.remove("f-on");
    shown = mark;
    tip.textContent = mark?.dataset.tip ?? "";
    if (!mark) return;
    mark.classList.add("f-on");
    const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = at.left + at.width / 2 - own.width / 2;
    const above = at.top - own.height - 8;
    tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - own.width - 8))}px`;
    tip.style.top = `${above < 8 ? at.bottom + 8 : above}px`;
  }

  function nearest(marks, event) {
    const direct = event.target.closest("[data-tip]");
    if (direct) return direct;
    let best = null, least = REACH;
    for (const mark of marks) {
      if (mark.tagName === "path" || mark.tagName === "line") continue; // their boxes are mostly empty
      const box = mark.getBoundingClientRect();
      const aside = Math.max(box.left - event.clientX, event.clientX - box.right, 0);
      const off = Math.max(box.top - event.clientY, event.clientY - box.bottom, 0);
      const distance = Math.hypot(aside, off);
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  }

  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  function walk(marks, event) {
    if (event.key === "Escape") return show(null);
    const step = STEPS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const from = marks.indexOf(shown);
    const next = marks[from < 0 ? 0 : Math.max(0, Math.min(from + step, marks.length - 1))];
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    show(next);
  }

  for (const picture of document.querySelectorAll("svg.figure")) {
    for (const title of picture.querySelectorAll("title")) {
      title.parentNode.dataset.tip = title.textContent;
      title.remove();
    }
    const marks = [...picture.querySelectorAll("[data-tip]")];
    if (!marks.length) continue;
    picture.addEventListener("pointermove", (event) => show(nearest(marks, event)));
    picture.addEventListener("pointerdown", (event) => show(nearest(marks, event)));
    picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
    if (picture.classList.contains("spark")) continue;
    picture.tabIndex = 0;
    picture.setAttribute("aria-keyshortcuts", "ArrowRight ArrowLeft");
    picture.addEventListener("keydown", (event) => walk(marks, event));
    picture.addEventListener("blur", () => show(null));
  }
  addEventListener("scroll", () => shown && !shown.closest("svg").matches(":focus") && show(null), { passive: true, capture: true });
  addEventListener("pointerdown", (event) => event.target.closest("svg.figure") || show(null));
})();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
