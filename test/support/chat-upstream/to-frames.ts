import { ERROR_FRAMES, NONSENSE_DATA } from './breaks.js';
import type { FrameQuirks, Quirks } from './quirks.js';
import type { ChatObject } from './to-chunks.js';

/** The texts of a stream's events, in order; where the answer breaks off, what was to come is not among them. */
export function toFrames(chunks: readonly ChatObject[], quirks: Quirks): readonly string[] {
  const events = chunks.map((chunk) =>
    dataLines(JSON.stringify(chunk, null, quirks.multiLine === true ? 1 : 0), quirks),
  );
  const done = quirks.done === false ? [] : [dataLines('[DONE]', quirks)];
  const more = quirks.afterDone === true ? [dataLines(JSON.stringify(AFTER_DONE), quirks)] : [];
  const all = broken([...events, ...done, ...more], quirks);
  return all.map((lines, position) => frame(lines, quirks, position, position === all.length - 1));
}

const AFTER_DONE = { choices: [{ index: 0, delta: { content: 'after the end' }, finish_reason: null }] };

function dataLines(data: string, { noSpace }: FrameQuirks): readonly string[] {
  return data.split('\n').map((line) => `data:${noSpace === true ? '' : ' '}${line}`);
}

function broken(events: readonly (readonly string[])[], { breaks, ...quirks }: Quirks): readonly (readonly string[])[] {
  if (breaks === undefined) return events;
  const before = events.slice(0, breaks.after);
  const after = breaks.goesOn === true ? events.slice(breaks.after) : [];
  if (typeof breaks.by === 'string') return before;
  const instead =
    'error' in breaks.by ? ERROR_FRAMES[breaks.by.error] : dataLines(NONSENSE_DATA[breaks.by.nonsense], quirks);
  return [...before, instead, ...after];
}

function frame(lines: readonly string[], quirks: FrameQuirks, position: number, isLast: boolean): string {
  const end = quirks.lineEnd ?? '\n';
  const all = [
    ...(quirks.comments === true ? [': keep-alive', '', ':', ''] : []),
    ...(quirks.blankLines === true ? ['', '', ''] : []),
    ...(quirks.eventName === undefined ? [] : [`event: ${quirks.eventName}`]),
    ...(quirks.idLines === true ? [`id: ${position}`, 'retry: 3000'] : []),
    ...lines,
  ];
  const mark = quirks.byteOrderMark === true && position === 0 ? '\uFEFF' : '';
  const close = (isLast && quirks.openEnd === true) || quirks.tight === true ? '' : end;
  return `${mark}${all.join(end)}${end}${close}`;
}
