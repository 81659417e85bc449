import { readFile } from 'node:fs/promises';

import { EnvironmentError, firstLineOf, objectSchema, parseDataFile, requireSchema } from '../../config/index.js';
import { ApiError, type InputItem, parametersWhere } from '../../protocol/index.js';
import { isObject, objectsIn } from '../../validation/index.js';
import { validateCreateRequest } from '../dto/validate-create-request.js';

/** A version of a prompt. */
export interface PromptVersion {
  readonly version: string;
  /** Text with variables, such as `{{city}}`; null without one. */
  readonly instructions: string | null;
  /** Messages in front of the request's input, with variables. */
  readonly input: readonly InputItem[];
  /** Members of the request that it brings. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Names of its variables, in the order of their first use. */
  readonly variables: readonly string[];
  /** The variables that stand outside the content of messages: only a text can take their place. */
  readonly textVariables: readonly string[];
}

/** An entry of PROMPTS_FILE. */
export interface Prompt {
  readonly id: string;
  /** Who may use it; undefined for everybody. */
  readonly tenants: readonly string[] | undefined;
  /** The version of requests that name none. */
  readonly defaultVersion: string;
  /** At least one, in the order of the file. */
  readonly versions: readonly PromptVersion[];
}

/** The file as it is written. */
interface PromptsFile {
  readonly prompts: readonly {
    readonly id: string;
    readonly tenants?: readonly string[];
    readonly default_version?: string | number;
    readonly versions: readonly {
      readonly version: string | number;
      readonly instructions?: string;
      readonly input?: string | readonly InputItem[];
      readonly [setting: string]: unknown;
    }[];
  }[];
}

/** Members of a request that a prompt may bring, besides instructions and input. */
const SETTINGS = parametersWhere(({ inPrompts }) => inPrompts === true);

const NAME = { type: 'string', minLength: 1, maxLength: 128 };
const VERSION = { anyOf: [NAME, { type: 'integer' }] };

const PROMPT_VERSION = objectSchema(
  {
    version: VERSION,
    instructions: { type: 'string' },
    input: { type: ['string', 'array'] },
    ...Object.fromEntries(SETTINGS.map((name) => [name, {}])),
  },
  { required: ['version'] },
);

const PROMPT = objectSchema(
  {
    id: NAME,
    tenants: { type: 'array', items: NAME, minItems: 1 },
    default_version: VERSION,
    versions: { type: 'array', minItems: 1, items: PROMPT_VERSION },
  },
  { required: ['id', 'versions'] },
);

const SCHEMA = objectSchema({ prompts: { type: 'array', items: PROMPT } }, { required: ['prompts'] });

/** What a text says in place of a variable. */
export const VARIABLE = /\{\{\s*([\w.-]{1,64})\s*\}\}/g;

/** Reads and validates PROMPTS_FILE. Throws EnvironmentError, which names the place of the fault. */
export async function readPromptsFile(path: string): Promise<ReadonlyMap<string, Prompt>> {
  try {
    const value = await parseDataFile(path, await readFile(path, 'utf8'));
    const { prompts } = requireSchema<PromptsFile>(value ?? {}, SCHEMA);
    const found = new Map<string, Prompt>();
    for (const [index, entry] of prompts.entries()) {
      const place = `prompts[${index}]`;
      if (found.has(entry.id)) throw new Error(`${place}.id is a duplicate`);
      found.set(entry.id, toPrompt(entry, place));
    }
    return found;
  } catch (error) {
    throw new EnvironmentError([`PROMPTS_FILE: ${path}: ${firstLineOf(error)}.`]);
  }
}

function toPrompt(entry: PromptsFile['prompts'][number], place: string): Prompt {
  const versions = entry.versions.map((version, index) => toVersion(version, `${place}.versions[${index}]`));
  const names = versions.map(({ version }) => version);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice !== -1) throw new Error(`${place}.versions[${twice}].version is a duplicate`);
  const defaultVersion = String(entry.default_version ?? names.at(-1));
  if (!names.includes(defaultVersion)) throw new Error(`${place}.default_version is none of its versions`);
  return { id: entry.id, tenants: entry.tenants, defaultVersion, versions };
}

function toVersion(entry: PromptsFile['prompts'][number]['versions'][number], place: string): PromptVersion {
  const { version, instructions = null, input = [], ...settings } = entry;
  const items: readonly InputItem[] =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  try {
    // As the request of a client, which adds what the prompt leaves out.
    const rest = { model: 'any', instructions, ...settings };
    validateCreateRequest({ ...rest, input: items.length === 0 ? 'JSON' : items }, { unknownParameters: 'reject' });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new Error(`${place}${error.param === null ? '' : `.${error.param}`}: ${error.message}`, { cause: error });
  }
  refuseCredentials(settings.tools, place);
  const variables = variablesIn([instructions, items]);
  const textVariables = variablesIn([instructions, items.map(withoutContent)]);
  return { version: String(version), instructions, input: items, settings, variables, textVariables };
}

/** Every client of the prompt would see them: responses echo their tools. */
function refuseCredentials(tools: unknown, place: string): void {
  for (const [index, tool] of objectsIn(tools).entries()) {
    const member = ['authorization', 'headers'].find((name) => tool[name] != null);
    if (member === undefined) continue;
    throw new Error(`${place}.tools[${index}].${member}: credentials are not for prompts, whose clients can read them`);
  }
}

/** What of an item is not text of a message. */
function withoutContent(item: InputItem): unknown {
  if (item.type != null && item.type !== 'message') return item;
  const { content, ...members } = item as { readonly content?: unknown };
  return [members, objectsIn(content).map(({ text: _, ...part }) => part)];
}

function variablesIn(value: unknown): readonly string[] {
  const names = [...textsIn(value)].flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name = '']) => name));
  return [...new Set(names)];
}

/** All texts in a value, which a variable may stand in. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const element of value) yield* textsIn(element);
  else if (isObject(value)) for (const member of Object.values(value)) yield* textsIn(member);
}
