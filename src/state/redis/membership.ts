const PREFIX = 'in:';

/** The field of a response's hash that says that it belongs to a session. */
export function membershipOf(sessionId: string): string {
  return PREFIX + JSON.stringify(sessionId);
}

/** The field that a response must have to be seen within a session; empty without one. */
export function withinOf(sessionId: string | undefined): string {
  return sessionId === undefined ? '' : membershipOf(sessionId);
}

/** The sessions that the fields of a response's hash name. */
export function sessionsOf(fields: readonly string[]): readonly string[] {
  return fields.filter((field) => field.startsWith(PREFIX)).map(sessionOf);
}

/** The session that such a field names. */
export function sessionOf(membership: string): string {
  return JSON.parse(membership.slice(PREFIX.length)) as string;
}
