import type { DynamicModule } from '@nestjs/common';

import { ModelProvider, type ModelProviderBase } from '../../src/index.js';
import type { ProviderSubject } from '../../src/testing/index.js';
import { ListeningProvider } from './listening.provider.js';

/** Something wrong, the case of the contract that has to notice, and what it has to say. */
export interface ProviderFault {
  readonly what: string;
  readonly notices: string;
  readonly says: string | RegExp;
  readonly subject: ProviderSubject;
}

type About = Pick<ProviderFault, 'notices' | 'says'> & Partial<ProviderSubject>;

/** The fault of a provider with members of its own. */
export function wrong(what: string, members: Partial<ModelProviderBase>, about: About): ProviderFault {
  @ModelProvider('faulty')
  class FaultyProvider extends ListeningProvider {
    constructor() {
      super();
      Object.assign(this, members);
    }
  }
  return toFault(what, about, () => ({ providers: [FaultyProvider] }));
}

/** The fault of a service that is out of order, with a provider in it that is not. */
export function broken(what: string, module: DynamicModule, about: About): ProviderFault {
  return toFault(what, about, () => ({ providers: [ListeningProvider], imports: [module] }));
}

function toFault(
  what: string,
  { notices, says, ...subject }: About,
  options: ProviderSubject['options'],
): ProviderFault {
  return { what, notices, says, subject: { options, model: 'any', patienceMs: patienceFor(says), ...subject } };
}

/** Waits briefly for what never comes, and long for all else: no fault is found because a machine is slow. */
function patienceFor(says: string | RegExp): (what: string) => number {
  return (what) => (`${what} did not come`.includes(String(says)) ? 500 : 60_000);
}
