/** How every seal of this form begins; clients can tell ours from those of others. */
export const SEAL_PREFIX = 'antiphon1_';

/** Whether a text has the form of a seal of this service, of whatever key. */
export function isOwnSeal(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(SEAL_PREFIX);
}
