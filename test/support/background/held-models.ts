import { ChatUpstream } from '../chat-upstream/chat-upstream.js';
import { writeTemporaryFile } from '../temporary-file.js';

/** Models whose upstreams run in the test, each one of its own. */
export interface HeldModels<Name extends string> extends AsyncDisposable {
  readonly upstreams: Readonly<Record<Name, ChatUpstream>>;
  /** PROVIDERS_FILE of the services that use them. */
  readonly providersFile: string;
}

/** Starts an upstream for each name, and writes the file that names them. */
export async function openModels<Name extends string>(...names: readonly Name[]): Promise<HeldModels<Name>> {
  const started = await Promise.all(names.map(async (name) => [name, await ChatUpstream.start()] as const));
  const providers = Object.fromEntries(started.map(([name, { baseUrl }]) => [name, { base_url: baseUrl }]));
  const models = names.map((name) => ({ name, provider: name }));
  const file = await writeTemporaryFile('providers.json', { providers, models });
  return {
    upstreams: Object.fromEntries(started) as Record<Name, ChatUpstream>,
    providersFile: file.path,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(started.map(([, upstream]) => upstream.close()));
      await file.remove();
    },
  };
}
