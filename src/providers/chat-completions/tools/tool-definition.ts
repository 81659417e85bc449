import type { FunctionParameters } from 'openai/resources/shared';

import { isObject } from '../../../validation/index.js';
import type { ToolKind } from './tool-address.js';

type Members = Readonly<Record<string, unknown>>;

/** A function definition for the model, without its name. */
export interface ToolDefinition {
  readonly description?: string;
  readonly parameters: FunctionParameters;
  readonly strict?: boolean;
}

/** The one parameter of a freeform tool. */
export const INPUT = 'input';

const text = { type: 'string' };
const milliseconds = { type: 'integer', description: 'Timeout in milliseconds.' };

const DEFINE: Readonly<Record<ToolKind, (tool: Members) => ToolDefinition>> = {
  function: ({ description, parameters, strict }) => ({
    ...describe(description),
    parameters: isObject(parameters) ? asObject(parameters) : object({}, []),
    ...(strict === true ? { strict } : {}),
  }),
  custom: ({ description, format }) => ({
    ...describe(description, describeFormat(format)),
    parameters: object({ [INPUT]: { ...text, description: 'The input of the tool, as plain text.' } }, [INPUT]),
  }),
  shell: () => ({
    description: 'Runs shell commands in sequence and returns the output of each.',
    parameters: object(
      {
        commands: { type: 'array', items: text, description: 'The commands.' },
        timeout_ms: milliseconds,
        max_output_length: { type: 'integer', description: 'Maximum number of output characters to return.' },
      },
      ['commands'],
    ),
  }),
  local_shell: () => ({
    description: 'Runs a program on the local machine and returns its output.',
    parameters: object(
      {
        command: { type: 'array', items: text, description: 'The program and its arguments.' },
        working_directory: { ...text, description: 'The working directory.' },
        env: { type: 'object', additionalProperties: text, description: 'Environment variables.' },
        timeout_ms: milliseconds,
        user: { ...text, description: 'The user to run as.' },
      },
      ['command'],
    ),
  }),
  apply_patch: () => ({
    description:
      'Creates, updates or deletes one file. The diff of a new file is its content with + before each line. The diff of an ' +
      'update has a line of @@ (optionally with a nearby heading, to locate the change) before each change, and lines that ' +
      'begin with a space for context, - for removed and + for added lines. There are no line numbers.',
    parameters: object(
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { ...text, description: 'The path of the file.' },
        diff: { ...text, description: 'The diff; not for delete_file.' },
      },
      ['type', 'path'],
    ),
  }),
  tool_search: ({ description, parameters }) => ({
    ...describe(description ?? 'Finds further tools, which can then be called.'),
    parameters: isObject(parameters)
      ? parameters
      : object({ query: { ...text, description: 'What the tools should do.' } }, ['query']),
  }),
};

/** Translates a tool of the Responses API into a Chat Completions function. */
export function defineTool(kind: ToolKind, tool: Members): ToolDefinition {
  return DEFINE[kind](tool);
}

function object(properties: Readonly<Record<string, unknown>>, required: readonly string[]): FunctionParameters {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The schema of parameters, which are an object also where it does not say so: servers refuse one without a type or properties. */
function asObject(schema: FunctionParameters): FunctionParameters {
  const { type = 'object', properties = {} } = schema;
  return { ...schema, type, properties };
}

function describe(...texts: readonly unknown[]): { readonly description?: string } {
  const description = texts.filter((part) => typeof part === 'string' && part !== '').join('\n\n');
  return description === '' ? {} : { description };
}

/** States the grammar in the description, since upstreams cannot enforce it. */
function describeFormat(format: unknown): string | undefined {
  if (!isObject(format) || format.type !== 'grammar') return undefined;
  return `The input must match this ${String(format.syntax)} grammar:\n${String(format.definition)}`;
}
