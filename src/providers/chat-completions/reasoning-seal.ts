const MARK = 'antiphon.reasoning.';

/**
 * Encodes reasoning as `encrypted_content`, which stateless clients replay. It is encoded, not encrypted: the model sent it in
 * plain text.
 */
export function sealReasoning(text: string): string {
  return MARK + Buffer.from(text, 'utf8').toString('base64');
}

/** The reasoning in `encrypted_content`; undefined if another service made it. */
export function unsealReasoning(content: unknown): string | undefined {
  if (typeof content !== 'string' || !content.startsWith(MARK)) return undefined;
  return Buffer.from(content.slice(MARK.length), 'base64').toString('utf8');
}
