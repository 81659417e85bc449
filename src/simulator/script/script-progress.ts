import type { ScriptTurn } from './script-file.js';

/**
 * Where a conversation stands that holds so many answers, from 0 and on past the end of the turns. A turn that fails leaves
 * nothing in the conversation; how many of them have come since the last answer has to be remembered.
 */
export function indexAfter(turns: readonly ScriptTurn[], answers: number): number {
  const answering = [...turns.keys()].filter((index) => !fails(turns[index] ?? {}));
  if (answers === 0 || answering.length === 0) return 0;
  const cycles = Math.floor((answers - 1) / answering.length);
  return cycles * turns.length + (answering[(answers - 1) % answering.length] ?? 0) + 1;
}

/** Whether a turn has an end that leaves nothing in the conversation. */
export function fails({ error, cut, steps = [] }: ScriptTurn): boolean {
  if (error !== undefined || cut === true) return true;
  return steps.some(
    (step) => step.error !== undefined || step.cut === true || step.end === true || step.stall === true,
  );
}
