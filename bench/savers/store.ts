/** The store of the service, with nothing in front of it. */
import { asTenant, createApp, ResponseStore } from 'antiphon';

import { runSaves } from './run-saves.ts';

const app = await createApp();
await app.init();
const store = app.get(ResponseStore, { strict: false });
runSaves((record) => () => store.save(asTenant('bench'), record));
