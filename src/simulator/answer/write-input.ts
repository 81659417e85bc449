import { isSchemaObject } from '../schema/schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';
import type { CallableTool } from './callable-tools.js';
import { makeData } from './make-data.js';
import { writeProse } from './prose.js';

/**
 * Arguments or input for a tool, valid under its schema or format. `tooMuch`: schemas that took too much work earlier in the turn;
 * they are not tried again.
 */
export async function writeInput(tool: CallableTool, random: SeededRandom, tooMuch: Set<unknown>): Promise<string> {
  if (tool.type === 'function') return writeArguments(tool.parameters, random, tooMuch);
  const data = await makeData(toInputSchema(tool.format), random);
  return data.found && typeof data.value === 'string' ? data.value : writeProse(random, 6);
}

/** JSON text of arguments, which are an object even if the schema does not require one. */
async function writeArguments(parameters: unknown, random: SeededRandom, tooMuch: Set<unknown>): Promise<string> {
  if (!isSchemaObject(parameters) || tooMuch.has(parameters)) return '{}';
  const data = await makeData('type' in parameters ? parameters : { ...parameters, type: 'object' }, random);
  if (data.found) return JSON.stringify(data.value);
  if (data.tooMuch) tooMuch.add(parameters);
  return '{}';
}

/** The schema of a custom tool's input: a pattern for `regex` grammars; null for Lark grammars and plain text. */
function toInputSchema(format: unknown): unknown {
  if (!isSchemaObject(format) || format.syntax !== 'regex') return null;
  return { type: 'string', pattern: `^(?:${String(format.definition)})$` };
}
