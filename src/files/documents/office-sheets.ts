/** Reads the sheets of XLSX. Runs in the thread that reads documents. */
import type { DocumentPage } from './document-text.js';
import { type OfficeArchive, type OfficeBounds, type OfficeText, prefixed, type XmlReader } from './office-archive.js';

/** What a number of days is shown as; undefined for other numbers. */
type DayFormat = 'date' | 'duration' | undefined;

/** Formats of dates and times that every program knows, by their numbers. */
const DATE_FORMATS = [14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 47] as const;
const DURATION_FORMAT = 46;

/** Columns that a sheet may have. */
const MOST_COLUMNS = 16_384;

/** Day 0 of dates; some files count from 1904. */
const FIRST_DAY = Date.UTC(1899, 11, 30);
const FIRST_DAY_1904 = Date.UTC(1904, 0, 1);
const DAY_MS = 86_400_000;

/** What cells of all sheets refer to. */
interface Workbook {
  readonly texts: readonly string[];
  /** How styles show numbers, by their numbers. */
  readonly styles: readonly DayFormat[];
  readonly firstDay: number;
}

/** The sheets with their names, a row on a line, cells separated by tabs. Throws an Error when the document is damaged. */
export function readSheets(
  archive: OfficeArchive,
  { mostPages, mostCharacters }: OfficeBounds,
): Omit<OfficeText, 'title'> {
  const main = 'xl/workbook.xml';
  archive.require(main);
  const relations = archive.relationsOf(main);
  const sheets: { readonly name: string; readonly path: string }[] = [];
  let firstDay = FIRST_DAY;
  archive.read(main, {
    open: (element, attributes) => {
      const { name = '', date1904 } = attributes;
      if (element === 'workbookPr' && /^(?:1|true)$/.test(date1904 ?? '')) firstDay = FIRST_DAY_1904;
      if (element === 'sheet') sheets.push({ name, path: relations.get(prefixed(attributes, 'id') ?? '') ?? '' });
    },
  });
  const workbook = { texts: readTexts(archive), styles: readStyles(archive), firstDay };
  let left = mostCharacters;
  const pages: DocumentPage[] = [];
  for (const [index, { name, path }] of sheets.slice(0, mostPages).entries()) {
    if (left < 0) break;
    const rows = readRows(archive, path, workbook, left);
    const text = rows === '' ? '' : `# ${name}\n${rows}`;
    left -= text.length;
    pages.push({ number: index + 1, text });
  }
  return { pages, isCut: left < 0 || sheets.length > mostPages };
}

/** Texts that cells name by their numbers. */
function readTexts(archive: OfficeArchive): readonly string[] {
  const texts: string[] = [];
  let [text, isText, isPhonetic] = ['', false, false];
  archive.read('xl/sharedStrings.xml', {
    open: (name) => {
      if (name === 'si') text = '';
      if (name === 'rPh') isPhonetic = true;
      isText = name === 't';
    },
    text: (more) => {
      if (isText && !isPhonetic) text += more;
    },
    close: (name) => {
      if (name === 'si') texts.push(text);
      if (name === 'rPh') isPhonetic = false;
      isText = false;
    },
  });
  return texts;
}

function readStyles(archive: OfficeArchive): readonly DayFormat[] {
  const formats = new Map<number, DayFormat>(DATE_FORMATS.map((id) => [id, 'date']));
  formats.set(DURATION_FORMAT, 'duration');
  const styles: DayFormat[] = [];
  let areCells = false;
  archive.read('xl/styles.xml', {
    open: (name, { numFmtId, formatCode = '' }) => {
      const id = Number(numFmtId);
      if (name === 'numFmt') formats.set(id, dayFormatOf(formatCode));
      if (name === 'cellXfs') areCells = true;
      if (name === 'xf' && areCells) styles.push(formats.get(id));
    },
    close: (name) => {
      if (name === 'cellXfs') areCells = false;
    },
  });
  return styles;
}

/** A format of dates has a letter of them outside of quotes, brackets and escapes; one of durations has one alone in brackets. */
function dayFormatOf(code: string): DayFormat {
  const letters = code.replaceAll(/"[^"]*"|\\.|[_*]./g, '');
  if (/\[(?:h+|m+|s+)\]/i.test(letters)) return 'duration';
  return /[dhmsy]/i.test(letters.replaceAll(/\[[^\]]*\]/g, '')) ? 'date' : undefined;
}

function readRows(archive: OfficeArchive, path: string, workbook: Workbook, mostCharacters: number): string {
  const rows: string[] = [];
  let left = mostCharacters;
  let cells: string[] = [];
  let [value, type, style, isValue]: [string, string, number, boolean] = ['', 'n', 0, false];
  let column = -1;
  const reader: XmlReader = {
    open: (name, { r: place, t = 'n', s = '0' }) => {
      if (name === 'row') [cells, column] = [[], -1];
      if (name === 'c') {
        column = place === undefined ? column + 1 : columnOf(place);
        [value, type, style] = ['', t, Number(s)];
      }
      isValue = name === 'v' || name === 't';
    },
    text: (text) => {
      if (isValue) value += text;
    },
    close: (name) => {
      isValue = false;
      if (name === 'c' && value !== '' && left >= 0 && column < MOST_COLUMNS) {
        const shown = show(value, type, style, workbook).replaceAll(/\s+/g, ' ').trim();
        while (cells.length < column) cells.push('');
        cells[column] = shown;
        left -= shown.length;
      }
      if (name !== 'row' || cells.length === 0) return;
      rows.push(cells.join('\t'));
      left -= cells.length;
      cells = [];
    },
    isDone: () => left < 0,
  };
  archive.read(path, reader);
  // The row that was too much.
  if (cells.length > 0) rows.push(cells.join('\t'));
  return rows.join('\n');
}

/** The column of a cell such as `AB12`, from 0. */
function columnOf(place: string): number {
  const letters = /^[A-Z]{1,3}/.exec(place)?.[0] ?? 'A';
  return Array.from(letters).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** A value as a program shows it, without its format of numbers. */
function show(value: string, type: string, style: number, { texts, styles, firstDay }: Workbook): string {
  if (type === 's') return texts[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  const format = styles[style];
  if (type !== 'n' || format === undefined) return value;
  const date = new Date(Math.round(firstDay + Number(value) * DAY_MS));
  if (Number.isNaN(date.getTime())) return value;
  if (format === 'duration') return toDuration(Math.round((Number(value) * DAY_MS) / 1000));
  const [day = '', time = ''] = date.toISOString().split('T');
  const clock = time.slice(0, 8);
  if (Number(value) < 1) return clock;
  return clock === '00:00:00' ? day : `${day} ${clock}`;
}

/** Hours, minutes and seconds. */
function toDuration(seconds: number): string {
  const size = Math.abs(seconds);
  const [minutes, rest] = [Math.floor(size / 60) % 60, size % 60].map((part) => `${part}`.padStart(2, '0'));
  return `${seconds < 0 ? '-' : ''}${Math.floor(size / 3600)}:${minutes}:${rest}`;
}
