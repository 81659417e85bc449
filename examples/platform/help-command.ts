import { Injectable } from '@nestjs/common';

import { type OwnPass, PassPolicy, type Turn, type TurnPolicy } from 'antiphon';

const HELP: OwnPass = {
  async *generate() {
    yield { type: 'text', delta: 'Ask me about the weather.' };
    yield { type: 'usage', input: 0, output: 0 };
    yield { type: 'finish', reason: 'stop' };
  },
  isLast: true,
};

@Injectable()
export class HelpCommand extends PassPolicy {
  override begin({ input }: Turn): TurnPolicy | undefined {
    const [part] = (input.at(-1)?.['content'] ?? []) as readonly { readonly text?: string }[];
    return part?.text === '/help' ? { ahead: () => HELP } : undefined;
  }
}
