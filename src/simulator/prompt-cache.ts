import { hash } from 'node:crypto';

import type { Item } from '../protocol/index.js';
import type { Turn } from '../providers/index.js';
import {
  countItemTokens,
  countSettingsTokens,
  encodeText,
  listItemPieces,
  listSettingsPieces,
  type PromptPiece,
} from '../providers/tokens/index.js';
import { digestTranscript } from '../providers/transcripts/index.js';

/** The shortest prefix that OpenAI caches, tokens. */
const SHORTEST_PREFIX = 1024;
/** Longer ones are cached in steps of so many tokens. */
const BLOCK = 128;
/** Marks that are kept, each of about 100 bytes: those of prompts with 12 million tokens. */
const MOST_MARKS = 100_000;

/** The settings of a prompt, or an item: found or missed as a whole before its blocks are compared. */
interface Section {
  /** Digests of the prompt up to the section, and to its end. */
  readonly before: string;
  readonly chain: string;
  /** Tokens of the prompt up to the section, and to its end. */
  readonly from: number;
  readonly to: number;
  readonly pieces: () => Iterable<PromptPiece>;
}

/** The latest section of each item. A service remembers items while a conversation goes on, mostly behind the same ones. */
const latest = new WeakMap<Item, Section>();

/**
 * The cache of prompts that OpenAI's models have, as far as usage shows it: the longest beginning that a prompt shares with an earlier
 * one of the same tenant, model and `prompt_cache_key`. It keeps digests, of every 128 tokens and of every item; the oldest are
 * forgotten. Entries do not expire with time: the order of the requests alone decides.
 */
export class PromptCache {
  private readonly marks = new Set<string>();

  constructor(private readonly mostMarks = MOST_MARKS) {}

  /** The cached tokens of a prompt of `input` tokens, which is remembered. Rejects with the reason of the signal. */
  async take(turn: Turn, input: number, signal: AbortSignal): Promise<number> {
    if (input < SHORTEST_PREFIX) return 0;
    const sections = await listSections(turn, signal);
    const known = sections.findLastIndex(({ chain }) => this.marks.has(chain));
    let shared = sections[known]?.to ?? 0;
    let isShared = true;
    for (const section of sections.slice(known + 1)) {
      for await (const { mark, end } of listBlocks(section, signal)) {
        isShared &&= this.marks.has(mark);
        if (isShared) shared = end;
        this.add(mark);
      }
      if (section.to >= SHORTEST_PREFIX) this.add(section.chain);
    }
    return shared - (shared % BLOCK);
  }

  private add(mark: string): void {
    this.marks.add(mark);
    if (this.marks.size <= this.mostMarks) return;
    for (const oldest of this.marks) {
      this.marks.delete(oldest);
      return;
    }
  }
}

async function listSections(turn: Turn, signal: AbortSignal): Promise<readonly Section[]> {
  const { settings, context } = turn;
  const key = digest(turn.tenant, settings.model, settings.prompt_cache_key ?? '');
  const { tools, text, instructions } = settings;
  const given = JSON.stringify([tools, text.format, instructions]);
  const tokens = await countSettingsTokens(settings, { signal });
  let last = toSection({ chain: key, to: 0 }, given, tokens, () => listSettingsPieces(settings));
  const sections = [last];
  for (const item of context) {
    const known = latest.get(item);
    if (known?.before === last.chain) last = known;
    else {
      const itemTokens = await countItemTokens([item], { signal });
      last = toSection(last, digestTranscript([item]), itemTokens, () => listItemPieces(item));
      latest.set(item, last);
    }
    sections.push(last);
  }
  return sections;
}

/** The section that follows another one. */
function toSection(
  { chain: before, to: from }: Pick<Section, 'chain' | 'to'>,
  content: string,
  tokens: number,
  pieces: Section['pieces'],
): Section {
  return { before, chain: digest(before, content), from, to: from + tokens, pieces };
}

/** The blocks that end within a section, with digests of the prompt up to their ends. */
async function* listBlocks({ before, from, pieces }: Section, signal: AbortSignal) {
  let [mark, content, end] = [before, '', from];
  const endsBlock = (): boolean => {
    if (++end % BLOCK !== 0) return false;
    [mark, content] = [digest(mark, content), ''];
    return end >= SHORTEST_PREFIX;
  };
  for (const { kind, flat, text } of pieces()) {
    content += `${kind} `;
    for (let token = 0; token < flat; token++) if (endsBlock()) yield { mark, end };
    for await (const tokens of encodeText(text, signal)) {
      for (const token of tokens) {
        content += `${token} `;
        if (endsBlock()) yield { mark, end };
      }
    }
  }
}

function digest(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64');
}
