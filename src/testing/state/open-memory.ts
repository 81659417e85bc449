import { Environment } from '../../config/index.js';
import { MemoryBackend } from '../../state/index.js';
import { FakeClock } from '../fake-clock.js';
import type { OpenedState } from './state-subject.js';

/** Opens the backend that keeps everything in memory. */
export async function openMemory(): Promise<OpenedState> {
  const clock = new FakeClock();
  const backend = new MemoryBackend(new Environment(), clock);
  await backend.start();
  return { backend, clock, content: async () => backend.bytes, close: () => backend.stop() };
}
