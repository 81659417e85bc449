import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { GptEncoding } from 'gpt-tokenizer/GptEncoding';

import { buildTokenizer } from './build-tokenizer.js';

const require = createRequire(import.meta.url);

/** The tokens of o200k_base, one a line. */
const VOCABULARY = require.resolve('gpt-tokenizer/data/o200k_base.tiktoken');

let loaded: GptEncoding | null = null;
let loading: Promise<void> | null = null;

/**
 * The tokenizer of o200k_base. It takes 0.25 s and 50 MB, and is not needed if providers report usage: it is loaded on
 * first use, at once unless `loadTokenizer` was awaited.
 */
export function tokenizer(): GptEncoding {
  if (loaded === null) {
    const steps = buildTokenizer(requireLibrary(), readFileSync(VOCABULARY));
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    loaded = step.value;
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
  const steps = buildTokenizer(requireLibrary(), await readFile(VOCABULARY));
  while (loaded === null) {
    const step = steps.next();
    if (step.done === true) loaded = step.value;
    else await nextLoopTurn();
  }
}

function requireLibrary(): typeof GptEncoding {
  return (require('gpt-tokenizer/GptEncoding') as { readonly GptEncoding: typeof GptEncoding }).GptEncoding;
}
