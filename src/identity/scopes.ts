/** The scopes of contract 5.4, and four of ours (design 8): `workspace:write`, `config:write`, `secrets:write`, `keys:write`. */
export const scopes = [
  'audit:read', 'audit:read:own',
  'workspace:read', 'workspace:read:own', 'workspace:write', 'workspace:write:own',
  'members:read', 'members:read:own', 'members:write',
  'auth:write', 'auth:write:own',
  'config:write', 'secrets:write', 'keys:write',
] as const;

export type Scope = (typeof scopes)[number];

/** Contract 5.5, from the most powerful to the least. */
export const roles = ['owner', 'operator', 'member'] as const;

export type Role = (typeof roles)[number];

const everyScope = scopes.filter((scope) => !scope.endsWith(':own'));
const operatorScopes: readonly Scope[] = ['audit:read', 'workspace:read', 'workspace:write', 'members:read', 'auth:write', 'config:write', 'secrets:write'];

/** What each member role may do (design 8). An unscoped scope includes its `:own` form. */
export const roleScopes: Readonly<Record<Role, readonly Scope[]>> = {
  owner: everyScope,
  operator: operatorScopes,
  member: ['audit:read:own', 'workspace:read:own', 'workspace:write:own', 'members:read', 'auth:write:own'],
};

/** What an API key of each named permission set may do (design 8). `audit` reads the log and nothing else. */
export const permissionSets = {
  full: everyScope,
  operate: operatorScopes,
  audit: ['audit:read'],
} as const satisfies Record<string, readonly Scope[]>;

export type PermissionSet = keyof typeof permissionSets;

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

export function isPermissionSet(text: string): text is PermissionSet {
  return Object.hasOwn(permissionSets, text);
}

/** The less powerful of two roles. */
export function lesserRole(a: Role, b: Role): Role {
  return roles.indexOf(a) > roles.indexOf(b) ? a : b;
}

/**
 * What remains of `held` when a token asks for less (its `scope` claim, space-separated). A scope is granted when it is held, or when
 * it is the `:own` form of one that is held; a token never gains what its role lacks.
 */
export function narrowedScopes(held: readonly Scope[], claim: string): Set<Scope> {
  const asked = new Set(claim.split(' '));
  return new Set(scopes.filter((scope) => asked.has(scope) && (held.includes(scope) || held.some((wide) => scope === `${wide}:own`))));
}
