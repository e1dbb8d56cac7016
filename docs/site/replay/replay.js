// Shows the frames of frames.js (made by papers/ye2022/replay.py): one day of a simulated cluster under two schedulers.
"use strict";

const LAST = 1440 / REPLAY.step;
const SHORT = 95; // below this share [%] the paper speaks of a sharing loss
const MIDDLE = 100, REACH = 50; // the colours end at MIDDLE - REACH and MIDDLE + REACH [%]
const SCALES = {
  light: ["#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7", "#f7f7f7", "#d1e5f0", "#92c5de", "#4393c3", "#2166ac", "#053061"],
  dark: ["#ff7a5c", "#e85a3f", "#c24631", "#8f3527", "#572a24", "#303439", "#24435c", "#27608f", "#2f7fc1", "#439bea", "#6db8ff"],
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const at = (id) => document.getElementById(id);
const state = {
  frame: LAST / 2,
  job: REPLAY.jobs.reduce((best, job, k, jobs) => (job.gpus > jobs[best].gpus ? k : best), 0),
  timer: 0,
  sides: [{ scheduler: "astraea", term: 15 }, { scheduler: "fifo", term: 0 }],
};

const two = (number) => String(number).padStart(2, "0");
const clock = (minute) => `${two(Math.floor(minute / 60))}:${two(Math.floor(minute % 60))}`;
const count = (number, noun) => `${number === 0 ? "no" : number} ${noun}${number === 1 ? "" : "s"}`;
const upper = (text) => text[0].toUpperCase() + text.slice(1);
const sum = (rows, frame) => rows.reduce((total, row) => total + row[frame], 0);
const hours = (minutes) => (minutes < 60 ? `${Math.round(minutes)} min` : `${(minutes / 60).toFixed(1)} h`);
const about = (id) => REPLAY.schedulers.find((scheduler) => scheduler.id === id);
const run = (side) => REPLAY.runs[`${side.scheduler}/${side.term}`];

function color(share) {
  if (share === null) return null;
  const scale = SCALES[dark.matches ? "dark" : "light"];
  const place = Math.min(Math.max((share - MIDDLE + REACH) / (2 * REACH), 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  const part = (k, position) => parseInt(scale[k].slice(1 + 2 * position, 3 + 2 * position), 16);
  return [0, 1, 2].map((i) => Math.round(part(low, i) + (place - low) * (part(low + 1, i) - part(low, i))));
}

function paint(canvas, shares) {
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(canvas.width, 1);
  shares.forEach((share, x) => {
    const rgb = color(share);
    if (rgb) pixels.data.set([...rgb, 255], 4 * x);
  });
  context.putImageData(pixels, 0, 0);
}

function worst(side) {
  const shares = run(side).share.map((row) => row[state.frame]);
  const owed = shares.filter((share) => share !== null);
  const least = Math.min(...owed);
  return { tenant: REPLAY.tenants[shares.indexOf(least)], share: least, short: owed.filter((share) => share < SHORT).length };
}

function called(side) {
  const { name } = about(side.scheduler), [left, right] = state.sides;
  return left.scheduler === right.scheduler && side.term ? `${name} (${side.term} min)` : name;
}

function summary(side) {
  const frames = run(side), { short } = worst(side);
  return `${upper(count(short, "tenant"))} of ${REPLAY.tenants.length} had less than ${SHORT} % of ${short === 1 ? "its" : "their"} share. ` +
    `${sum(frames.held, state.frame)} of ${REPLAY.gpus} GPUs are in use; waiting jobs ask for ${sum(frames.wanted, state.frame).toLocaleString("en")}.`;
}

function fate(side) {
  const job = REPLAY.jobs[state.job], runs = run(side).runs[state.job], now = state.frame * REPLAY.step;
  if (now < job.submitted) return `It will be submitted at ${clock(job.submitted)}.`;
  const begun = runs.filter(([start]) => start <= now);
  const waited = waits(job, begun, now);
  if (begun.length === 0) return `It has waited for ${hours(now - job.submitted)}.`;
  const [start, end] = begun[begun.length - 1];
  const pauses = begun.length - 1, stops = pauses ? ` and was stopped ${pauses === 1 ? "once" : `${pauses} times`}` : "";
  if (end > now) return `It has been running since ${clock(start)}. It has waited for ${hours(waited)}${stops}.`;
  if (runs.length > begun.length || !run(side).done[state.job]) return `It was stopped at ${clock(end)} and waits for its next turn. ` +
    `It has waited for ${hours(waited)}.`;
  return `It ended at ${clock(end)}, ${hours(end - job.submitted)} after it was submitted. It waited for ${hours(waits(job, begun, end))}${stops}.`;
}

function waits(job, runs, until) {
  return runs.reduce((total, [start, end]) => total - (Math.min(end, until) - start), until - job.submitted);
}

function line(rows, last, top) {
  const points = [];
  for (let frame = 0; frame <= last; frame++) points.push(`${frame} ${(100 - (96 * sum(rows, frame)) / top).toFixed(1)}`);
  return `M${points.join("L")}`;
}

function bar(name, from, to) {
  const rectangle = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  Object.entries({ class: name, x: from, y: 1, width: Math.max(to - from, 0), height: 8 })
    .forEach(([key, value]) => rectangle.setAttribute(key, value));
  return rectangle;
}

function drawSide(section, side, other) {
  const frames = run(side), frame = state.frame, find = (name) => section.querySelector(name);
  find("h2").textContent = about(side.scheduler).name + (side.term ? `, leases of ${side.term} min` : ", without leases");
  find(".summary").textContent = summary(side);
  [...find("tbody").rows].forEach((row, tenant) => {
    const share = frames.share[tenant][frame];
    paint(row.querySelector("canvas"), frames.share[tenant].slice(0, frame + 1));
    row.cells[2].textContent = share === null ? "–" : `${share} %`;
    row.cells[2].className = share !== null && share < SHORT ? "short" : "";
    row.cells[3].textContent = frames.held[tenant][frame];
    row.cells[4].textContent = frames.waiting[tenant][frame];
  });
  find(".held").textContent = sum(frames.held, frame);
  find(".waiting").textContent = sum(frames.waiting, frame);
  const all = [...Array(LAST + 1).keys()];
  const top = Math.max(1, ...[side, other].flatMap((one) => all.map((k) => sum(run(one).waiting, k))));
  find(".axis").textContent = `Jobs waiting, from 0 to ${top.toLocaleString("en")}`;
  find(".own").setAttribute("d", line(frames.waiting, frame, top));
  find(".other").setAttribute("d", line(run(other).waiting, frame, top));
  ["x1", "x2"].forEach((x) => find(".cursor").setAttribute(x, frame));
  find(".job").textContent = fate(side);
  const now = frame * REPLAY.step, job = REPLAY.jobs[state.job], runs = frames.runs[state.job];
  const end = frames.done[state.job] ? runs[runs.length - 1][1] : 1440;
  find(".runs").replaceChildren(
    bar("asked", job.submitted, Math.min(now, end)),
    ...runs.map(([start, stop]) => bar("held", start, Math.min(stop, now))),
  );
}

function draw() {
  const [left, right] = state.sides, time = clock(state.frame * REPLAY.step);
  at("time").value = state.frame;
  at("time").setAttribute("aria-valuetext", time);
  at("clock").textContent = time;
  const waiting = state.sides.map((side) => sum(run(side).waiting, state.frame)), least = state.sides.map(worst);
  at("now").textContent = `At ${time}, ${count(waiting[0], "job")} ${waiting[0] === 1 ? "waits" : "wait"} under ${called(left)} and ` +
    `${waiting[1] || "none"} under ${called(right)}. In the last 24 hours, ${least[0].tenant} got ${least[0].share} % of its share under ` +
    `${called(left)}, and ${least[1].tenant} got ${least[1].share} % under ${called(right)}: the least of all tenants.`;
  document.querySelectorAll("main section").forEach((section, k) => drawSide(section, state.sides[k], state.sides[1 - k]));
}

function move(frames) {
  state.frame = Math.min(Math.max(state.frame + frames, 0), LAST);
  if (state.frame === LAST) pause();
  draw();
}

function pause() {
  clearInterval(state.timer);
  state.timer = 0;
  at("play").textContent = "Play";
  at("now").setAttribute("aria-live", "polite");
}

function play() {
  if (state.frame === LAST) state.frame = 0;
  const speed = Number(at("speed").value); // frames a second; readers who want less motion see one step a second, as far
  clearInterval(state.timer);
  state.timer = calm.matches ? setInterval(move, 1000, speed) : setInterval(move, 1000 / speed, 1);
  at("play").textContent = "Pause";
  at("now").setAttribute("aria-live", "off"); // a sentence for every frame would be too much to hear
  draw();
}

const toggle = () => (state.timer ? pause() : play());

function options(select, values, chosen) {
  select.replaceChildren(...values.map(([value, text]) => new Option(text, value, false, String(value) === String(chosen))));
}

function offerTerms(select, side) {
  const { terms } = about(side.scheduler);
  if (!terms.includes(side.term)) side.term = terms.includes(15) ? 15 : terms[0];
  options(select, terms.map((term) => [term, term ? `${term} min` : "none"]), side.term);
  select.disabled = terms.length === 1;
}

function addSide(side, k) {
  const section = at("side").content.cloneNode(true).firstElementChild;
  const scheduler = section.querySelector(".scheduler"), term = section.querySelector(".term");
  section.setAttribute("aria-label", k ? "Right" : "Left");
  options(scheduler, REPLAY.schedulers.map(({ id, name }) => [id, name]), side.scheduler);
  offerTerms(term, side);
  scheduler.addEventListener("change", () => {
    side.scheduler = scheduler.value;
    offerTerms(term, side);
    draw();
  });
  term.addEventListener("change", () => {
    side.term = Number(term.value);
    draw();
  });
  const body = section.querySelector("tbody");
  REPLAY.tenants.forEach((tenant) => {
    const row = body.insertRow();
    row.innerHTML = '<th scope="row"></th><td class="wide"><canvas height="1" aria-hidden="true"></canvas></td><td></td><td></td><td></td>';
    row.cells[0].textContent = tenant;
    row.querySelector("canvas").width = LAST + 1;
  });
  at("sides").append(section);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const on = event.target.tagName, moves = { ArrowLeft: -1, ArrowRight: 1 };
  if (event.key === " " && !["BUTTON", "SELECT"].includes(on)) {
    event.preventDefault();
    toggle();
  } else if (event.key in moves && !["INPUT", "SELECT"].includes(on)) {
    event.preventDefault();
    move(moves[event.key]);
  }
}

function paintKey() {
  paint(document.querySelector("#key canvas"), [...Array(101).keys()].map((x) => MIDDLE - REACH + (2 * REACH * x) / 100));
}

at("day").textContent = REPLAY.day;
at("gpus").textContent = REPLAY.gpus;
options(at("job"), REPLAY.jobs.map(({ id, tenant, gpus, minutes }, k) =>
  [k, `a job of ${REPLAY.tenants[tenant]}: ${count(gpus, "GPU")}, ${hours(minutes)}`]), state.job);
state.sides.forEach(addSide);
at("play").addEventListener("click", toggle);
at("time").addEventListener("input", () => {
  state.frame = Number(at("time").value);
  draw();
});
at("speed").addEventListener("change", () => state.timer && play());
at("job").addEventListener("change", () => {
  state.job = Number(at("job").value);
  draw();
});
document.addEventListener("keydown", press);
dark.addEventListener("change", () => {
  paintKey();
  draw();
});
paintKey();
pause();
draw();
