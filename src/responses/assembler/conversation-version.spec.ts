import { describe, expect, it } from '@jest/globals';

import { foldEvents } from './fold-events.js';
import { ResponseAssembler } from './response-assembler.js';

describe('an attempt in a conversation', () => {
  const after = (...notes: Parameters<typeof foldEvents>[0]['notes']): ResponseAssembler =>
    new ResponseAssembler({ writing: 'events and notes', settings: {} } as never, foldEvents({ events: [], notes }));
  const read = { before: 0, type: 'conversation', version: 1 };
  const pass = { before: 0, type: 'pass' };
  const finish = { before: 0, type: 'finish', reason: 'stop' };

  it('an attempt in a conversation notes the version that it reads', () => {
    const assembler = after();
    expect(assembler.readsConversation(1)).toBe(true);
    expect(assembler.takeNotes()).toEqual([read]);
  });

  it.each([
    ['of the same version', [read, pass, finish], 1, true],
    ['of another version', [read, pass, finish], 2, false],
    ['of another version that came to nothing', [read, pass], 2, true],
  ])('an attempt in a conversation goes on from a pass %s', (_, notes, version, goesOn) => {
    expect(after(...(notes as never[])).readsConversation(version)).toBe(goesOn);
  });
});
