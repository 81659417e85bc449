/** Headers of rate limits: the plain ones, and those of the families that Codex reads. The groups are the family. */
const RATE_LIMIT_HEADER =
  /^(?:(x-ratelimit)-.+|(x-.+?)-(?:(?:primary|secondary)-.+|credits-.+|limit-name|active-limit|promo-message|rate-limit-reached-type))$/i;

/** The family of a header that states a rate limit, such as `x-ratelimit` or `x-codex`; undefined for any other header. */
export function rateLimitFamilyOf(name: string): string | undefined {
  const match = RATE_LIMIT_HEADER.exec(name);
  return match?.[1] ?? match?.[2];
}

/** Whether a header states a rate limit. */
export function isRateLimitHeader(name: string): boolean {
  return RATE_LIMIT_HEADER.test(name);
}

/** The version of a server's list of models. */
export const MODELS_ETAG = 'x-models-etag';

/** A header whose presence says that usage counts the reasoning of earlier turns. */
export const REASONING_INCLUDED = 'x-reasoning-included';

/** The event that tells Codex on a socket what headers tell it over HTTP: how much of its limits is used. */
export const RATE_LIMITS_EVENT = 'codex.rate_limits';

/** Rate limits of one family as an event of a socket. */
export interface RateLimitsEvent {
  readonly type: typeof RATE_LIMITS_EVENT;
  readonly rate_limits: { readonly primary: LimitWindow | null; readonly secondary: LimitWindow | null };
  readonly credits: {
    readonly has_credits: boolean;
    readonly unlimited: boolean;
    readonly balance: string | null;
  } | null;
  readonly limit_name?: string;
  /** The family; absent for Codex's own. */
  readonly metered_limit_name?: string;
}

interface LimitWindow {
  readonly used_percent: number;
  readonly window_minutes: number | null;
  /** Seconds since the epoch. */
  readonly reset_at: number | null;
}

type Headers = Readonly<Record<string, string>>;
type Members = Readonly<Record<string, unknown>>;

const WINDOWS = ['primary', 'secondary'] as const;
const CODEX = 'codex';

/** The limits in headers as events, one per family; none for families without a window and without credits, such as `x-ratelimit`. */
export function toRateLimitsEvents(headers: Headers): readonly RateLimitsEvent[] {
  const families = new Set(Object.keys(headers).map(rateLimitFamilyOf));
  return [...families].flatMap((family) => (family === undefined ? [] : toEvents(family, headers)));
}

/** The limits of an event as headers; none for an event that does not have the form of a RateLimitsEvent. */
export function toRateLimitHeaders(event: Members): Headers {
  const prefix = `x-${limitOf(event)}`;
  const limits = membersOf(event.rate_limits);
  const credits = membersOf(event.credits);
  const values: [name: string, value: unknown][] = WINDOWS.flatMap((name) => {
    const window = membersOf(limits[name]);
    return Object.entries({
      [`${name}-used-percent`]: window.used_percent,
      [`${name}-window-minutes`]: window.window_minutes,
      [`${name}-reset-at`]: window.reset_at,
    });
  });
  for (const name of ['has_credits', 'unlimited', 'balance']) {
    values.push([`credits-${name.replace('_', '-')}`, credits[name]]);
  }
  values.push(['limit-name', event.limit_name]);
  return Object.fromEntries(
    values.flatMap(([name, value]) => (isPlain(value) ? [[`${prefix}-${name}`, String(value)]] : [])),
  );
}

/** The name of the limit that an event is about, as headers write it. */
export function limitOf(event: object): string {
  const { metered_limit_name: name } = membersOf(event);
  return typeof name === 'string' && name !== '' ? name.toLowerCase().replaceAll('_', '-') : CODEX;
}

function toEvents(family: string, headers: Headers): readonly RateLimitsEvent[] {
  const [primary = null, secondary = null] = WINDOWS.map((name) => toWindow(`${family}-${name}`, headers));
  const hasCredits = headers[`${family}-credits-has-credits`];
  const credits =
    hasCredits === undefined
      ? null
      : {
          has_credits: isTrue(hasCredits),
          unlimited: isTrue(headers[`${family}-credits-unlimited`]),
          balance: headers[`${family}-credits-balance`] ?? null,
        };
  if (primary === null && secondary === null && credits === null) return [];
  const name = headers[`${family}-limit-name`];
  const limit = family.slice('x-'.length);
  return [
    {
      type: RATE_LIMITS_EVENT,
      rate_limits: { primary, secondary },
      credits,
      ...(name === undefined ? {} : { limit_name: name }),
      ...(limit === CODEX ? {} : { metered_limit_name: limit }),
    },
  ];
}

function toWindow(prefix: string, headers: Headers): LimitWindow | null {
  const used = toNumber(headers[`${prefix}-used-percent`]);
  if (used === null) return null;
  return {
    used_percent: used,
    window_minutes: toNumber(headers[`${prefix}-window-minutes`]),
    reset_at: toNumber(headers[`${prefix}-reset-at`]),
  };
}

function toNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : null;
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text?.toLowerCase() === 'true';
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}
