import assert from 'node:assert/strict';

import { type PageRequest, type ResponseStore, UnknownCursorError } from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, message, newTenant } from '../records.js';

type Shown = readonly [ids: readonly string[], hasMore: boolean];

/** The input items of a response, page by page. */
export const INPUT_ITEMS = part('responses', 'the input items of a response', ({ openOnce, it }) => {
  const tenant = newTenant();
  let store: ResponseStore;

  openOnce(async (opened) => {
    store = opened.backend.responses;
    await append(store, tenant, 'parent', { input: [message('of the parent')] });
    // Not in the order of their ids.
    const input = ['5', '3', '1', '4', '2'].map((id) => message(id));
    await append(store, tenant, 'r', { parentId: 'parent', input, output: [message('made')] });
    await append(store, tenant, 'child', { parentId: 'r' });
    await append(store, tenant, 'silent', { input: [] });
  });

  const pageOf = async (page: Partial<PageRequest>, id = 'r'): Promise<Shown | undefined> => {
    const found = await store.inputItems(tenant, id, { limit: 2, order: 'asc', ...page });
    return found && [found.data.map((item) => item.id), found.hasMore];
  };

  for (const [title, page, shown] of [
    ['the first page, oldest first', {}, [['5', '3'], true]],
    ['the next', { after: '3' }, [['1', '4'], true]],
    ['the last', { after: '4' }, [['2'], false]],
    ['what is behind the last', { after: '2' }, [[], false]],
    ['all, when the limit is just as high', { limit: 5 }, [['5', '3', '1', '4', '2'], false]],
    ['all but one', { limit: 4 }, [['5', '3', '1', '4'], true]],
    ['the first page, newest first', { order: 'desc' }, [['2', '4'], true]],
    ['the next, newest first', { order: 'desc', after: '4' }, [['1', '3'], true]],
    ['the last, newest first', { order: 'desc', after: '3' }, [['5'], false]],
    ['what is directly in front of a cursor', { before: '2' }, [['1', '4'], true]],
    ['what is in front of that', { before: '1' }, [['5', '3'], false]],
    ['less in front of an early cursor', { before: '3' }, [['5'], false]],
    ['nothing in front of the first', { before: '5' }, [[], false]],
    ['what is in front of a cursor, newest first', { order: 'desc', before: '3' }, [['4', '1'], true]],
    ['what is in front of that, newest first', { order: 'desc', before: '4' }, [['2'], false]],
  ] as const) {
    it(`input items give ${title}`, async () => {
      requireAlike(await pageOf(page), shown);
    });
  }

  it('input items are none where a request brought none', async () => {
    requireAlike(await pageOf({}, 'silent'), [[], false]);
  });

  for (const cursor of ['nowhere', 'made', 'of the parent', 'child-in', 'r', '']) {
    it(`input items know no cursor ${JSON.stringify(cursor)}`, async () => {
      for (const side of ['after', 'before']) {
        await assert.rejects(pageOf({ [side]: cursor }), UnknownCursorError);
      }
    });
  }

  it('input items name the cursor that is not there in the fault', async () => {
    const fault = await pageOf({ before: 'nowhere' }).catch((error: unknown) => error);
    assert.ok(fault instanceof UnknownCursorError);
    requireMatch(fault.toApiError(), {
      message: "Invalid 'before': there is nothing with id 'nowhere' in this list.",
      param: 'before',
    });
  });

  it('input items are not found where the response is not, whatever the cursor', async () => {
    assert.equal(await pageOf({}, 'nothing'), undefined);
    assert.equal(await pageOf({ after: '5' }, 'nothing'), undefined);
    assert.equal(await store.inputItems(newTenant(), 'r', { limit: 2, order: 'asc', after: 'nowhere' }), undefined);
  });
});
