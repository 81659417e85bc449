import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

import { firstLineOf, requireSchema, SchemaError } from '../../config/index.js';
import { readScripts } from './read-script.js';
import { SCRIPT_SCHEMA } from './script-file.js';

/** All faults of a script or recording, as `file:line: what is wrong`; none if the simulator can play it. */
export async function findScriptFaults(path: string): Promise<readonly string[]> {
  try {
    const content = await readFile(path, 'utf8');
    const faults = path.endsWith('.jsonl') ? await faultsOfLines(content) : await faultsOfDocument(content);
    if (faults.length > 0) return faults.map(({ line, text }) => `${path}:${line}: ${text}`);
    await readScripts([path]);
    return [];
  } catch (error) {
    return [`${path}: ${firstLineOf(error)}`];
  }
}

interface ScriptFault {
  readonly line: number;
  readonly text: string;
}

/** A JSON Lines file: the first line may hold the settings, each other one is a turn. */
async function faultsOfLines(content: string): Promise<readonly ScriptFault[]> {
  const faults: ScriptFault[] = [];
  let first: unknown;
  for (const [index, text] of content.split('\n').entries()) {
    if (text.trim() === '') continue;
    const line = index + 1;
    try {
      const value: unknown = JSON.parse(text);
      first ??= value;
      faults.push(...(await violationsOf(toFile(value, first))).map(({ text }) => ({ line, text: asLine(text) })));
    } catch (error) {
      faults.push({ line, text: `is not JSON: ${firstLineOf(error)}` });
    }
  }
  return first === undefined && faults.length === 0 ? [{ line: 1, text: 'the file has no turns' }] : faults;
}

/** Settings are valid only with a turn. */
const ANY_TURN = { text: '' };

/** A script with this line alone. Several recorders may each have written the settings. */
function toFile(value: unknown, first: unknown): unknown {
  const isSettings = typeof first === 'object' && first !== null && 'settings' in first;
  if (!isSettings || !isDeepStrictEqual(value, first)) return { turns: [value] };
  const { settings, ...others } = first;
  return { ...(settings as object), ...others, turns: [ANY_TURN] };
}

function asLine(text: string): string {
  return text.replace(/^turns\[0\]\.?/, '').trimStart();
}

async function violationsOf(value: unknown): Promise<SchemaError['violations']> {
  try {
    requireSchema(value, SCRIPT_SCHEMA);
    return [];
  } catch (error) {
    if (error instanceof SchemaError) return error.violations;
    throw error;
  }
}

/** A file in YAML, of which JSON is a part. */
async function faultsOfDocument(content: string): Promise<readonly ScriptFault[]> {
  const { isNode, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(content, { lineCounter: lines, logLevel: 'error', merge: true });
  if (document.errors.length > 0) {
    return document.errors.map((error) => ({
      line: error.linePos?.[0].line ?? 1,
      text: firstLineOf(error).replace(/ at line \d+, column \d+$/, ''),
    }));
  }
  const lineOf = (path: readonly string[]): number => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range != null) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  const violations = await violationsOf(document.toJS());
  return violations.map(({ path, text }) => ({ line: lineOf(path), text })).sort((a, b) => a.line - b.line);
}
