import type { ScriptTurn } from './script-file.js';

/**
 * The index of the turn after a number of answers, from 0, and past the last turn when the script repeats. Turns that fail add no
 * answer to the transcript, so the caller must count failures since the last answer.
 */
export function indexAfter(turns: readonly ScriptTurn[], answers: number): number {
  const answering = [...turns.keys()].filter((index) => !fails(turns[index] ?? {}));
  if (answers === 0 || answering.length === 0) return 0;
  const cycles = Math.floor((answers - 1) / answering.length);
  return cycles * turns.length + (answering[(answers - 1) % answering.length] ?? 0) + 1;
}

/** Whether a turn fails, so that it adds no answer to the transcript. */
export function fails({ error, cut, steps = [] }: ScriptTurn): boolean {
  if (error !== undefined || cut === true) return true;
  return steps.some(
    (step) => step.error !== undefined || step.cut === true || step.end === true || step.stall === true,
  );
}
