"use strict";

const $ = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let sentences = [];
let latest = 0; // number of the latest request: answers to earlier ones are ignored

/** Create an element with a class, and texts or elements in it. Texts never become markup. */
function make(name, className, ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

/** Send a request to the server and return its answer, or throw the error that it reports. */
async function request(path, body) {
  let reply;
  try {
    reply = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const answer = await reply.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

function showMessage(message) {
  $("message").textContent = message;
  $("message").hidden = !message;
}

function theme() {
  const chosen = $("theme").value;
  return chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
}

function percent(value) {
  if (value === null || value === undefined) return "–";
  return value < 0.001 ? "< 0.1 %" : `${(100 * value).toFixed(1)} %`;
}

async function parse() {
  const number = ++latest;
  document.documentElement.dataset.theme = theme();
  $("layout").disabled = $("style").value !== "tree";
  $("parse").disabled = true;
  try {
    const answer = await request("parse", {
      text: $("text").value, style: $("style").value, layout: $("layout").value, theme: theme(),
      scores: $("scores").checked, k: Number($("k").value) || 1,
    });
    if (number !== latest) return;
    showMessage("");
    sentences = answer.sentences;
    $("sentences").replaceChildren(...sentences.map(card));
  } catch (error) {
    if (number !== latest) return;
    showMessage(error.message);
    $("sentences").replaceChildren();
  } finally {
    if (number === latest) $("parse").disabled = false;
  }
  close();
}

/** Create the section of a sentence: its drawing, brackets and best trees. */
function card(sentence, index) {
  const drawing = make("div", "drawing");
  drawing.innerHTML = sentence.drawing; // generated and escaped by the server
  for (const label of drawing.querySelectorAll("[data-constituent]")) {
    const constituent = Number(label.dataset.constituent);
    label.setAttribute("tabindex", "0");
    label.setAttribute("role", "button");
    const choose = () => show(index, constituent, drawing);
    label.addEventListener("click", choose);
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    });
  }
  const foot = make("div", "foot", make("p", "", `Click a label for its alternatives and the reasons for it. ${sentence.probabilities}`));
  foot.append(make("details", "", make("summary", "", "In brackets"), make("pre", "", sentence.brackets)));
  const best = make("details", "k-best", make("summary", "", "The best trees"), make("p", "", sentence.k_note));
  if (sentence.k_best.length) {
    best.append(make("ol", "", ...sentence.k_best.map((tree, rank) => {
      const probability = tree.probability === null ? "" : `probability ${tree.probability.toFixed(2)}`;
      const margin = rank ? `worse by ${tree.margin.toFixed(3)}` : "";
      const other = rank ? tree.other.join("   ") || "the same constituents, other tags" : "the tree above";
      return make("li", "", make("span", "faint", [probability, margin, other].filter(Boolean).join("; ")), make("pre", "", tree.brackets));
    })));
  }
  foot.append(best);
  const save = make("button", "", $("style").value === "tree" ? "Save the SVG" : "Save the HTML");
  save.type = "button";
  save.addEventListener("click", () => download(sentence.drawing));
  foot.append(make("p", "", save));
  return make("section", "", drawing, foot);
}

function download(text) {
  const isSvg = text.startsWith("<svg");
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: isSvg ? "image/svg+xml" : "text/html" }));
  link.download = isSvg ? "tree.svg" : "tree.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function mark(drawing, start, end) {
  for (const word of document.querySelectorAll(".hot")) word.classList.remove("hot");
  for (const word of drawing.querySelectorAll("[data-token]")) {
    const token = Number(word.dataset.token);
    word.classList.toggle("hot", token >= start && token < end);
  }
}

function close() {
  $("details").hidden = true;
  document.querySelector("main").classList.remove("with-details");
  for (const element of document.querySelectorAll(".chosen, .hot")) element.classList.remove("chosen", "hot");
}

/** Show the panel of one constituent. */
async function show(index, constituent, drawing) {
  const sentence = sentences[index], span = sentence.constituents[constituent];
  const words = (from, to) => sentence.words.slice(from, to).join(" ");
  for (const element of document.querySelectorAll(".chosen")) element.classList.remove("chosen");
  for (const element of drawing.querySelectorAll(`[data-constituent="${constituent}"]`)) element.classList.add("chosen");
  mark(drawing, span.start, span.end);
  const panel = $("details"), closeButton = make("button", "close", "×");
  closeButton.type = "button";
  closeButton.title = "Close";
  closeButton.addEventListener("click", close);
  panel.replaceChildren(closeButton, make("h2", "", `${span.label}: ${words(span.start, span.end)}`), make("p", "faint", "Loading …"));
  panel.hidden = false;
  document.querySelector("main").classList.add("with-details");
  const loading = panel.lastChild;
  let answer;
  try {
    answer = await request("explain", { words: sentence.words, tags: sentence.tags, ...span });
  } catch (error) {
    loading.className = "minus";
    loading.textContent = error.message;
    return;
  }
  if (panel.lastChild !== loading) return; // another label was clicked in the meantime
  loading.remove();
  if (typeof answer.probability === "number") panel.append(make("p", "", `Probability ${percent(answer.probability)}`));
  panel.append(make("h3", "", "Alternatives"), answer.alternatives.length
    ? alternatives(answer.alternatives, words, drawing)
    : make("p", "faint", "None is probable enough."));
  panel.append(make("h3", "", "Why"), ...why(answer));
}

function alternatives(found, words, drawing) {
  const table = make("table", "alternatives");
  for (const one of found) {
    const row = make("tr", "choice", make("td", "number", percent(one.probability)),
      make("td", "", make("b", "", one.label), ` ${words(one.start, one.end)}`), make("td", "faint", RELATIONS[one.relation]));
    row.tabIndex = 0;
    const choose = () => mark(drawing, one.start, one.end);
    row.addEventListener("click", choose);
    row.addEventListener("focus", choose);
    table.append(row);
  }
  return table;
}

const RELATIONS = { "same span": "another label", crosses: "crosses it", contains: "contains it", shorter: "shorter" };
const SMALL = 0.05, MAX_FACTS = 3;

function why(explanation) {
  const parts = [make("p", "", explanation.decided)];
  if (!explanation.groups.length) return parts;
  const next = explanation.runner_up ? ` (next label ${explanation.runner_up}, ${signed(explanation.score - explanation.margin)})` : "";
  parts.push(make("p", "", `The rules' score is ${signed(explanation.score)}${next}. Features that they test:`));
  const size = (one) => -Math.abs(one.value);
  for (const group of [...explanation.groups].sort((a, b) => size(a) - size(b))) {
    if (Math.abs(group.value) < SMALL) continue;
    parts.push(signedLine(group.value, ` ${group.name}`));
    const facts = group.facts.filter((fact) => Math.abs(fact.value) >= SMALL).sort((a, b) => size(a) - size(b));
    for (const fact of facts.slice(0, MAX_FACTS)) parts.push(make("p", "fact", `${fact.words} ${signed(fact.value)}`));
  }
  const rules = make("details", "", make("summary", "", "The largest rules"));
  for (const rule of explanation.rules) rules.append(make("p", "rule", rule));
  return [...parts, rules];
}

function signedLine(value, text) {
  return make("p", "rule", make("b", value < 0 ? "minus" : "plus", signed(value)), text);
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  parse();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    parse();
  }
});
for (const id of ["style", "layout", "theme", "scores", "k"]) $(id).addEventListener("change", parse);
dark.addEventListener("change", () => $("theme").value === "auto" && parse());
document.addEventListener("keydown", (event) => event.key === "Escape" && close());

request("about").then((about) => {
  $("about").textContent = `${about.pipeline}, ${about.parser}`;
  $("text").maxLength = about.max_characters;
  $("k-option").hidden = !about.has_k_best;
}).catch((error) => showMessage(error.message)).finally(parse);
