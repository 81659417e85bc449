/** Shorter values would turn up in ordinary text. */
const SHORTEST_SECRET = 8;

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE_URL/i;

/** Credentials by their look, whoever they belong to. */
const LOOKS_SECRET = [
  /\bBearer\s+[\w.~+/-]{8,}=*/gi,
  /\b(?:sk|pk|rk)-[\w-]{8,}/g,
  /\b(?:gh[pousr]|github_pat|glpat|xox[abprs])[-_][\w-]{8,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];

const REDACTED = '[redacted]';

/** The secrets this process was given: variables whose names say so, and the keys of its callers. */
export function findSecrets(
  variables: Readonly<Record<string, string | undefined>>,
  apiKeys: readonly string[],
): readonly string[] {
  const named = Object.entries(variables).flatMap(([name, value = '']) => (SECRET_NAME.test(name) ? [value] : []));
  const keys = apiKeys.map((entry) => entry.slice(entry.indexOf(':') + 1));
  return [...named, ...keys].filter(({ length }) => length >= SHORTEST_SECRET);
}

/** A JSON text without credentials. */
export function redact(json: string, secrets: readonly string[]): string {
  const known = secrets.reduce((text, secret) => text.replaceAll(inJson(secret), REDACTED), json);
  return LOOKS_SECRET.reduce((text, pattern) => text.replace(pattern, REDACTED), known);
}

/** As it stands within a JSON string. */
function inJson(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}
