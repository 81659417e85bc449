import { isCall, isInstruction, isSetting, outputsOf, validCuts, waitingItems } from '../../context/index.js';
import type { Item } from '../../protocol/index.js';
import { isModelItem } from '../../providers/transcripts/index.js';

/** A context, divided for its compaction; the three together are the context. */
export interface DividedContext {
  /** Instructions at its beginning, and items that stay in effect, such as added tools: they stay as they are. */
  readonly settings: readonly Item[];
  /** What is summarised; user messages among it may be kept as well. */
  readonly history: readonly Item[];
  /** What the model has to answer, with the calls that its outputs belong to, and what waits for an output or an approval: it stays as it is. */
  readonly tail: readonly Item[];
}

/** The items that were given since the model's last output, if it is to go on with them; null if nothing has to be answered. */
export type NewItems = readonly Item[] | null;

/** Divides a context. A call, its output and the reasoning before it are never divided. `approvalsFrom`: as of `approvalsOpenFrom`. */
export function divideContext(context: readonly Item[], added: NewItems, approvalsFrom: number): DividedContext {
  const start = added === null ? context.length : startOfTail(context, added);
  const waiting = waitingWith(context, start, approvalsFrom);
  const head = context.slice(0, start).filter((item) => !waiting.has(item));
  const instructions = head.findIndex((item) => !isInstruction(item));
  const leading = instructions === -1 ? head.length : instructions;
  return {
    settings: head.filter((item, index) => index < leading || isSetting(item)),
    history: head.filter((item, index) => index >= leading && !isSetting(item)),
    tail: context.filter((item, index) => index >= start || waiting.has(item)),
  };
}

/**
 * What waits for its output or approval, or has it in the tail from `start` on, with the reasoning that it followed from, and the calls
 * beside it with their outputs: an upstream may demand back what it gave with the first of them.
 */
function waitingWith(context: readonly Item[], start: number, approvalsFrom: number): ReadonlySet<Item> {
  const waiting = waitingItems(context, start, approvalsFrom);
  if (waiting.size === 0) return waiting;
  const found = new Set<Item>();
  let run: Item[] = [];
  const endRun = (): void => {
    const isAsking = (item: Item): boolean => waiting.has(item) || isCall(item);
    if (run.some((item) => waiting.has(item))) {
      // Reasoning behind the last call led to what follows.
      for (const item of run.slice(0, run.findLastIndex(isAsking) + 1)) found.add(item);
    }
    run = [];
  };
  for (const item of context) {
    if (isCall(item) || waiting.has(item) || item.type === 'reasoning') run.push(item);
    else endRun();
  }
  endRun();
  for (const [call, output] of outputsOf(context)) if (found.has(call)) found.add(output);
  return found;
}

/** Where what the model has to answer begins: after its last output, but not before the new items. */
function startOfTail(context: readonly Item[], added: readonly Item[]): number {
  const ids = new Set(added.map(({ id }) => id));
  // Without new items the turn goes on after its process died: then everything after the last output is new.
  const isOld = (item: Item): boolean => isModelItem(item) || (ids.size > 0 && !ids.has(item.id));
  const wanted = context.findLastIndex(isOld) + 1;
  if (wanted === context.length) return wanted;
  return validCuts(context, 0).findLast((cut) => cut <= wanted) ?? 0;
}
