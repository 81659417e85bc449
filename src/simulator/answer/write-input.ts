import { isSchemaObject } from '../schema/schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';
import type { CallableTool } from './callable-tools.js';
import { makeData } from './make-data.js';
import { writeProse } from './prose.js';

/** Schemas that take too long: a tool that is called a hundred times must not take that long each time. */
const tooSlow = new WeakSet<object>();

/** The arguments of a function, or the input of a custom tool, that fit what the client said of them. */
export async function writeInput(tool: CallableTool, random: SeededRandom): Promise<string> {
  if (tool.type === 'function') return writeArguments(tool.parameters, random);
  const data = await makeData(toInputSchema(tool.format), random);
  return data.found && typeof data.value === 'string' ? data.value : writeProse(random, 6);
}

/** Arguments are an object, also where the schema does not say so. */
async function writeArguments(parameters: unknown, random: SeededRandom): Promise<string> {
  if (!isSchemaObject(parameters)) return '{}';
  if (tooSlow.has(parameters)) return '{}';
  const data = await makeData('type' in parameters ? parameters : { ...parameters, type: 'object' }, random);
  if (data.found) return JSON.stringify(data.value);
  if (data.tooLong) tooSlow.add(parameters);
  return '{}';
}

/** Grammars in regular expressions can be followed; those in Lark cannot, and any text can be anything. */
function toInputSchema(format: unknown): unknown {
  if (!isSchemaObject(format) || format.syntax !== 'regex') return null;
  return { type: 'string', pattern: `^(?:${String(format.definition)})$` };
}
