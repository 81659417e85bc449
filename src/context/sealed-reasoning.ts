import type { OpaqueData } from '../protocol/index.js';

/** What stands in the seal of reasoning with opaque data. */
export interface SealedReasoning {
  /** Empty for opaque data alone. */
  readonly text: string;
  readonly opaque: OpaqueData;
}

/** The text in such a seal. */
export function writeSealedReasoning({ text, opaque }: SealedReasoning): string {
  return JSON.stringify({ text, opaque });
}

/** Reads the text in such a seal. */
export function readSealedReasoning(text: string): SealedReasoning {
  return JSON.parse(text) as SealedReasoning;
}
