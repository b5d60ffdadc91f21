"use strict";

const narrow = window.matchMedia("(max-width: 860px)"); // as in page.css
const panel = $("details"); // of one constituent
let sentences = [];
let latest = 0; // number of the latest request: answers to earlier ones are ignored
let chosen = null; // the constituent in the panel: the number of its sentence, its own, and the words to mark
let drawnWidth = 0; // of the window when the trees were drawn
let maxCharacters = 5000;

function theme() {
  const chosen = $("theme").value;
  return chosen === "auto" ? systemTheme() : chosen;
}

/** The text in the page's address, #text=… or ?text=…; "" if there is none. It is only ever the value of a field. */
function textOfAddress() {
  for (const part of [location.hash.slice(1), location.search.slice(1)]) {
    const text = new URLSearchParams(part).get("text");
    if (text) return text.slice(0, maxCharacters);
  }
  return "";
}

/** Put the text into the address, after #: browsers do not send this part to servers. */
function writeAddress() {
  const text = $("text").value;
  if (!text.trim() || text === textOfAddress()) return;
  history.replaceState(null, "", `${location.pathname}#${new URLSearchParams({ text })}`);
}

async function parse() {
  const number = ++latest;
  document.documentElement.dataset.theme = theme();
  $("layout").disabled = $("style").value !== "tree";
  $("parse").disabled = true;
  try {
    const answer = await request("parse", {
      text: $("text").value, style: $("style").value, layout: $("layout").value, theme: theme(),
      probabilities: $("probabilities").checked, k: Number($("k").value) || 1, width: availableWidth(),
    });
    if (number !== latest) return;
    showMessage("");
    $("note").textContent = answer.note;
    $("note").hidden = !answer.note;
    sentences = answer.sentences;
    close();
    $("sentences").replaceChildren(...sentences.map(card));
    drawAll();
  } catch (error) {
    if (number !== latest) return;
    showMessage(error.message);
    $("note").hidden = true;
    close();
    $("sentences").replaceChildren();
  } finally {
    if (number === latest) $("parse").disabled = false;
  }
}

/** The width of a drawing in pixels, while the panel is closed. */
function availableWidth() {
  return Math.max(1, document.querySelector("main").clientWidth - 2);
}

function drawings() {
  return document.querySelectorAll(".drawing");
}

/** Fill all drawings: after a request, and again when the width of the window changes. */
function drawAll() {
  const space = drawnWidth = availableWidth();
  drawings().forEach((drawing, index) => {
    fillDrawing(drawing, sentences[index], space, (constituent) => show(index, constituent));
  });
  markChosen();
}

/** Create the section of a sentence: its drawing, which is still empty, brackets and best trees. */
function card(sentence) {
  const drawing = make("div", "drawing");
  const foot = make("div", "foot", make("p", "", `Click a label for its alternatives and the reasons for it. ${sentence.probabilities}`));
  foot.append(make("details", "", make("summary", "", "In brackets"), make("pre", "", sentence.brackets)));
  const best = make("details", "k-best", make("summary", "", "The best trees"), make("p", "", sentence.k_note));
  if (sentence.k_best.length) {
    best.append(make("ol", "", ...sentence.k_best.map((tree, rank) => {
      const probability = tree.shown && `probability ${tree.shown}`;
      const margin = rank ? `worse by ${tree.margin.toFixed(3)}` : "";
      const other = rank ? tree.other.join("   ") || "the same constituents, other tags" : "the tree above";
      return make("li", "", make("span", "faint", [probability, margin, other].filter(Boolean).join("; ")), make("pre", "", tree.brackets));
    })));
  }
  foot.append(best);
  const save = $("style").value === "tree" ? "Save the SVG" : "Save the HTML";
  foot.append(make("p", "", button(save, "", () => download(sentence.drawing))));
  return make("section", "", drawing, foot);
}

function close() {
  chosen = null;
  panel.hidden = true;
  placePanel();
  document.querySelector("main").classList.remove("with-details");
  for (const element of document.querySelectorAll(".chosen, .hot")) element.classList.remove("chosen", "hot");
}

/** Put the panel below the tree that it belongs to in a narrow window, else beside the sentences. */
function placePanel() {
  if (narrow.matches && chosen) drawings()[chosen.index].after(panel);
  else document.querySelector("main").append(panel);
}

function markChosen() {
  for (const element of document.querySelectorAll(".chosen")) element.classList.remove("chosen");
  if (!chosen) return;
  const drawing = drawings()[chosen.index];
  for (const element of drawing.querySelectorAll(`[data-constituent="${chosen.constituent}"]`)) element.classList.add("chosen");
  mark(drawing, chosen.start, chosen.end);
}

/** Show the panel of one constituent. */
async function show(index, constituent) {
  const sentence = sentences[index], span = sentence.constituents[constituent];
  chosen = { index, constituent, start: span.start, end: span.end };
  panel.replaceChildren(button("×", "Close", close, "close"), make("h2", "", `${span.label}: ${wordsOf(sentence, span)}`));
  if (sentence.names[span.label]) panel.append(make("p", "faint meaning", sentence.names[span.label]));
  if (span.shown) panel.append(make("p", "probability", `Probability ${span.shown}`));
  panel.append(make("p", "faint", "Loading …"));
  panel.hidden = false;
  placePanel();
  document.querySelector("main").classList.add("with-details");
  markChosen();
  document.querySelector(".chosen").scrollIntoView({ block: "nearest", inline: "nearest" }); // the panel may cover it
  const loading = panel.lastChild;
  let answer;
  try {
    answer = await request("explain", { words: sentence.words, tags: sentence.tags, second_tags: sentence.second_tags, ...span });
  } catch (error) {
    loading.className = "minus";
    loading.textContent = error.message;
    return;
  }
  if (panel.lastChild !== loading) return; // another label was clicked in the meantime
  loading.remove();
  panel.append(make("h3", "", "Alternatives"), answer.alternatives.length
    ? alternatives(answer.alternatives, sentence)
    : make("p", "faint", "None is probable enough."));
  panel.append(make("h3", "", "Why"), ...why(answer));
  panel.scrollTop = 0;
  if (narrow.matches) panel.scrollIntoView({ block: "nearest" });
}

function alternatives(found, sentence) {
  const table = make("table", "alternatives");
  for (const one of found) {
    const row = make("tr", "choice", make("td", "number", one.shown),
      make("td", "", make("b", "", one.label), ` ${wordsOf(sentence, one)}`), make("td", "faint", RELATIONS[one.relation]));
    row.tabIndex = 0;
    const choose = () => {
      Object.assign(chosen, { start: one.start, end: one.end });
      markChosen();
    };
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

/** Parse the text of the field, as the user asked for it. */
function submit() {
  writeAddress();
  parse();
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  }
});
for (const id of ["style", "layout", "theme", "probabilities", "k"]) $(id).addEventListener("change", parse);
dark.addEventListener("change", () => $("theme").value === "auto" && parse());
narrow.addEventListener("change", placePanel);
document.addEventListener("keydown", (event) => event.key === "Escape" && close());
window.addEventListener("hashchange", () => {
  const text = textOfAddress();
  if (!text || text === $("text").value) return;
  $("text").value = text;
  parse();
});
window.addEventListener("resize", () => availableWidth() !== drawnWidth && drawAll());

function showAbout(about) {
  $("about").textContent = `${about.pipeline}, ${about.parser}`;
  $("language").textContent = about.language && ` in ${about.language}`;
  $("text").maxLength = maxCharacters = about.max_characters;
  $("k-option").hidden = !about.has_k_best;
  for (const example of about.examples) {
    const shown = button(example, "", () => {
      $("text").value = example;
      submit();
    }, "example");
    $("examples").append(shown, " ");
  }
  $("examples").hidden = !about.examples.length;
  $("text").value = textOfAddress() || about.examples[0] || "";
}

document.documentElement.dataset.theme = theme();
request("about").then(showAbout).catch((error) => showMessage(error.message)).finally(() => $("text").value && parse());
