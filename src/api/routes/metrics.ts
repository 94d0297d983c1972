import Type from 'typebox';
import { definePublicRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';

/** `GET /metrics` for Prometheus. Holds no tenant data; keep it inside the network all the same. */
export const metrics: RouteFactory = (deps) => definePublicRoute(
  { summary: 'Metrics of this process', response: { 200: { description: 'Prometheus text format', content: { 'text/plain': { schema: Type.String() } } } } },
  async ({ reply }) => {
    reply.type(deps.metrics.registry.contentType);
    return deps.metrics.registry.metrics();
  },
);
