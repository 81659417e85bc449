import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment, ReloadedFile } from '../../config/index.js';
import { ApiError, type ContentPart, type InputItem } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { type Prompt, type PromptVersion, readPromptsFile, VARIABLE } from './prompts-file.js';

/** `prompt` of a request, already validated (protocol §2). */
export interface PromptReference {
  readonly id: string;
  readonly version?: string | null;
  readonly variables?: Readonly<Record<string, string | ContentPart>> | null;
}

/** What a prompt brings to a request. */
export interface FilledPrompt {
  /** The reference with the version that is used, as the response echoes it. */
  readonly reference: PromptReference;
  /** Members of the request that count unless it has them itself. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Messages in front of the request's input. */
  readonly input: readonly InputItem[];
}

type Variables = Readonly<Record<string, string | ContentPart>>;

/** The prompts of PROMPTS_FILE, which is read again when it changes, and on SIGHUP. */
@Injectable()
export class Prompts implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Prompts');
  private readonly file: ReloadedFile<ReadonlyMap<string, Prompt>> | null;

  constructor({ PROMPTS_FILE: path }: Environment, clock: Clock) {
    const read = (): Promise<ReadonlyMap<string, Prompt>> => readPromptsFile(path);
    const file = { variable: 'PROMPTS_FILE' as const, path, what: 'prompts', read, count: sizeOf };
    this.file = path === '' ? null : new ReloadedFile(file, new Map(), clock, this.logger);
  }

  /** Throws EnvironmentError when PROMPTS_FILE cannot be read or is not valid. */
  async onModuleInit(): Promise<void> {
    await this.file?.start();
  }

  onApplicationShutdown(): void {
    this.file?.stop();
  }

  /** The prompts of a tenant, in the order of the file. */
  list(tenant: Tenant): readonly Prompt[] {
    return [...this.known.values()].filter((prompt) => mayUse(prompt, tenant));
  }

  /** A prompt of a tenant; undefined for one that is unknown. */
  find(id: string, tenant: Tenant): Prompt | undefined {
    const prompt = this.known.get(id);
    return prompt !== undefined && mayUse(prompt, tenant) ? prompt : undefined;
  }

  /**
   * What a prompt brings to a request, its variables filled in. Throws ApiError 400 for an id, a version or a variable that is unknown, and
   * for one that is missing.
   */
  fill(reference: PromptReference, tenant: Tenant): FilledPrompt {
    const { id, version: asked, variables } = reference;
    if (this.file === null) {
      const message =
        "Unsupported parameter: 'prompt' is not supported by this server. Its operator can name prompts in PROMPTS_FILE.";
      throw ApiError.of('unsupported_parameter', message, { param: 'prompt' });
    }
    const prompt = this.find(id, tenant);
    if (prompt === undefined) throw ApiError.badRequest(`Prompt with id '${id}' not found.`, 'prompt.id');
    const name = asked ?? prompt.defaultVersion;
    const version = prompt.versions.find((one) => one.version === name);
    if (version === undefined) {
      throw ApiError.badRequest(`Prompt '${id}' has no version '${name}'.`, 'prompt.version');
    }
    checkVariables(version, variables ?? {}, id);
    return { reference: { id, version: name, variables: variables ?? null }, ...fillVersion(version, variables ?? {}) };
  }

  /** An error of a turn with a prompt, whose places are those of the input that the client has sent. */
  toOwnPlaces(
    error: ApiError,
    reference: Pick<PromptReference, 'id' | 'version'> | undefined,
    tenant: Tenant,
  ): ApiError {
    const prompt = reference && this.find(reference.id, tenant);
    const version = prompt?.versions.find((one) => one.version === reference?.version);
    return version === undefined ? error : toOwnPlaces(error, version);
  }

  private get known(): ReadonlyMap<string, Prompt> {
    return this.file?.current ?? new Map();
  }
}

function sizeOf({ size }: ReadonlyMap<string, Prompt>): number {
  return size;
}

/** A request with what its prompt brings; a member that the request has counts, and its input follows the messages of the prompt. */
export function withPrompt(
  request: Readonly<Record<string, unknown>>,
  { reference, settings, input: messages }: FilledPrompt,
): Record<string, unknown> {
  const own = Object.fromEntries(Object.entries(request).filter(([, value]) => value != null));
  const filled = { ...settings, ...own, prompt: reference };
  const { input = [] } = request;
  if (messages.length === 0) return filled;
  if (typeof input === 'string') return { ...filled, input: [...messages, { role: 'user', content: input }] };
  return Array.isArray(input) ? { ...filled, input: [...messages, ...(input as readonly unknown[])] } : filled;
}

/** An error of a request with a prompt, whose places are those of the input that the client has sent. */
export function toOwnPlaces(error: ApiError, { input: messages }: Pick<FilledPrompt, 'input'>): ApiError {
  const { status, type, code, param, headers, cause } = error;
  const place = /^input\[(\d+)\]/.exec(param ?? '');
  if (place === null || messages.length === 0) return error;
  const index = Number(place[1]) - messages.length;
  if (index < 0) {
    const message = error.message.replaceAll(`'${param}'`, "'prompt'");
    return new ApiError(status, type, code, 'prompt', message, headers, cause);
  }
  const toOwn = (text: string): string => text.replaceAll(place[0], `input[${index}]`);
  return new ApiError(status, type, code, toOwn(param ?? ''), toOwn(error.message), headers, cause);
}

function mayUse({ tenants }: Prompt, tenant: Tenant): boolean {
  return tenants === undefined || tenants.includes(tenant);
}

function checkVariables({ variables: known, textVariables }: PromptVersion, given: Variables, id: string): void {
  for (const name of known) {
    if (Object.hasOwn(given, name)) continue;
    throw ApiError.of('missing_required_parameter', `Prompt '${id}' needs the variable '${name}'.`, {
      param: `prompt.variables.${name}`,
    });
  }
  for (const [name, value] of Object.entries(given)) {
    const param = `prompt.variables.${name}`;
    if (!known.includes(name)) throw ApiError.badRequest(`Prompt '${id}' has no variable '${name}'.`, param);
    if (textOf(value) === undefined && textVariables.includes(name)) {
      throw ApiError.badRequest(
        `The variable '${name}' stands outside the content of messages: it must be a text.`,
        param,
      );
    }
  }
}

function fillVersion(version: PromptVersion, given: Variables): Pick<FilledPrompt, 'settings' | 'input'> {
  const { instructions, input, settings } = version;
  return {
    settings: instructions === null ? settings : { ...settings, instructions: fillText(instructions, given) },
    input: input.map((item) => fillItem(item, given)),
  };
}

/** A message whose content has variables that are no text gets parts. */
function fillItem(item: InputItem, given: Variables): InputItem {
  if (item.type !== undefined && item.type !== null && item.type !== 'message')
    return fillTexts(item, given) as InputItem;
  const { content } = item as { readonly content?: unknown };
  if (typeof content === 'string') {
    const parts = toParts({ type: 'input_text', text: content }, given);
    const [only] = parts;
    return { ...item, content: parts.length === 1 && only?.type === 'input_text' ? only.text : parts };
  }
  if (!Array.isArray(content)) return item;
  const parts = (content as readonly ContentPart[]).flatMap((part) => toParts(part, given));
  return { ...item, content: parts };
}

/** A part with its variables: where one is an image or a file, the text around it becomes parts of its own. */
function toParts(part: ContentPart, given: Variables): readonly ContentPart[] {
  if (typeof part.text !== 'string') return [fillTexts(part, given) as ContentPart];
  const parts: ContentPart[] = [];
  let text = '';
  let end = 0;
  for (const match of part.text.matchAll(VARIABLE)) {
    text += part.text.slice(end, match.index);
    end = match.index + match[0].length;
    const value = given[match[1] ?? ''];
    const words = textOf(value);
    if (words !== undefined) {
      text += words;
      continue;
    }
    if (text !== '') parts.push({ ...part, text });
    parts.push(value as ContentPart);
    text = '';
  }
  text += part.text.slice(end);
  if (text !== '' || parts.length === 0) parts.push({ ...part, text });
  return parts;
}

function fillTexts(value: unknown, given: Variables): unknown {
  if (typeof value === 'string') return fillText(value, given);
  if (Array.isArray(value)) return value.map((element) => fillTexts(element, given));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillTexts(member, given)]));
}

function fillText(text: string, given: Variables): string {
  return text.replace(VARIABLE, (whole, name: string) => textOf(given[name]) ?? whole);
}

/** The text of a variable; undefined for an image or a file. */
function textOf(value: string | ContentPart | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value?.type === 'input_text' && typeof value.text === 'string' ? value.text : undefined;
}
