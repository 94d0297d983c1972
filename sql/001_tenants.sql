-- Tenants and what the audit core looks up about them. Every tenant table is bound by row-level security as the second guard behind
-- the explicit org_id predicates of the code (design 8):
--
--   app.org_id unset or ''  no row is visible, none can be written
--   app.org_id = <org id>   rows of that org only
--   app.org_id = '*'        every row: look-ups that come before the org is known, and background work
--
-- The service connects as the owner of the tables, whom plain row-level security would not bind, hence FORCE. A superuser or a role
-- with BYPASSRLS is never bound: give the service an ordinary role. `rowSecurityBinds` in src/store/pg/scope.ts reports it.

create function org_visible(org uuid) returns boolean
  language sql stable parallel safe
  return current_setting('app.org_id', true) in (org::text, '*');

create table orgs (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  state text not null default 'active' check (state in ('active', 'trial', 'past_due', 'decommissioning', 'trial_expired')),
  -- NULL: the RETENTION_DAYS setting decides.
  retention_days integer check (retention_days between 1 and 3653),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table memberships (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  -- Empty until the invitee accepts (contract 2.3).
  user_id text not null default '',
  invitation_id text not null unique,
  email text not null,
  role text not null check (role in ('owner', 'operator', 'member')),
  invited_by text not null,
  invited_at timestamptz not null default now(),
  accepted_at timestamptz,
  check ((user_id = '') = (accepted_at is null))
);
create unique index memberships_org_user on memberships (org_id, user_id) where user_id <> '';
create unique index memberships_org_email on memberships (org_id, lower(email));
create index memberships_user on memberships (user_id) where user_id <> '';

create table providers (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  name text not null,
  display_name text not null,
  kind text not null,
  domain text not null,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (org_id, name),
  -- Target of the composite foreign keys that keep a role inside the org of its provider.
  unique (org_id, id)
);

create table agent_roles (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  provider_id uuid not null,
  name text not null,
  display_name text not null,
  model text not null,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (org_id, name),
  unique (org_id, id),
  foreign key (org_id, provider_id) references providers (org_id, id)
);
create index agent_roles_provider on agent_roles (org_id, provider_id);

create table workspaces (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  agent_role_id uuid not null,
  created_by text not null,
  parent_workspace_id uuid,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (org_id, id),
  foreign key (org_id, agent_role_id) references agent_roles (org_id, id),
  foreign key (org_id, parent_workspace_id) references workspaces (org_id, id)
);
create index workspaces_creator on workspaces (org_id, created_by, id);
create index workspaces_role on workspaces (org_id, agent_role_id);

create table api_keys (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  label text not null,
  -- `ch_` and eight characters: what a presented key is looked up by.
  prefix text not null unique,
  -- Hexadecimal SHA-256 of the whole key.
  hash text not null check (hash ~ '^[0-9a-f]{64}$'),
  permission_set text not null check (permission_set in ('full', 'operate', 'audit')),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_org on api_keys (org_id, created_at);

alter table orgs enable row level security;
alter table orgs force row level security;
create policy tenant on orgs using (org_visible(id));

alter table memberships enable row level security;
alter table memberships force row level security;
create policy tenant on memberships using (org_visible(org_id));

alter table providers enable row level security;
alter table providers force row level security;
create policy tenant on providers using (org_visible(org_id));

alter table agent_roles enable row level security;
alter table agent_roles force row level security;
create policy tenant on agent_roles using (org_visible(org_id));

alter table workspaces enable row level security;
alter table workspaces force row level security;
create policy tenant on workspaces using (org_visible(org_id));

alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy tenant on api_keys using (org_visible(org_id));

-- The org of rows that no tenant can be named for: a proxy request without a usable token.
insert into orgs (id, name) values ('00000000-0000-0000-0000-000000000000', 'platform');
