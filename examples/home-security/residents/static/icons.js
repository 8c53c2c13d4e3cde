// The pictures of sensors and states: lines on a square of 24, in the colour of the text beside them.
// Rules: a picture only repeats what words say, so that it is hidden from who listens to the page.

const LINES = {
  motion: ["M13 4.5a1.5 1.5 0 1 0 .01 0", "M7 21l3-6 3.5 2.5V21", "M10 15l1-5.5 3.5 2 3 .5", "M11 9.5L8 11l-1 3"],
  door: ["M6 21V4h12v17", "M3.5 21h17", "M14.5 12.5v.01"],
  window: ["M5 4h14v16H5z", "M12 4v16", "M5 12h14"],
  glass: ["M5 4h14v16H5z", "M12 4l-2 5 4 3-3 4 1 4", "M5 11l5-2", "M19 14l-5-2"],
  smoke: ["M7 20h10", "M9 16c-2-2 2-3.5 0-6s1-3.5 0-5", "M15 16c-2-2 2-3.5 0-6s1-3.5 0-5"],
  gas: ["M8 20a5 5 0 0 1-1-9.9A5 5 0 0 1 16.5 9 5.5 5.5 0 0 1 16 20z", "M10 15.5h.01", "M14 15.5h.01"],
  heat: ["M12 4a2 2 0 0 1 2 2v7.5a4 4 0 1 1-4 0V6a2 2 0 0 1 2-2z", "M12 9v7"],
  water: ["M12 4c3 4 5.5 6.8 5.5 10.2a5.5 5.5 0 0 1-11 0C6.5 10.8 9 8 12 4z"],
  sensor: ["M12 12h.01", "M8.5 15.5a5 5 0 0 1 0-7", "M15.5 8.5a5 5 0 0 1 0 7", "M5.6 18.4a9 9 0 0 1 0-12.8", "M18.4 5.6a9 9 0 0 1 0 12.8"],
  calm: ["M12 3l7.5 3v5.5c0 4.5-3 7.9-7.5 9.5-4.5-1.6-7.5-5-7.5-9.5V6z", "M8.8 12l2.3 2.3 4.2-4.5"],
  alarm: ["M12 4l9 16H3z", "M12 10v4.5", "M12 17.3v.01"],
  waiting: ["M12 3a9 9 0 1 0 .01 0", "M12 7.5V12l3 2"],
  silent: ["M4 4l16 16", "M8.5 15.5a5 5 0 0 1-.6-6.2", "M15.5 8.5a5 5 0 0 1 1 5.5", "M5.6 18.4a9 9 0 0 1-.8-11.7", "M18.4 5.6a9 9 0 0 1 1.3 11"],
};
const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("class", "icon");
  picture.setAttribute("aria-hidden", "true");
  for (const line of LINES[name] ?? LINES.sensor) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", line);
    picture.append(path);
  }
  return picture;
}
