// The script of the pages. It replaces panels that have changed, fetches the rows that are in view,
// and lets sliders move their numbers; without it, everything is there all the same.

extension WebAssets {
  public static let script = #"""
    "use strict";
    (() => {
      const byId = (id) => document.getElementById(id);
      const connection = byId("connection");
      const say = (words, isBad) => {
        if (!connection || connection.textContent === words) return;
        connection.textContent = words;
        connection.classList.toggle("offline", Boolean(isBad));
      };

      // Panels

      const waiting = new Map();
      const isInUse = (panel) => {
        const active = document.activeElement;
        return panel.contains(active) && active.matches("input, select, textarea");
      };
      const replace = (name, html) => {
        const panel = byId("panel-" + name);
        if (!panel) return;
        if (isInUse(panel)) {
          waiting.set(name, html);
          return;
        }
        const active = document.activeElement;
        const address = panel.contains(active) ? active.getAttribute("href") : null;
        const index = panel.contains(active)
          ? [...panel.querySelectorAll("a, button, summary")].indexOf(active) : -1;
        const open = [...panel.querySelectorAll("details[open]")].map((each) => each.id);
        panel.innerHTML = html;
        for (const id of open) if (id && byId(id)) byId(id).open = true;
        const candidates = [...panel.querySelectorAll("a, button, summary")];
        const again = candidates.find((each) => address && each.getAttribute("href") === address)
          ?? candidates[index];
        if (again) again.focus({ preventScroll: true });
        watchSliders(panel);
      };
      document.addEventListener("focusout", () => setTimeout(() => {
        for (const [name, html] of [...waiting]) {
          waiting.delete(name);
          replace(name, html);
        }
      }, 0));

      // Sliders

      const watchSliders = (root) => {
        for (const slider of root.querySelectorAll("input.slider")) {
          const number = slider.parentElement.querySelector("input[type=number]");
          slider.addEventListener("input", () => { number.value = slider.value; });
          number.addEventListener("input", () => { slider.value = number.value || 0; });
        }
      };
      watchSliders(document);

      // Rows: those in view and their neighbours, however many there are.

      const rows = byId("rows");
      const height = 30;
      const tallest = 12000000;
      let refreshRows = () => {};
      if (rows) {
        const atOnce = Number(rows.dataset.atOnce);
        let count = Number(rows.dataset.count);
        const chunks = new Map();
        const space = document.createElement("div");
        space.className = "space";
        space.setAttribute("aria-hidden", "true");
        rows.replaceChildren(space);
        const scale = () => Math.max(1, count * height / tallest);
        const stretch = () => {
          space.style.height = Math.min(count * height, tallest) + "px";
          rows.setAttribute("aria-rowcount", String(count));
          byId("row-count").textContent = count.toLocaleString("en") + " operations";
        };
        const place = (element, first) => {
          const top = first * height - rows.scrollTop * scale() + rows.scrollTop;
          element.style.top = top + "px";
        };
        const fetchChunk = async (number) => {
          const chunk = chunks.get(number) ?? { element: null, isFetching: false };
          chunks.set(number, chunk);
          if (chunk.isFetching) {
            chunk.isStale = true;
            return;
          }
          chunk.isFetching = true;
          chunk.isStale = false;
          try {
            const answer = await fetch(rows.dataset.source + "&from=" + number * atOnce);
            if (!answer.ok) return;
            const told = Number(answer.headers.get("X-Row-Count"));
            const template = document.createElement("template");
            template.innerHTML = await answer.text();
            const element = template.content.firstElementChild;
            if (!element || !chunks.has(number)) return;
            element.classList.add("placed");
            const active = document.activeElement;
            const address = chunk.element?.contains(active) ? active.getAttribute("href") : null;
            if (chunk.element) chunk.element.replaceWith(element); else rows.append(element);
            chunk.element = element;
            place(element, number * atOnce);
            if (address) element.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus();
            if (Number.isFinite(told) && told !== count) { count = told; stretch(); }
          } catch { /* The stream tells of it. */ } finally {
            chunk.isFetching = false;
            if (chunk.isStale && chunks.get(number) === chunk) fetchChunk(number);
            else if (!chunk.element) setTimeout(() => show(false), 3000);
          }
        };
        const inView = () => {
          const first = Math.floor(rows.scrollTop * scale() / height / atOnce);
          const last = Math.floor((rows.scrollTop * scale() + rows.clientHeight) / height / atOnce);
          const end = Math.max(0, Math.ceil(count / atOnce) - 1);
          return [Math.max(0, first), Math.min(end, last)];
        };
        const show = (isAgain) => {
          const [first, last] = inView();
          for (const [number, chunk] of [...chunks]) {
            const isFar = number < first - 2 || number > last + 2;
            // What is not in view is fetched anew when it comes into view.
            if (isFar || (isAgain && (number < first || number > last))) {
              chunk.element?.remove();
              chunks.delete(number);
            } else if (chunk.element) place(chunk.element, number * atOnce);
          }
          for (let number = first; number <= last; number += 1) {
            if (isAgain || !chunks.get(number)?.element) fetchChunk(number);
          }
        };
        let isPlanned = false;
        rows.addEventListener("scroll", () => {
          if (isPlanned) return;
          isPlanned = true;
          requestAnimationFrame(() => { isPlanned = false; show(false); });
        });
        rows.addEventListener("keydown", (event) => {
          if (event.target !== rows) return;
          const step = { ArrowDown: height, ArrowUp: -height }[event.key];
          if (!step) return;
          event.preventDefault();
          rows.scrollTop += step;
        });
        stretch();
        show(false);
        refreshRows = () => show(true);
      }

      // The map: a click goes to the row of the cell.

      document.addEventListener("click", (event) => {
        const map = event.target.closest?.("svg.heat");
        if (!map || !rows) return;
        const box = map.getBoundingClientRect();
        const cell = Number(map.dataset.cell) * box.width / map.viewBox.baseVal.width;
        const columns = Number(map.dataset.columns);
        const number = Math.floor((event.clientY - box.top) / cell) * columns
          + Math.floor((event.clientX - box.left) / cell);
        const index = Number(map.dataset.first) + number * Number(map.dataset.perCell);
        const first = rows.dataset.source.endsWith("?");
        if (!first) {
          location.href = `/graphs/${rows.dataset.source.split("/")[2]}/operations/${index}`;
          return;
        }
        rows.scrollIntoView({ block: "nearest" });
        rows.scrollTop = index * height / Math.max(1, Number(rows.getAttribute("aria-rowcount"))
          * height / tallest);
        rows.focus({ preventScroll: true });
      });

      // Live

      const address = document.body.dataset.live;
      if (!address || !window.EventSource) return;
      let source = null;
      const listen = () => {
        source = new EventSource(address);
        source.addEventListener("open", () => say(" · live"));
        source.addEventListener("error", () => {
          const isOver = source.readyState === EventSource.CLOSED;
          say(isOver ? " · ended: load the page again" : " · connection lost, trying again", true);
        });
        source.addEventListener("panel", (event) => {
          const panel = JSON.parse(event.data);
          replace(panel.name, panel.html);
        });
        source.addEventListener("rows", () => refreshRows());
        source.addEventListener("state", (event) => {
          const state = JSON.parse(event.data);
          say(state.isReached ? " · live" : " · " + state.words, !state.isReached);
        });
        source.addEventListener("log", (event) => {
          const piece = JSON.parse(event.data);
          const log = byId("log-" + piece.stream);
          if (!log) return;
          const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
          log.textContent = piece.isAgain ? piece.text : log.textContent + piece.text;
          if (log.textContent.length > 400000) log.textContent = log.textContent.slice(-200000);
          if (isAtEnd) log.scrollTop = log.scrollHeight;
        });
      };
      // A browser has few connections to a place: pages that nobody sees need none.
      const attend = () => {
        if (document.hidden) {
          source?.close();
          source = null;
        } else if (!source) listen();
      };
      document.addEventListener("visibilitychange", attend);
      window.addEventListener("pageshow", attend);
      window.addEventListener("pagehide", () => {
        source?.close();
        source = null;
      });
      attend();
    })();
    """#
}
