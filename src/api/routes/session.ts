import Type from 'typebox';
import { defineRoute, jsonAnswer } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { parameters } from '../parameters.ts';

/** `GET /session`: who the caller is to us (contract 4.7, design 13). */
export const session: RouteFactory = () => defineRoute({
  summary: 'Who am I',
  description: 'The caller as resolved from the credential: org, user, role and scopes.',
  querystring: parameters({}),
  response: {
    200: jsonAnswer('The caller', Type.Object({
      kind: Type.Enum(['session', 'api_key'], { type: 'string' }),
      org: Type.Object({ id: Type.String(), name: Type.String(), state: Type.String() }),
      user_id: Type.String(),
      role: Type.Optional(Type.String()),
      scopes: Type.Array(Type.String()),
    })),
  },
}, ({ caller }) => ({
  kind: caller.kind,
  org: { id: caller.orgId, name: caller.orgName, state: caller.orgState },
  user_id: caller.userId,
  ...(caller.role === undefined ? {} : { role: caller.role }),
  scopes: [...caller.scopes],
}));
