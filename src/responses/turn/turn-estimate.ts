import { jsonLength } from '../../protocol/index.js';
import { estimateItemTokens, type Turn } from '../../providers/index.js';
import type { AdmittedTurn } from './admit.js';

/** Characters of text for one token, on average. */
const CHARACTERS_PER_TOKEN = 4;

/** The estimated cost of a turn before it runs, computed on access. */
export class TurnEstimate {
  private input: number | null = null;

  constructor(
    private readonly turn: AdmittedTurn,
    /** What its model is asked, once that is known. */
    private readonly question?: Turn,
  ) {}

  /**
   * Tokens of the request itself: its input, instructions, tools and output format, at four characters a token. What it continues
   * and refers to is counted when it is known: in `Admission.queue`, and by `Lease.reserve`.
   */
  get inputTokens(): number {
    this.input ??= Math.ceil(countCharacters(this.turn) / CHARACTERS_PER_TOKEN) + this.contextTokens;
    return this.input;
  }

  /** Tokens of what the turn continues and refers to; 0 while that is not known. */
  get contextTokens(): number {
    return this.question === undefined ? 0 : contextTokensOf(this.turn, this.question);
  }

  /** The most tokens the model may write, from the request; null without a limit. */
  get maxOutputTokens(): number | null {
    return this.turn.settings.max_output_tokens ?? null;
  }
}

function contextTokensOf({ input }: AdmittedTurn, { context }: Turn): number {
  const own = new Set(input.filter(({ type }) => type !== 'item_reference').map(({ id }) => id));
  return estimateItemTokens(context.filter(({ id }) => !own.has(id)));
}

function countCharacters({ input, settings }: AdmittedTurn): number {
  const { instructions, tools, text } = settings;
  const parts = [input, instructions, tools, text];
  return parts.reduce<number>((sum, part) => sum + (part == null ? 0 : jsonLength(part, { without: MEDIA })), 0);
}

/** Members with the data of images, sounds and files, whose length says nothing about tokens. */
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'file_data', 'data']);
