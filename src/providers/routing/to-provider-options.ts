import {
  capabilitiesOf,
  type Capabilities,
  type ChatCompletionsOptions,
  omittedBy,
} from '../chat-completions/index.js';
import { CAPABILITY_NAMES, type ChatCompletionsEntry } from './chat-completions-entry.js';
import { toAddress } from './server-entry.js';

const DEFAULT_TIMEOUTS = { connectMs: 10_000, firstByteMs: 180_000, idleMs: 120_000, wholeMs: 600_000 };

/** Translates an entry of the file, with defaults. `secrets` are redacted from error messages. */
export function toProviderOptions(
  name: string,
  entry: ChatCompletionsEntry,
  secrets: readonly string[],
): ChatCompletionsOptions {
  const { dialect = 'generic', timeouts = {} } = entry;
  const known = toCapabilities(entry.capabilities ?? {});
  return {
    name,
    address: toAddress(entry, {
      connectMs: timeouts.connect_ms ?? DEFAULT_TIMEOUTS.connectMs,
      firstByteMs: timeouts.first_byte_ms ?? DEFAULT_TIMEOUTS.firstByteMs,
      idleMs: timeouts.idle_ms ?? DEFAULT_TIMEOUTS.idleMs,
    }),
    wholeMs: timeouts.whole_ms ?? DEFAULT_TIMEOUTS.wholeMs,
    capabilities: capabilitiesOf(dialect, known),
    configured: new Set(Object.keys(known) as (keyof Capabilities)[]),
    reasoningTags: entry.reasoning_tags ?? [],
    discover: entry.discover ?? true,
    forward: entry.forward ?? [],
    omit: new Set([...omittedBy(dialect), ...(entry.omit ?? [])]),
    secrets,
  };
}

function toCapabilities(entry: Readonly<Record<string, unknown>>): Partial<Capabilities> {
  const names: Readonly<Record<string, string>> = CAPABILITY_NAMES;
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [names[name] ?? name, value]));
}
