// Numbers as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** A count, exact: 1,234,567. */
export const count = (number) => whole.format(number);

/** A number of any size in few characters: 7.3, 950, 12.4 k, 3.1 M. */
export function short(number) {
  const size = Math.abs(number);
  if (size >= 1e9) return `${oneDigit.format(number / 1e9)} G`;
  if (size >= 1e6) return `${oneDigit.format(number / 1e6)} M`;
  if (size >= 1e4) return `${oneDigit.format(number / 1e3)} k`;
  if (size >= 10 || Number.isInteger(number)) return whole.format(number);
  return oneDigit.format(number);
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${unit === 0 || number >= 100 ? whole.format(number) : oneDigit.format(number)} ${units[unit]}`;
}

/** A share: 42 %; near its ends with a digit more, where the difference counts: 0.3 %, 99.1 %. */
export function percent(share) {
  const fine = (share > 0 && share < 0.0995) || (share > 0.9 && share < 1);
  // Not quite all is never shown as all.
  return `${fine ? oneDigit.format(share > 0.5 ? Math.floor(share * 1000) / 10 : share * 100) : whole.format(share * 100)} %`;
}

/** A ratio: 1.04 ×. */
export const times = (ratio) => `${ratio.toFixed(2)} ×`;

/** A short time, from seconds: 640 µs, 2.1 ms, 1.3 s. */
export function time(seconds) {
  if (seconds < 0.001) return `${whole.format(seconds * 1e6)} µs`;
  if (seconds < 1) return `${seconds < 0.1 ? oneDigit.format(seconds * 1e3) : whole.format(seconds * 1e3)} ms`;
  return `${oneDigit.format(seconds)} s`;
}

/** A long time, from milliseconds: 12 s, 4 min, 3 h 20 min, 5 d. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}
