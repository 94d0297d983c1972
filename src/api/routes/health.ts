import Type from 'typebox';
import { AppError } from '../../kernel/errors.ts';
import type { ReadinessCheck } from '../deps.ts';
import { definePublicRoute, jsonAnswer } from '../route.ts';
import type { RouteFactory } from '../route.ts';

const checkTimeoutMs = 3000;
const status = Type.Object({ status: Type.String() });

/** `GET /healthz`: the process answers. It asks nobody else, so that an orchestrator does not restart us for a database's fault. */
export const healthz: RouteFactory = () => definePublicRoute(
  { summary: 'The process is alive', response: { 200: jsonAnswer('Alive', status) } },
  () => ({ status: 'ok' }),
);

/** `GET /readyz`: every dependency answers; 503 `dependency_unavailable` names those that do not, at `details.dependencies`. */
export const readyz: RouteFactory = ({ readiness, logger }) => {
  async function stateOf(name: string, check: ReadinessCheck): Promise<[string, 'ok' | 'down']> {
    const signal = AbortSignal.timeout(checkTimeoutMs);
    const tooSlow = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('too slow'))));
    try {
      await Promise.race([check(signal), tooSlow]);
      return [name, 'ok'];
    } catch (err) {
      logger.warn({ dependency: name, err }, 'not ready');
      return [name, 'down'];
    }
  }
  let running: Promise<[string, 'ok' | 'down'][]> | undefined;
  /** Anybody may ask: calls that come while one is running share its answer. */
  function states(): Promise<[string, 'ok' | 'down'][]> {
    running ??= Promise.all(Object.entries(readiness).map(([name, check]) => stateOf(name, check))).finally(() => {
      running = undefined;
    });
    return running;
  }

  return definePublicRoute(
    { summary: 'The process can serve', response: { 200: jsonAnswer('Ready', Type.Object({ status: Type.String(), dependencies: Type.Record(Type.String(), Type.String()) })) } },
    async () => {
      const found = await states();
      const dependencies = Object.fromEntries(found);
      const down = found.filter(([, state]) => state === 'down').map(([name]) => name);
      if (down.length > 0) throw new AppError('dependency_unavailable', `not ready: ${down.join(', ')} does not answer`, { dependencies });
      return { status: 'ready', dependencies };
    },
  );
};
