import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { BytePairs } from './byte-pairs.js';
import { Vocabulary } from './vocabulary.js';

/** The tokens of o200k_base, one a line. */
const VOCABULARY = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken');

let loaded: BytePairs | null = null;
let loading: Promise<void> | null = null;

/**
 * The tokenizer of o200k_base. It is not needed if providers report usage: it is loaded on first use, at once unless
 * `loadTokenizer` was awaited.
 */
export function tokenizer(): BytePairs {
  if (loaded === null) {
    const steps = Vocabulary.read(readFileSync(VOCABULARY));
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    loaded = new BytePairs(step.value);
  }
  return loaded;
}

/** Loads the tokenizer while the event loop goes on; undefined when it is there. */
export function loadTokenizer(): Promise<void> | undefined {
  if (loaded !== null) return undefined;
  loading ??= loadInSteps().finally(() => (loading = null));
  return loading;
}

async function loadInSteps(): Promise<void> {
  const steps = Vocabulary.read(await readFile(VOCABULARY));
  while (loaded === null) {
    const step = steps.next();
    if (step.done === true) loaded = new BytePairs(step.value);
    else await nextLoopTurn();
  }
}
