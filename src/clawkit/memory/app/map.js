// Draws memories as points on a canvas that one can pan and zoom with mouse, fingers and keys.

const EDGE = 10000;
const REACH = 14;
const CLOSEST = 40;
const BESIDE = [-12, 26, -30, 44, -48, 62, -66]; // where a topic's name may stand above or below its middle
const MANY = 3000;

/** A colour for each topic, far from its neighbours', readable on both grounds. */
export function topicColour(at, dark) {
  const hue = (152 + at * 137.508) % 360;
  return `hsl(${hue} ${dark ? "45% 66%" : "42% 42%"})`;
}

/** The middle of a name that is to be read whole, if it is near the edge: moved as far as it takes. */
function inside(middle, half, width) {
  if (middle < 0 || middle > width || 2 * half > width) return middle;
  return Math.min(Math.max(middle, half), width - half);
}

/** Points by cells of a grid, so that the nearest is found without looking at all of them. */
function gridOf({ x, y }, size = 64) {
  const cells = new Map();
  for (let at = 0; at < x.length; at += 1) {
    const key = Math.floor((x[at] / EDGE) * size) * 1000 + Math.floor((y[at] / EDGE) * size);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(at);
  }
  const cell = (value) => Math.min(size, Math.max(0, Math.floor((value / EDGE) * size)));
  return function near(px, py, reachX, reachY) {
    let best = -1;
    let least = 1;
    for (let column = cell(px - reachX); column <= cell(px + reachX); column += 1) {
      for (let row = cell(py - reachY); row <= cell(py + reachY); row += 1) {
        for (const at of cells.get(column * 1000 + row) || []) {
          const far = ((x[at] - px) / reachX) ** 2 + ((y[at] - py) / reachY) ** 2;
          if (far < least) [best, least] = [at, far];
        }
      }
    }
    return best;
  };
}

/**
 * Shows a map on a canvas, in its colours. `onOpen(id)` hears of a memory that is chosen, `onPoint(id, x, y)` of
 * the one under the pointer, or null. Gives `zoom(factor)`, `whole()`, `select(id)`, `draw()`, and `take(map)` for
 * another map in its place, seen from where this one is.
 */
export function showMap(canvas, map, { onOpen, onPoint = () => {}, isDark = () => false }) {
  const context = canvas.getContext("2d");
  let near;
  let place;
  let base;
  let byTopic;
  const shade = getComputedStyle(canvas);
  const fingers = new Map();
  let scale = 1;
  let [left, top] = [0, 0];
  let [width, height] = [0, 0];
  let [unitX, unitY] = [1, 1];
  let chosen = -1;
  let pointed = -1;
  let moved = 0;
  let waiting = false;

  const toX = (value) => (value - left) * unitX * scale;
  const toY = (value) => (value - top) * unitY * scale;

  function measure() {
    const box = canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    [width, height] = [box.width, box.height];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    [unitX, unitY] = [width / (EDGE * 1.16), height / (EDGE * 1.2)];
    draw();
  }

  function whole() {
    scale = 1;
    left = EDGE / 2 - width / 2 / unitX;
    top = EDGE / 2 - height / 2 / unitY;
    draw();
  }

  function zoom(factor, atX = width / 2, atY = height / 2) {
    const next = Math.min(CLOSEST, Math.max(0.6, scale * factor));
    left += atX / (unitX * scale) - atX / (unitX * next);
    top += atY / (unitY * scale) - atY / (unitY * next);
    scale = next;
    draw();
  }

  function pan(byX, byY) {
    left -= byX / (unitX * scale);
    top -= byY / (unitY * scale);
    draw();
  }

  /** The memory that is nearest to a place on the canvas, within so many pixels. */
  function at(px, py, reach = REACH) {
    const [toMapX, toMapY] = [1 / (unitX * scale), 1 / (unitY * scale)];
    return near(left + px * toMapX, top + py * toMapY, reach * toMapX, reach * toMapY);
  }

  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (width) paint();
    });
  }

  function paint() {
    const began = performance.now();
    const dark = isDark();
    context.clearRect(0, 0, width, height);
    const radius = Math.min(9, base + scale * 0.55);
    const few = map.ids.length <= MANY;
    const size = radius * (few ? 1 : 1.7);
    for (let topic = 0; topic < map.topics.length; topic += 1) {
      context.fillStyle = topicColour(topic, dark);
      paintTopic(topic, radius, size, few);
    }
    context.globalAlpha = 1;
    paintNames();
    for (const one of [pointed, chosen]) if (one >= 0) ring(one, radius);
    if (document.activeElement === canvas) crosshair();
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn || 0) + 1);
    canvas.dataset.milliseconds = (performance.now() - began).toFixed(1);
  }

  function paintTopic(topic, radius, size, few) {
    for (const [state, strength] of [[2, 0.22], [1, 0.45], [0, 0.8]]) {
      context.globalAlpha = strength;
      context.beginPath();
      for (const one of byTopic[topic]?.[state] || []) {
        const [px, py] = [toX(map.x[one]), toY(map.y[one])];
        if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
        if (few) {
          context.moveTo(px + radius, py);
          context.arc(px, py, radius, 0, 7);
        } else context.rect(px - size / 2, py - size / 2, size, size);
      }
      context.fill();
    }
  }

  /** How many points a box lies over; where there are many, it lies over some wherever it is. */
  function covered([x0, y0, x1, y1]) {
    if (map.ids.length > MANY) return 0;
    let found = 0;
    for (let one = 0; one < map.ids.length; one += 1) {
      const [px, py] = [toX(map.x[one]), toY(map.y[one])];
      if (px > x0 - base && px < x1 + base && py > y0 - base && py < y1 + base) found += 1;
    }
    return found;
  }

  function paintNames() {
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 4;
    const taken = [];
    const largest = [...map.topics.keys()].sort((one, other) => map.topics[other].memories - map.topics[one].memories);
    for (const topic of largest) {
      const { name, memories, x, y } = map.topics[topic];
      if (!memories) continue;
      const label = name.length > 32 ? `${name.slice(0, 31)}…` : name;
      const half = context.measureText(label).width / 2 + 6;
      const px = inside(toX(x), half, width);
      const free = BESIDE.map((by) => toY(y) + by)
        .map((py) => ({ py, box: [px - half, py - 14, px + half, py + 6] }))
        .filter(({ box }) => !taken.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1]));
      if (!free.length) continue;
      const over = free.map(({ box }) => covered(box));
      const { py, box } = free[over.indexOf(Math.min(...over))];
      taken.push(box);
      context.strokeStyle = shade.backgroundColor;
      context.strokeText(label, px, py);
      context.fillStyle = shade.color;
      context.fillText(label, px, py);
    }
  }

  function ring(one, radius) {
    context.strokeStyle = shade.color;
    context.lineWidth = one === chosen ? 2.5 : 1.5;
    context.beginPath();
    context.arc(toX(map.x[one]), toY(map.y[one]), radius + 3, 0, 7);
    context.stroke();
  }

  function crosshair() {
    const [px, py] = [width / 2, height / 2];
    context.strokeStyle = shade.color;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(px - 8, py);
    context.lineTo(px + 8, py);
    context.moveTo(px, py - 8);
    context.lineTo(px, py + 8);
    context.stroke();
  }

  function take(next) {
    const selected = map.ids[chosen];
    map = next;
    near = gridOf(map);
    place = new Map(map.ids.map((id, at) => [id, at]));
    // Few memories are drawn large, so that they are seen, and many small, so that they are told apart.
    base = Math.max(1.6, 5.5 - Math.log10(Math.max(10, map.ids.length)));
    byTopic = map.topics.map(() => [[], [], []]);
    map.topic.forEach((topic, one) => byTopic[topic]?.[map.state[one]].push(one));
    pointed = -1;
    select(selected);
  }

  function select(id) {
    chosen = place.has(id) ? place.get(id) : -1;
    draw();
  }

  function point(one, px, py) {
    if (one === pointed) return;
    pointed = one;
    canvas.classList.toggle("over", one >= 0);
    onPoint(one < 0 ? null : map.ids[one], px, py);
    draw();
  }

  function open(one) {
    if (one < 0) return;
    chosen = one;
    draw();
    onOpen(map.ids[one]);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) {
      point(at(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    const others = [...fingers].filter(([id]) => id !== event.pointerId);
    const now = [event.offsetX, event.offsetY];
    if (others.length) {
      const [ox, oy] = others[0][1];
      const was = Math.hypot(before[0] - ox, before[1] - oy);
      const is = Math.hypot(now[0] - ox, now[1] - oy);
      if (was > 0) zoom(is / was, (now[0] + ox) / 2, (now[1] + oy) / 2);
    } else pan(now[0] - before[0], now[1] - before[1]);
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    fingers.set(event.pointerId, now);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (moved < 5 && fingers.size === 1) open(at(event.offsetX, event.offsetY));
    fingers.delete(event.pointerId);
  });
  canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => point(-1, 0, 0));
  canvas.addEventListener(
    "wheel",
    (event) => {
      // The page scrolls as ever, unless the map was chosen or the wheel is meant to zoom.
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    },
    { passive: false },
  );
  const keys = {
    ArrowLeft: () => pan(40, 0),
    ArrowRight: () => pan(-40, 0),
    ArrowUp: () => pan(0, 40),
    ArrowDown: () => pan(0, -40),
    "+": () => zoom(1.4),
    "=": () => zoom(1.4),
    "-": () => zoom(1 / 1.4),
    0: whole,
    Enter: () => open(at(width / 2, height / 2, width + height)),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  new ResizeObserver(() => {
    const first = !width;
    measure();
    if (first) whole();
  }).observe(canvas);
  take(map);
  return { zoom, whole, draw, select, take };
}
