import type { ContentPart, Item, ResponseSettings } from '../../protocol/index.js';
import { cutText } from './cut-text.js';
import { tokenizer } from './tokenizer.js';

/** Counts special tokens such as `<|endoftext|>` as plain text. */
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** Work between two turns of the event loop, in characters of ordinary text: about 4 ms. */
const SLICE_COST = 64 * 1024;
/** Relative cost of a character in text with many tokens per character. */
const DENSE_COST = 16;

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

/** Tokens of a text in o200k_base. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const chunk of cutText(text)) tokens += countChunk(chunk);
  return tokens;
}

/** Tokens of items. The count of each item is cached for its lifetime. */
export async function countItemTokens(items: readonly Item[]): Promise<number> {
  const meter = new Meter();
  let total = 0;
  for (const item of items) {
    let tokens = counts.get(item);
    if (tokens === undefined) {
      tokens = await countItem(item, meter);
      counts.set(item, tokens);
    }
    total += tokens;
  }
  return total;
}

/** Tokens of instructions, tools and the schema of the answer. */
export async function countSettingsTokens(settings: ResponseSettings): Promise<number> {
  const meter = new Meter();
  let total = settings.instructions === null ? 0 : ITEM_FRAMING + (await meter.count(settings.instructions));
  total += await countTools(settings.tools, meter);
  const { format } = settings.text;
  if (format?.type === 'json_schema') total += await meter.count(JSON.stringify(format.schema));
  return total;
}

/** Counts texts and yields to the event loop after each slice of work. */
class Meter {
  private spent = 0;

  async count(text: string): Promise<number> {
    let tokens = 0;
    for (const chunk of cutText(text)) {
      const counted = countChunk(chunk);
      tokens += counted;
      // Ordinary text has about four characters per token; text with fewer than three takes longer.
      this.spent += counted * 3 > chunk.length ? chunk.length * DENSE_COST : chunk.length;
      if (this.spent >= SLICE_COST) await this.pause();
    }
    return tokens;
  }

  private pause(): Promise<void> {
    this.spent = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }
}

function countChunk(chunk: string): number {
  return tokenizer().countTokens(chunk, PLAIN_TEXT);
}

async function countTools(tools: ResponseSettings['tools'], meter: Meter): Promise<number> {
  let total = counts.get(tools);
  if (total === undefined) {
    total = 0;
    // Responses show `output_schema: null`; models do not see it.
    for (const tool of tools) total += await meter.count(JSON.stringify(tool).replace(',"output_schema":null', ''));
    counts.set(tools, total);
  }
  return total;
}

async function countItem(item: Item, meter: Meter): Promise<number> {
  const parts = PARTS_OF_ITEM.get(item.type)?.(item) ?? [toUnknown(item)];
  let tokens = ITEM_FRAMING;
  for (const part of parts) {
    const flat = FLAT_TOKENS.get(part.type)?.(part);
    if (flat !== undefined) tokens += flat;
    const text = textOfPart(part);
    if (text !== '') tokens += await meter.count(text);
  }
  return tokens;
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
