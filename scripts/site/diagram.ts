/** Size of a character, px. */
const CELL = { width: 8.4, height: 20 };

/** Where the lines of a character lead to from its middle. */
const LINES: Readonly<Record<string, string>> = {
  ...{ '─': 'we', '│': 'ns', '┌': 'es', '┐': 'ws', '└': 'ne', '┘': 'nw' },
  ...{ '├': 'nes', '┤': 'nws', '┬': 'wes', '┴': 'nwe', '┼': 'nwes' },
  ...{ '►': 'w', '▶': 'w', '▼': 'n', '▲': 's' },
};

/** Heads of arrows, from the middle of the character. */
const HEADS: Readonly<Record<string, string>> = {
  '►': 'm-3 -4 7 4 -7 4z',
  '▶': 'm-3 -4 7 4 -7 4z',
  '▼': 'm-4 -3 4 7 4 -7z',
  '▲': 'm-4 3 4 -7 4 7z',
};

/** Whether a text is a diagram: has corners or arrows of lines. */
export function isDiagram(text: string): boolean {
  return /[┌┐└┘├┤┬┴►▶▼▲]/.test(text);
}

/** A diagram that is drawn with characters, as SVG: lines for lines, and its words where they stand. */
export function toSvg(diagram: string): string {
  const lines = diagram.split('\n').map((line) => line.trimEnd());
  const width = Math.max(...lines.map((line) => line.length)) * CELL.width;
  const height = lines.length * CELL.height;
  const strokes: string[] = [];
  const heads: string[] = [];
  const words: string[] = [];
  for (const [row, line] of lines.entries()) {
    const y = (row + 0.5) * CELL.height;
    for (let column = 0; column < line.length; column += 1) {
      const character = line.charAt(column);
      const x = (column + 0.5) * CELL.width;
      const ends: Readonly<Record<string, string>> = {
        n: `V${y - CELL.height / 2}`,
        s: `V${y + CELL.height / 2}`,
        w: `H${round(x - CELL.width / 2)}`,
        e: `H${round(x + CELL.width / 2)}`,
      };
      for (const end of LINES[character] ?? '') strokes.push(`M${round(x)} ${y}${ends[end] ?? ''}`);
      const head = HEADS[character];
      if (head !== undefined) heads.push(`M${round(x)} ${y}${head}`);
    }
    const blank = line.replaceAll(/[─│┌┐└┘├┤┬┴┼►▶▼▲]/g, ' ');
    for (const { index, 0: text } of blank.matchAll(/\S+(?: \S+)*/g)) {
      const length = round(text.length * CELL.width);
      words.push(
        `<text x="${round(index * CELL.width)}" y="${y + 5}" textLength="${length}">${escapeText(text)}</text>`,
      );
    }
  }
  return [
    `<div class="wide"><svg class="diagram" viewBox="0 0 ${round(width)} ${height}" width="${round(width)}">`,
    `<path d="${strokes.join('')}"/><path class="head" d="${heads.join('')}"/>`,
    ...words,
    '</svg></div>\n',
  ].join('\n');
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
