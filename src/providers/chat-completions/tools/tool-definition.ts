import type { FunctionParameters } from 'openai/resources/shared';

import { isObject } from '../../../validation/index.js';
import type { ToolKind } from './tool-address.js';

type Members = Readonly<Record<string, unknown>>;

/** What a model is told of a function. */
export interface ToolDefinition {
  readonly description?: string;
  readonly parameters: FunctionParameters;
  readonly strict?: boolean;
}

/** The one parameter of a freeform tool. */
export const INPUT = 'input';

const text = { type: 'string' };
const milliseconds = { type: 'integer', description: 'How long it may take, in milliseconds.' };

const DEFINE: Readonly<Record<ToolKind, (tool: Members) => ToolDefinition>> = {
  function: ({ description, parameters, strict }) => ({
    ...describe(description),
    parameters: isObject(parameters) ? parameters : object({}, []),
    ...(strict === true ? { strict } : {}),
  }),
  custom: ({ description, format }) => ({
    ...describe(description, describeFormat(format)),
    parameters: object({ [INPUT]: { ...text, description: 'The input of the tool, as plain text.' } }, [INPUT]),
  }),
  shell: () => ({
    description: 'Runs shell commands, one after the other, and gives what each of them printed.',
    parameters: object(
      {
        commands: { type: 'array', items: text, description: 'The commands.' },
        timeout_ms: milliseconds,
        max_output_length: { type: 'integer', description: 'Most characters of output that are given back.' },
      },
      ['commands'],
    ),
  }),
  local_shell: () => ({
    description: 'Runs a program on the local machine and gives what it printed.',
    parameters: object(
      {
        command: { type: 'array', items: text, description: 'The program and its arguments.' },
        working_directory: { ...text, description: 'Where it runs.' },
        env: { type: 'object', additionalProperties: text, description: 'Environment variables.' },
        timeout_ms: milliseconds,
        user: { ...text, description: 'Whom it runs as.' },
      },
      ['command'],
    ),
  }),
  apply_patch: () => ({
    description:
      'Creates, updates or deletes one file. The diff of a new file is its content with + before each line. The diff of an ' +
      'update has a line of @@ (with a nearby heading, if that helps to find the place) before each change, and lines that ' +
      'begin with a blank for context, - for what goes and + for what comes. There are no line numbers.',
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
    ...describe(description ?? 'Finds further tools that can be called afterwards.'),
    parameters: isObject(parameters)
      ? parameters
      : object({ query: { ...text, description: 'What the tools should be able to do.' } }, ['query']),
  }),
};

/** A tool of the Responses API as a function of Chat Completions. */
export function defineTool(kind: ToolKind, tool: Members): ToolDefinition {
  return DEFINE[kind](tool);
}

function object(properties: Readonly<Record<string, unknown>>, required: readonly string[]): FunctionParameters {
  return { type: 'object', properties, required, additionalProperties: false };
}

function describe(...texts: readonly unknown[]): { readonly description?: string } {
  const description = texts.filter((part) => typeof part === 'string' && part !== '').join('\n\n');
  return description === '' ? {} : { description };
}

/** A grammar cannot be enforced upstream; the model can at least be told. */
function describeFormat(format: unknown): string | undefined {
  if (!isObject(format) || format.type !== 'grammar') return undefined;
  return `The input must match this ${String(format.syntax)} grammar:\n${String(format.definition)}`;
}
