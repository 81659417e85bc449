import { isObject, objectsIn } from '../../../validation/index.js';
import { quotableName } from '../../redact.js';
import { THOUGHTS } from '../opaque/opaque-members.js';
import type { ChatDelta } from './chat-chunk.js';

/** What a delta or a message says. */
export interface DeltaTexts {
  readonly reasoning: string;
  readonly text: string;
  readonly refusal: string;
}

const THOUGHT_TYPES: ReadonlySet<unknown> = new Set(['thinking', 'reasoning', 'reasoning_text', 'reasoning_content']);

/** Members of which at least one is in each part of a content. */
const OF_PARTS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'content',
  'value',
  'parts',
  'refusal',
  'image_url',
  'inline_data',
]);

/** Types of parts that say nothing: they cite, or are demanded back. */
const SILENT_PARTS: ReadonlySet<unknown> = new Set([
  'text',
  'output_text',
  'refusal',
  'reference',
  'redacted_thinking',
  'document_url',
]);

/** Members that may hold content, by their names. */
const LIKE_CONTENT =
  /audio|content|data|file|image|input|media|message|output|refusal|response|speech|text|think|thought|url|video/i;

/** Members of deltas that are about a message, and no part of it. */
const ABOUT_CONTENT =
  /metadata$|filter_results$|^(?:content|input|message|output|response)_?(?:format|id|index|status|type)$/i;

/** Members of deltas whose content is read, or demanded back, in all forms. */
const READ: ReadonlySet<string> = new Set([
  'images',
  'reasoning_details',
  'thinking_blocks',
  'extra_content',
  'encrypted_content',
  'thought_signature',
  'thinking_signature',
]);

const NO_PARTS: readonly Readonly<Record<string, unknown>>[] = [];

/** Reads the reasoning, the text and the refusal of a delta or a message. Content may be a list of parts, of which some are reasoning. */
export function textsIn(delta: ChatDelta): DeltaTexts {
  const thought = thoughtOf(delta);
  const refusal = textOrEmpty(delta.refusal);
  const content = delta.content ?? delta.text;
  if (typeof content === 'string' && content !== '') return { reasoning: thought, text: content, refusal };
  const parts = partsOf(content);
  // Most deltas of reasoning have no content.
  if (parts.length === 0 && delta.audio == null) return { reasoning: thought, text: '', refusal };
  const text = parts
    .filter((part) => !isThought(part))
    .map(textOfPart)
    .join('');
  return {
    reasoning: thought + parts.filter(isThought).map(wordsOf).join(''),
    // What is said as sound has its words beside it.
    text: text === '' ? (transcriptOf(delta) ?? jsonOf(content)) : text,
    refusal: refusal + parts.map((part) => textOrEmpty(part.refusal)).join(''),
  };
}

/** The parts of a content: a list of objects, texts, numbers and booleans, or one of them. */
function partsOf(content: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (content == null || content === '') return NO_PARTS;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return objectsIn(parts.map((part) => (isObject(part) ? part : { text: valueText(part) })));
}

/** A text as it is, and another value as JSON; empty for null and undefined. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value);
}

function textOfPart({ text, content, value, parts, transcript, audio }: Readonly<Record<string, unknown>>): string {
  return wordsOf(text ?? content ?? value ?? parts ?? transcript ?? transcriptOf({ audio }));
}

/** The words of a sound. */
function transcriptOf({ audio }: ChatDelta): string | undefined {
  return isObject(audio) ? textOrEmpty(audio.transcript) : undefined;
}

/** A content that is an object with nothing of a part in it: some servers parse the JSON of structured output. */
function jsonOf(content: unknown): string {
  if (!isObject(content)) return '';
  const names = Object.keys(content);
  return names.length === 0 || names.some((name) => OF_PARTS.has(name)) ? '' : JSON.stringify(content);
}

/**
 * What of a delta is content in a form that is not read, such as `part 'video_url'`; undefined for nothing. `isRead`: a text, a call or other output
 * was read of it.
 */
export function unreadIn(delta: ChatDelta, isRead: boolean): string | undefined {
  const part = Array.isArray(delta.content) ? objectsIn(delta.content).find(isUnread) : undefined;
  if (part !== undefined) return `a part of type '${quotableName(part.type)}'`;
  if (isRead) return undefined;
  const member = Object.entries(delta).find(
    ([name, value]) =>
      LIKE_CONTENT.test(name) && !ABOUT_CONTENT.test(name) && !READ.has(name) && isThere(value) && !isPart(name, value),
  );
  return member === undefined ? undefined : `the member '${quotableName(member[0])}'`;
}

/** Whether a member is a content of parts, which were looked at. */
function isPart(name: string, value: unknown): boolean {
  return name === 'content' && (Array.isArray(value) || (isObject(value) && value.type !== undefined));
}

function isUnread(part: Readonly<Record<string, unknown>>): boolean {
  const { type, refusal } = part;
  if (isThought(part) || isImage(part) || SILENT_PARTS.has(type) || isThere(refusal)) return false;
  return (
    textOfPart(part) === '' && Object.entries(part).some(([name, value]) => LIKE_CONTENT.test(name) && isThere(value))
  );
}

/** Whether a value may be content. Flags and numbers are about it. */
function isThere(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isThere);
  return typeof value === 'string' && value !== '';
}

function thoughtOf(delta: ChatDelta): string {
  for (const member of THOUGHTS) {
    const thought = wordsOf(delta[member]);
    if (thought !== '') return thought;
  }
  return '';
}

/** Gemini marks its thoughts with a member. */
function isThought({ type, thought }: Readonly<Record<string, unknown>>): boolean {
  return THOUGHT_TYPES.has(type) || thought === true;
}

/** The words of a text, of an object that has one, or of a list of them. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join('');
  if (!isObject(value)) return '';
  const { thinking, text, summary, content, reasoning_content: reasoning } = value;
  return wordsOf(thinking ?? text ?? summary ?? content ?? reasoning ?? value.value);
}

/** The images in the parts of a content. */
export function imagesIn(content: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(content) ? objectsIn(content).filter(isImage) : NO_PARTS;
}

/** Whether a part of the content is an image. */
function isImage({ type, inline_data: data }: Readonly<Record<string, unknown>>): boolean {
  return type === 'image_url' || type === 'image' || type === 'output_image' || isObject(data);
}

/** A string; anything else is empty. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** What a whole text has beyond what was said; empty if they contradict each other, since nothing can be taken back. */
export function restOf(said: string, whole: string): string {
  return whole.startsWith(said) ? whole.slice(said.length) : '';
}
