"use strict";

/* Drawings of trees in the page: their size, words for their labels, the words of a constituent marked. */

const SVG = "http://www.w3.org/2000/svg";
const ROW = 22; // height of a line of the layout "side"
const MIN_ROWS = 12; // of a column, so that a short tree is not cut

/** Put the drawing of a sentence into its element, for a window with space of this width: in columns if it is long and
 *  narrow, scrolled to its root if it is wide. `height`, `smallest`: see splitIntoColumns. */
function fillDrawing(drawing, sentence, space, choose, height = 0.6 * window.innerHeight, smallest = 1) {
  drawing.innerHTML = sentence.drawing; // generated and escaped by the server
  splitIntoColumns(drawing, space, height, smallest);
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

/** Show a tree with a line for each word in columns, no more than fit and as many as make it low enough: each has the same drawing, with
 *  other lines in view, and is as wide as its lines. `height`: of the space, in pixels; `smallest`: the scale down to which the drawing may
 *  shrink to fit into the space. */
function splitIntoColumns(drawing, space, height, smallest) {
  const svg = drawing.querySelector("svg");
  const lines = svg ? [...svg.querySelectorAll(".side > text")] : [];
  drawing.classList.remove("columns");
  if (!svg) return;
  const [width, whole] = [svg.width.baseVal.value, svg.height.baseVal.value];
  const margin = whole - lines.length * ROW;
  const ends = lines.map((line) => endOf(line, width));
  const most = Math.max(1, Math.floor(lines.length / MIN_ROWS));
  let chosen = [{ first: 0, last: lines.length, width }], scale = 1;
  for (; ; scale = Math.max(smallest, scale - 0.07)) {
    for (let count = 2; count <= most && tallest(chosen) + margin > height / scale; count++) {
      const columns = columnsOf(ends, count, width);
      if (columns.reduce((sum, one) => sum + one.width + 1, 0) > space / scale) break;
      chosen = columns;
    }
    const tall = lines.length ? tallest(chosen) + margin : whole;
    if (tall <= height / scale || scale <= smallest) break;
  }
  if (chosen.length === 1) {
    resize(svg, width, whole, 0, scale);
    return;
  }
  drawing.classList.add("columns");
  drawing.replaceChildren(...chosen.map(({ first, last, width: wide }) => {
    const part = svg.cloneNode(true);
    const top = first ? margin / 2 + first * ROW : 0, bottom = last < lines.length ? margin / 2 + last * ROW : whole;
    [...part.querySelectorAll(".side > text")].forEach((line, row) => {
      if (row < first || row >= last) line.remove();
    });
    resize(part, wide, bottom - top, top, scale);
    part.querySelector("rect")?.setAttribute("height", whole);
    return part;
  }));
}

/** The end of a line of a drawing, in its pixels; the drawing's width if the browser does not know it. */
function endOf(line, width) {
  const box = line.getBBox();
  return box.width ? Math.min(width, Math.ceil(box.x + box.width) + 16) : width;
}

/** Lines of `ends` in a number of columns, each with its first and last line and its width. */
function columnsOf(ends, count, width) {
  const perColumn = Math.ceil(ends.length / count), columns = [];
  for (let first = 0; first < ends.length; first += perColumn) {
    const last = Math.min(first + perColumn, ends.length);
    columns.push({ first, last, width: Math.min(width, Math.max(...ends.slice(first, last))) });
  }
  return columns;
}

const tallest = (columns) => ROW * Math.max(...columns.map((one) => one.last - one.first));

/** Show a part of a drawing, at a scale. */
function resize(svg, width, height, top, scale) {
  svg.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
  svg.setAttribute("width", width * scale);
  svg.setAttribute("height", height * scale);
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
