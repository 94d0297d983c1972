-- What the proxy must know of a workspace beyond who owns it (contract 2.2, 2.7, 6.6; design 10): the role's capability document, its
-- event schemas, the org's secrets and credentials. Values are sealed by the service (src/identity/sealing.ts): the database, its
-- backups and whoever reads them hold no key.

alter table agent_roles
  -- The text of caps.yaml as it was written; NULL: none attached.
  add column caps text check (octet_length(caps) between 1 and 262144),
  -- Secret names the document uses, found when it was saved, so that reading a workspace needs no parser.
  add column caps_secrets text[] not null default '{}' check (cardinality(caps_secrets) <= 1000),
  add column environment text not null default '' check (length(environment) <= 64),
  add column enforcement text not null default 'enforce' check (enforcement in ('enforce', 'report')),
  -- JSON Schema by agent event type.
  add column event_schemas jsonb not null default '{}' check (jsonb_typeof(event_schemas) = 'object' and octet_length(event_schemas::text) <= 524288),
  add check (caps is not null or cardinality(caps_secrets) = 0);

-- Set while a workspace is stopped: the proxy then does not know it.
alter table workspaces add column stopped_at timestamptz;

create table secrets (
  org_id uuid not null references orgs (id),
  -- The identifier rule of contract 2.7.
  name text not null check (name ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'),
  sealed bytea not null check (octet_length(sealed) between 1 and 20000),
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, name)
);

create table credentials (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  -- NULL for a credential of the org; a user's own otherwise (contract 2.2).
  user_id text check (user_id <> ''),
  name text not null check (length(name) between 1 and 200),
  provider text not null check (length(provider) between 1 and 64),
  kind text not null check (kind in ('oauth2_authorization_code', 'oauth2_client_credentials', 'oauth2_jwt_bearer', 'oauth2_jwt_bearer_with_subject',
    'oauth2_client_assertion', 'api_key', 'basic_auth', 'query_api_key')),
  scopes text[] not null default '{}',
  -- Never the secret: client_id, tenant_id, subject, username and the like.
  provider_config jsonb not null default '{}' check (jsonb_typeof(provider_config) = 'object' and octet_length(provider_config::text) <= 65536),
  -- NULL until an authorization-code flow has been completed, or when the durable secret lies in a vault of its own.
  sealed bytea check (octet_length(sealed) between 1 and 70000),
  durable_ref text,
  allow_user_override boolean not null default false,
  status text not null default 'active' check (status in ('active', 'needs_reauth', 'failed', 'revoked')),
  last_minted_at timestamptz,
  last_minted_status text,
  sa_client_email text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index credentials_org_name on credentials (org_id, name) where user_id is null;
create unique index credentials_user_name on credentials (org_id, user_id, name) where user_id is not null;

alter table secrets enable row level security;
alter table secrets force row level security;
create policy tenant on secrets using (org_visible(org_id));

alter table credentials enable row level security;
alter table credentials force row level security;
create policy tenant on credentials using (org_visible(org_id));
