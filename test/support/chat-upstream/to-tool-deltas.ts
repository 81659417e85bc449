import { type AnsweredCall, listPieces } from './chat-answer.js';
import type { CallQuirks } from './quirks.js';

type Entry = Readonly<Record<string, unknown>>;

/** The `tool_calls` members of the deltas that say these calls, one list per chunk. `from` calls were made before. */
export function toToolDeltas(calls: readonly AnsweredCall[], quirks: CallQuirks, from: number): readonly Entry[][] {
  const entries = calls.map((call, position) => entriesOf(call, from + position, quirks));
  switch (quirks.callOrder) {
    case 'alternating':
      return rounds(entries).flatMap((round) => round.map((entry) => [entry]));
    case 'together':
      return rounds(entries);
    default:
      return entries.flat().map((entry) => [entry]);
  }
}

/** The pieces of several calls by their position: all first ones, all second ones, and so on. */
function rounds(entries: readonly (readonly Entry[])[]): Entry[][] {
  const length = Math.max(0, ...entries.map((pieces) => pieces.length));
  return Array.from({ length }, (_, round) => entries.flatMap((pieces) => pieces.slice(round, round + 1)));
}

function entriesOf(call: AnsweredCall, position: number, quirks: CallQuirks): Entry[] {
  const functions = functionsOf(call, quirks);
  const id = idOf(call, position, quirks);
  return functions.map((member, piece) => {
    const isFirst = piece === 0;
    const isLast = piece === functions.length - 1;
    const idHere = isWritten(quirks.callIds, isFirst, isLast);
    const typeHere = isWritten(quirks.callTypes, isFirst, isLast);
    return {
      ...(quirks.callIndexes === 'missing' ? {} : { index: quirks.callIndexes === 'zero' ? 0 : position }),
      ...(idHere ? { id } : {}),
      ...(typeHere ? { type: 'function' } : {}),
      function: member,
    };
  });
}

/** Whether something that belongs to a call stands in this chunk of it. */
function isWritten(where: CallQuirks['callIds'], isFirst: boolean, isLast: boolean): boolean {
  if (where === 'missing') return false;
  return where === 'every_chunk' || (where === 'last_chunk' ? isLast : isFirst);
}

function idOf(call: AnsweredCall, position: number, { callIds }: CallQuirks): string | null {
  switch (callIds) {
    case 'same':
      return 'call_same';
    case 'empty':
      return '';
    case 'null':
      return null;
    default:
      return call.id ?? `call_${position + 1}`;
  }
}

/** The `function` members of a call's chunks. */
function functionsOf(call: AnsweredCall, quirks: CallQuirks): Entry[] {
  const pieces = listPieces(call.arguments ?? '{}');
  switch (quirks.callArguments) {
    case 'whole':
      return [{ name: call.name, arguments: pieces.join('') }];
    case 'object':
      return [{ name: call.name, arguments: JSON.parse(pieces.join('')) as unknown }];
    case 'null':
      return [{ name: call.name, arguments: null }];
    case 'missing':
      return [{ name: call.name }];
    default:
      return named(call.name, pieces, quirks);
  }
}

function named(name: string, pieces: readonly string[], { callNames }: CallQuirks): Entry[] {
  const argumentsOnly = pieces.map((piece) => ({ arguments: piece }));
  const middle = Math.ceil(name.length / 2);
  switch (callNames) {
    case 'split':
      return [{ name: name.slice(0, middle), arguments: '' }, { name: name.slice(middle) }, ...argumentsOnly];
    case 'every_chunk':
      return pieces.map((piece) => ({ name, arguments: piece }));
    case 'last_chunk':
      return [...argumentsOnly, { name, arguments: '' }];
    default:
      return [{ name, arguments: '' }, ...argumentsOnly];
  }
}
