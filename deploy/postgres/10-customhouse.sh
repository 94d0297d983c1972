#!/bin/sh
# Runs once, when the Postgres volume is empty. The service gets a role of its own that owns its database: row-level security, the
# second guard between tenants, never binds a superuser.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv password CUSTOMHOUSE_PASSWORD
create role customhouse login nosuperuser nocreatedb nocreaterole nobypassrls password :'password';
create database customhouse owner customhouse;
SQL
