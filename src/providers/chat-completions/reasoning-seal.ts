const MARK = 'antiphon.reasoning.';

/**
 * Reasoning in the form in which stateless clients replay it. It is sealed against nothing: the model said it in the open. It
 * only looks like what those clients carry.
 */
export function sealReasoning(text: string): string {
  return MARK + Buffer.from(text, 'utf8').toString('base64');
}

/** The reasoning in `encrypted_content`; undefined for what another service made. */
export function unsealReasoning(content: unknown): string | undefined {
  if (typeof content !== 'string' || !content.startsWith(MARK)) return undefined;
  return Buffer.from(content.slice(MARK.length), 'base64').toString('utf8');
}
