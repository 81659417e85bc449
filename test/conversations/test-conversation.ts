import type { Item } from '../../src/index.js';
import type { ApiClient } from '../support/api-client.js';
import { transcript } from '../support/output.js';

/** A conversation as its clients see it. */
export class TestConversation {
  private constructor(
    private readonly api: ApiClient,
    readonly id: string,
  ) {}

  /** Creates one, with a user's messages. */
  static async create(api: ApiClient, ...texts: readonly string[]): Promise<TestConversation> {
    const { body } = await api.post('conversations', { items: texts.map(toMessage) });
    return new TestConversation(api, body['id'] as string);
  }

  /** Its path below the base URL. */
  get path(): string {
    return `conversations/${this.id}`;
  }

  /** Its items, oldest first. */
  async items(): Promise<readonly Item[]> {
    const { body } = await this.api.get(`${this.path}/items?order=asc&limit=100`);
    return body['data'] as readonly Item[];
  }

  /** Its items as `role: text`, oldest first. */
  async transcript(): Promise<readonly string[]> {
    return transcript(await this.items());
  }

  /** Adds a user's messages; gives the status. */
  async add(...texts: readonly string[]): Promise<number> {
    return (await this.api.post(`${this.path}/items`, { items: texts.map(toMessage) })).status;
  }
}

function toMessage(content: string): object {
  return { role: 'user', content };
}
