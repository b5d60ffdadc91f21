"use strict";

/* Drawings of trees in the page: their size, words for their labels, the words of a constituent marked. */

const SVG = "http://www.w3.org/2000/svg";
const ROW = 22; // height of a line of the layout "side"
const MIN_ROWS = 12; // of a column, so that a short tree is not cut

/** Put the drawing of a sentence into its element, for a window with space of this width: in columns if it is long and
 *  narrow, scrolled to its root if it is wide. */
function fillDrawing(drawing, sentence, space, choose) {
  drawing.innerHTML = sentence.drawing; // generated and escaped by the server
  splitIntoColumns(drawing, space);
  for (const label of drawing.querySelectorAll("[data-constituent]")) {
    const constituent = sentence.constituents[Number(label.dataset.constituent)];
    const meaning = sentence.names[constituent.label];
    const about = [meaning ? `${constituent.label}: ${meaning}` : constituent.label, constituent.shown && `probability ${constituent.shown}`];
    addTooltip(label, about.filter(Boolean).join("; "));
    label.setAttribute("tabindex", "0");
    label.setAttribute("role", "button");
    const chosen = () => choose(Number(label.dataset.constituent));
    label.addEventListener("click", chosen);
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        chosen();
      }
    });
  }
  for (const tag of drawing.querySelectorAll(".tag")) {
    const name = tag.textContent.trim();
    if (sentence.tag_names[name]) addTooltip(tag, `${name}: ${sentence.tag_names[name]}`);
  }
  showRoot(drawing);
}

/** Add a text that shows while the pointer is over an element, in HTML or SVG; it is also its name for screen readers. */
function addTooltip(element, text) {
  element.setAttribute("aria-label", text);
  if (element.namespaceURI !== SVG) {
    element.title = text;
    return;
  }
  const title = document.createElementNS(SVG, "title");
  title.textContent = text;
  element.append(title);
}

/** Show a tree with a line for each word in as many columns as fit: each has the same drawing, with other lines in view. */
function splitIntoColumns(drawing, space) {
  const svg = drawing.querySelector("svg");
  const lines = svg ? [...svg.querySelectorAll(".side > text")] : [];
  const [width, height] = svg ? [svg.width.baseVal.value, svg.height.baseVal.value] : [0, 0];
  const fitting = Math.floor(space / (width + 1));
  const columns = Math.min(fitting, Math.floor(lines.length / MIN_ROWS), Math.ceil(height / (0.6 * window.innerHeight)));
  drawing.classList.toggle("columns", columns > 1);
  if (!(columns > 1)) return;
  const perColumn = Math.ceil(lines.length / columns), margin = height - lines.length * ROW;
  const parts = [];
  for (let first = 0; first < lines.length; first += perColumn) {
    const last = Math.min(first + perColumn, lines.length);
    const part = svg.cloneNode(true);
    const top = first ? margin / 2 + first * ROW : 0, bottom = last < lines.length ? margin / 2 + last * ROW : height;
    [...part.querySelectorAll(".side > text")].forEach((line, row) => {
      if (row < first || row >= last) line.remove();
    });
    part.setAttribute("viewBox", `0 ${top} ${width} ${bottom - top}`);
    part.setAttribute("height", bottom - top);
    part.querySelector("rect")?.setAttribute("height", height);
    parts.push(part);
  }
  drawing.replaceChildren(...parts);
}

/** Scroll a wide drawing so that its root is in the middle. */
function showRoot(drawing) {
  const root = drawing.querySelector('[data-constituent="0"]');
  if (!root || drawing.scrollWidth <= drawing.clientWidth || drawing.querySelector(".side")) return;
  const label = root.getBoundingClientRect(), box = drawing.getBoundingClientRect();
  drawing.scrollLeft += label.left + label.width / 2 - box.left - drawing.clientWidth / 2;
  drawing.scrollTop = 0;
}

/** Mark the words [start, end) of a drawing; those of other drawings are no longer marked. */
function mark(drawing, start, end) {
  for (const word of document.querySelectorAll(".hot")) word.classList.remove("hot");
  for (const word of drawing.querySelectorAll("[data-token]")) {
    const token = Number(word.dataset.token);
    word.classList.toggle("hot", token >= start && token < end);
  }
}

function download(text) {
  const isSvg = text.startsWith("<svg");
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: isSvg ? "image/svg+xml" : "text/html" }));
  link.download = isSvg ? "tree.svg" : "tree.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
