import type { ContentPart, Item, ResponseSettings } from '../../protocol/index.js';
import { Count, countChunk, type CountOptions } from './count.js';
import { cutText } from './cut-text.js';

/** Cost of an item beyond its texts, in characters. */
const ITEM_COST = 64;

/** Every item is framed by its role and two separators. */
const ITEM_FRAMING = 3;
/** Tokens of an image, as OpenAI bills `detail: "low"` and otherwise 1024 x 1024 pixels. The actual size is ignored. */
const IMAGE_TOKENS = { low: 85, other: 765 };
/** Files and encrypted content count a quarter of their base64 length; a file up to MOST_FILE_TOKENS. */
const BASE64_PER_TOKEN = 4;
const MOST_FILE_TOKENS = 128_000;
/** Audio has about 10 to 30 tokens, and 10,000 to 40,000 base64 characters, per second. */
const AUDIO_BASE64_PER_TOKEN = 1000;

const counts = new WeakMap<object, number>();

/** A lone item with fewer tokens is counted again if its response is continued: mostly it is not, and each entry costs the garbage collector more. */
const LEAST_KEPT_ALONE = 256;

/** Tokens of a text in o200k_base. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const chunk of cutText(text)) tokens += countChunk(chunk);
  return tokens;
}

/**
 * Tokens of items. The count of each item is cached for its lifetime, unless it is short and alone. Rejects with the reason of the signal
 * when it aborts.
 */
export async function countItemTokens(items: readonly Item[], options: CountOptions = {}): Promise<number> {
  const count = await Count.begin(options);
  const leastKept = items.length === 1 ? LEAST_KEPT_ALONE : 0;
  for (const item of items) {
    if (count.isEnough) break;
    const known = counts.get(item);
    if (known === undefined) await countItem(item, count, leastKept);
    else count.add(known);
  }
  return count.tokens;
}

/** Characters that `estimateItemTokens` counts: at most a few ms of work. */
const COUNTED_CHARACTERS = 16_384;

/** Tokens of items at once: of their first characters, and of the rest by the ratio of those. Without `loadTokenizer` it loads the tokenizer. */
export function estimateItemTokens(items: readonly Item[]): number {
  let [tokens, characters, counted, ofCounted] = [0, 0, 0, 0];
  for (const item of items) {
    tokens += ITEM_FRAMING;
    for (const part of partsOfItem(item)) {
      tokens += FLAT_TOKENS.get(part.type)?.(part) ?? 0;
      const text = textOfPart(part);
      characters += text.length;
      const first = text.slice(0, COUNTED_CHARACTERS - counted);
      counted += first.length;
      ofCounted += countTokens(first);
    }
  }
  return tokens + (counted === 0 ? 0 : Math.ceil((ofCounted * characters) / counted));
}

/** Tokens of instructions, tools and the schema of the answer. Rejects with the reason of the signal when it aborts. */
export async function countSettingsTokens(settings: ResponseSettings, options: CountOptions = {}): Promise<number> {
  const count = await Count.begin(options);
  if (settings.instructions !== null) {
    count.add(ITEM_FRAMING);
    await count.addText(settings.instructions);
  }
  await countTools(settings.tools, count);
  const { format } = settings.text;
  if (format?.type === 'json_schema') await count.addText(JSON.stringify(format.schema));
  return count.tokens;
}

async function countTools(tools: ResponseSettings['tools'], count: Count): Promise<void> {
  if (tools.length === 0) return;
  const known = counts.get(tools);
  if (known !== undefined) {
    count.add(known);
    return;
  }
  const before = count.tokens;
  for (const tool of tools) {
    if (count.isEnough) return;
    await count.addText(textOfTool(tool));
  }
  if (!count.isEnough) counts.set(tools, count.tokens - before);
}

/** `leastKept`: a count below it is not cached. */
async function countItem(item: Item, count: Count, leastKept: number): Promise<void> {
  const parts = partsOfItem(item);
  const before = count.tokens;
  count.add(ITEM_FRAMING);
  const pause = count.pay(ITEM_COST);
  if (pause !== undefined) await pause;
  for (const part of parts) {
    if (count.isEnough) return;
    const flat = FLAT_TOKENS.get(part.type)?.(part);
    if (flat !== undefined) count.add(flat);
    const text = textOfPart(part);
    if (text !== '') await count.addText(text);
  }
  const tokens = count.tokens - before;
  if (!count.isEnough && tokens >= leastKept) counts.set(item, tokens);
}

/** A piece of a prompt: tokens of what is no text, then those of a text. */
export interface PromptPiece {
  /** Identifies what is no text; empty without it. */
  readonly kind: string;
  readonly flat: number;
  readonly text: string;
}

/** What `countItemTokens` counts of an item, piece by piece. */
export function* listItemPieces(item: Item): Generator<PromptPiece> {
  const { type, role } = item;
  yield { kind: JSON.stringify([type, role]), flat: ITEM_FRAMING, text: '' };
  for (const part of partsOfItem(item)) {
    const flat = FLAT_TOKENS.get(part.type)?.(part) ?? 0;
    yield { kind: flat === 0 ? '' : JSON.stringify(part), flat, text: textOfPart(part) };
  }
}

/** What `countSettingsTokens` counts, in the order in which a model reads it: the tools come first. */
export function* listSettingsPieces({ instructions, tools, text }: ResponseSettings): Generator<PromptPiece> {
  for (const tool of tools) yield { kind: '', flat: 0, text: textOfTool(tool) };
  if (text.format?.type === 'json_schema') yield { kind: '', flat: 0, text: JSON.stringify(text.format.schema) };
  if (instructions !== null) yield { kind: 'instructions', flat: ITEM_FRAMING, text: instructions };
}

/** Responses show `output_schema: null`; models do not see it. */
function textOfTool(tool: ResponseSettings['tools'][number]): string {
  return JSON.stringify(tool).replace(',"output_schema":null', '');
}

function partsOfItem(item: Item): readonly ContentPart[] {
  return PARTS_OF_ITEM.get(item.type)?.(item) ?? [toUnknown(item)];
}

/** The members of an item that count, by type. Other types count as their JSON text. */
const PARTS_OF_ITEM = new Map<string, (item: Item) => readonly ContentPart[]>(
  Object.entries({
    message: (item) => toParts(item.content),
    function_call: (item) => [...toParts(item.name), ...toParts(item.arguments)],
    custom_tool_call: (item) => [...toParts(item.name), ...toParts(item.input)],
    function_call_output: (item) => toParts(item.output),
    custom_tool_call_output: (item) => toParts(item.output),
    computer_call_output: (item) => toParts([item.output]),
    image_generation_call: () => [{ type: 'input_image' }],
    reasoning: (item) => [...toParts(item.summary), ...toThoughts(item)],
    compaction: toEncrypted,
  }),
);

const FLAT_TOKENS = new Map<string, (part: ContentPart) => number>(
  Object.entries({
    input_image: countImage,
    computer_screenshot: countImage,
    input_file: (part) => Math.min(MOST_FILE_TOKENS, quarterOf(part.file_data)),
    input_audio: (part) => Math.ceil(JSON.stringify(part).length / AUDIO_BASE64_PER_TOKEN),
    encrypted: (part) => quarterOf(part.content),
  }),
);

function textOfPart(part: ContentPart): string {
  if (typeof part.text === 'string') return part.text;
  if (typeof part.refusal === 'string') return part.refusal;
  if (part.type === 'input_file') return typeof part.filename === 'string' ? part.filename : '';
  return FLAT_TOKENS.has(part.type) ? '' : JSON.stringify(part.type === 'unknown' ? part.value : part);
}

function countImage(part: ContentPart): number {
  return part.detail === 'low' ? IMAGE_TOKENS.low : IMAGE_TOKENS.other;
}

function quarterOf(data: unknown): number {
  return typeof data === 'string' ? Math.ceil(data.length / BASE64_PER_TOKEN) : 0;
}

/** Any other item, without its id, which models do not see. */
function toUnknown({ id: _id, ...value }: Item): ContentPart {
  return { type: 'unknown', value };
}

/** The text of reasoning, or else its encrypted content. */
function toThoughts(item: Item): readonly ContentPart[] {
  const open = toParts(item.content);
  return open.length > 0 ? open : toEncrypted(item);
}

function toEncrypted(item: Item): readonly ContentPart[] {
  return [{ type: 'encrypted', content: item.encrypted_content }];
}

function toParts(content: unknown): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter((part): part is ContentPart => typeof part === 'object' && part !== null);
}
