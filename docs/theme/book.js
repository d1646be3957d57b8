// What a page of the book does besides being read: the switch of colours, the search, a button that copies a listing,
// and the keyboard in what is wider than the window. Without this script everything is there to read.

"use strict";

// --- light and dark: the system's setting, until the reader chooses ---

const dark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.querySelector(".theme");

function chosenTheme() {
  return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
}

function otherTheme() {
  return chosenTheme() === "dark" ? "light" : "dark";
}

function labelThemeButton() {
  themeButton.textContent = otherTheme() === "dark" ? "Dark" : "Light";
  themeButton.setAttribute("aria-label", `${themeButton.textContent} colours`);
}

function switchTheme() {
  const theme = otherTheme();
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* a browser may keep nothing for pages on the disk */ }
  labelThemeButton();
}

themeButton.hidden = false;
themeButton.addEventListener("click", switchTheme);
dark.addEventListener("change", labelThemeButton);
labelThemeButton();

// --- listings can be copied ---

/** The text without lines that were removed: what is left compiles. */
function codeOf(listing) {
  const copy = listing.cloneNode(true);
  if (listing.closest(".beside")) return copy.textContent;
  for (const removed of copy.querySelectorAll("del")) {
    removed.nextSibling?.remove(); // the end of the line
    removed.remove();
  }
  return copy.textContent;
}

/** Where the browser does not let a page copy, the listing is selected: one key copies it. */
async function copyListing(button, listing) {
  try {
    await navigator.clipboard.writeText(codeOf(listing));
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(listing);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function addCopyButton(listing) {
  const shell = document.createElement("div");
  shell.className = "shell";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => copyListing(button, listing.querySelector("code")));
  listing.replaceWith(shell);
  shell.append(listing, button);
}

for (const listing of document.querySelectorAll("pre.code")) addCopyButton(listing);

// --- what is wider than its column can be moved with the arrow keys ---

const movable = document.querySelectorAll("pre.code, .wide, .formula, .memproto");

function letKeysMove(element) {
  const isWider = element.scrollWidth > element.clientWidth;
  if (isWider) element.setAttribute("tabindex", "0"); else element.removeAttribute("tabindex");
}

const watched = new ResizeObserver(entries => { for (const entry of entries) letKeysMove(entry.target); });
for (const element of movable) { letKeysMove(element); watched.observe(element); }

/** The two versions of a file move together. */
for (const pair of document.querySelectorAll(".beside:not(.alone)")) {
  const [left, right] = pair.querySelectorAll("pre");
  left.addEventListener("scroll", () => { right.scrollLeft = left.scrollLeft; });
  right.addEventListener("scroll", () => { left.scrollLeft = right.scrollLeft; });
}

// --- search: the words are loaded when they are first wanted ---

const box = document.querySelector("search");
const field = document.getElementById("wanted");
const found = document.getElementById("found");
const mostShown = 12;

let loading = null;
function loadWords() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "words.js";
    script.addEventListener("load", () => resolve(wordsOfTheBook));
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  return loading;
}

/** How well an entry fits: 0 when one of the words is not in it. A text is worth more than a list of functions, and an
    entry of the glossary that is called just so is worth most. */
function fit([address, page, heading, text], words) {
  const weight = /^(chapter_|index|glossary)/.test(address) ? 2 : 1;
  const title = (heading || page).toLowerCase();
  let points = address.startsWith("glossary") && title === words.join(" ") ? 10 : 0;
  for (const word of words) {
    if (title.includes(word)) points += 2 * weight;
    else if (`${page} ${text}`.toLowerCase().includes(word)) points += weight;
    else return 0;
  }
  return points;
}

/** A few words around the first match. */
function excerpt(text, words) {
  const places = words.map(word => text.toLowerCase().indexOf(word)).filter(index => index >= 0);
  const place = Math.min(...places, text.length);
  const start = Math.max(0, text.lastIndexOf(" ", Math.max(0, place - 40)) + 1);
  return (start ? "… " : "") + text.slice(start, start + 120);
}

function resultLink([address, page, heading, text], words) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = heading ? `${page}: ${heading}` : page;
  const about = document.createElement("span");
  about.textContent = excerpt(text, words);
  link.append(about);
  link.addEventListener("click", hideResults);
  return link;
}

function countText(count) {
  if (!count) return "No results";
  if (count === 1) return "1 result";
  return count === mostShown ? `The ${count} best results` : `${count} results`;
}

async function showResults() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return hideResults();
  const entries = await loadWords();
  const best = entries.map(entry => [fit(entry, words), entry]).filter(([points]) => points)
    .sort(([a], [b]) => b - a).slice(0, mostShown);
  const count = document.createElement("p");
  count.textContent = countText(best.length);
  found.replaceChildren(count, ...best.map(([, entry]) => resultLink(entry, words)));
  found.hidden = false;
}

function hideResults() {
  found.hidden = true;
}

box.hidden = false;
field.addEventListener("input", showResults);
box.addEventListener("focusout", event => { if (!box.contains(event.relatedTarget)) hideResults(); });
found.addEventListener("mousedown", event => event.preventDefault()); // a click keeps the focus in the field

// --- the keyboard: / searches, Escape closes what is open ---

document.addEventListener("keydown", event => {
  const isTyping = event.target.matches("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    hideResults();
    if (location.hash === "#tree") location.hash = "#text";
  }
});
