import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ChatUpstream } from '../chat-upstream/chat-upstream.js';

/** Models whose upstreams run in the test, each one of its own. */
export interface HeldModels<Name extends string> extends AsyncDisposable {
  readonly upstreams: Readonly<Record<Name, ChatUpstream>>;
  /** PROVIDERS_FILE of the services that use them. */
  readonly providersFile: string;
}

/** Starts an upstream for each name, and writes the file that names them. */
export async function openModels<Name extends string>(...names: readonly Name[]): Promise<HeldModels<Name>> {
  const started = await Promise.all(names.map(async (name) => [name, await ChatUpstream.start()] as const));
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-models-'));
  const providersFile = join(directory, 'providers.json');
  const providers = Object.fromEntries(started.map(([name, { baseUrl }]) => [name, { base_url: baseUrl }]));
  await writeFile(
    providersFile,
    JSON.stringify({ providers, models: names.map((name) => ({ name, provider: name })) }),
  );
  return {
    upstreams: Object.fromEntries(started) as Record<Name, ChatUpstream>,
    providersFile,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map(([, upstream]) => upstream.close()));
      await rm(directory, { recursive: true });
    },
  };
}
